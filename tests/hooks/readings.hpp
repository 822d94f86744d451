// SPDX-License-Identifier: MIT
// What a format makes of a request, as one text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hooks/read.hpp"

namespace healer::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// "ID|STATE|DOCUMENT" and a line feed of each event; "notice: ..." or "400: ..." of what is none.
inline std::string reading(hooks::Format format, std::string_view body, const Headers& headers = {}) {
  const hooks::Reading read = hooks::read(format, {.body = body, .headers = headers});
  if (const auto* const refusal = std::get_if<hooks::Refusal>(&read))
    return std::to_string(refusal->status) + ": " + refusal->why;
  if (const auto* const notice = std::get_if<hooks::Notice>(&read)) return "notice: " + notice->text;
  std::string text;
  for (const hooks::Occurrence& one : std::get<std::vector<hooks::Occurrence>>(read)) {
    text += one.id;
    text += '|' + one.state + '|' + one.document;
    if (!one.remark.empty()) text += "|" + one.remark;
    text += '\n';
  }
  return text;
}

}  // namespace healer::test
