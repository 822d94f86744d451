// SPDX-License-Identifier: MIT
// `[A, "B c", 'D']`, after `hostgroups`: names between brackets, apart by blanks or commas. Within a name without
// quotes any other sign may stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace healer::grammar {

/// Calls `visit(name)`, without its quotes, for each of the list whose bracket is at `begin`. Returns its end, behind
/// the other bracket, or npos: it is not closed.
template <typename Visit>
std::size_t each_host_group(std::string_view text, std::size_t begin, Visit&& visit) {
  constexpr std::string_view kApart = " \t\r\n,";
  for (std::size_t at = begin + 1; (at = text.find_first_not_of(kApart, at)) != std::string_view::npos;) {
    if (text[at] == ']') return at + 1;
    const bool is_quoted = text[at] == '"' || text[at] == '\'';
    const std::size_t close = is_quoted ? text.find(text[at], at + 1) : std::string_view::npos;
    const std::size_t end =
        close != std::string_view::npos ? close : std::min(text.find_first_of(" \t\r\n,]", at), text.size());
    const std::size_t first = close != std::string_view::npos ? at + 1 : at;
    visit(text.substr(first, end - first));
    at = close != std::string_view::npos ? close + 1 : end;
  }
  return std::string_view::npos;
}

}  // namespace healer::grammar
