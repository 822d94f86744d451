// SPDX-License-Identifier: MIT
#include "diagnostic_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace healer {

control::Json diagnostic_json(const config::Diagnostic& diagnostic, const config::Sources& sources) {
  control::Json json{{"file", diagnostic.path}, {"line", 0}, {"column", 0}, {"end_line", 0}, {"end_column", 0}};
  if (diagnostic.range) {
    const auto& [file, begin, end] = *diagnostic.range;
    const config::Position first = sources.position(file, begin);
    const config::Position last = sources.position(file, std::max(begin, end));
    json = {{"file", sources.at(file).path},
            {"line", first.line},
            {"column", first.column},
            {"end_line", last.line},
            {"end_column", last.column}};
  }
  json["severity"] = config::to_string(diagnostic.severity);
  json["code"] = config::to_string(diagnostic.code);
  json["message"] = diagnostic.message;
  json["remedy"] = diagnostic.remedy;
  return json;
}

}  // namespace healer
