// SPDX-License-Identifier: MIT
#include "control/diagnostic_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace healer {

control::Json diagnostic_json(const config::Diagnostic& diagnostic, const config::Sources& sources) {
  control::Json json{{"file", diagnostic.path}, {"line", 0}, {"column", 0}, {"end_line", 0}, {"end_column", 0}};
  if (diagnostic.range) {
    const config::SourceRange& range = *diagnostic.range;
    const config::Position first = sources.position(range.file, range.begin);
    const config::Position last = sources.position(range.file, std::max(range.begin, range.end));
    json = {{"file", sources.at(range.file).path},
            {"line", first.line},
            {"column", first.column},
            {"end_line", last.line},
            {"end_column", last.column}};
  }
  json["severity"] = config::to_string(diagnostic.severity);
  json["code"] = config::to_string(diagnostic.code);
  json["message"] = diagnostic.message;
  json["remedy"] = diagnostic.remedy;
  if (!diagnostic.row.empty()) json["row"] = diagnostic.row;
  return json;
}

}  // namespace healer
