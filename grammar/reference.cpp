// SPDX-License-Identifier: MIT
// Names that stand for values, as they are written: NODE, ${NODE}, ${NODE.ip}.
#include <algorithm>

#include "grammar/lexer.hpp"
#include "util/text.hpp"

namespace healer::grammar {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return is_letter(c) || is_digit(c); }

template <typename Predicate>
std::size_t skip_while(std::string_view text, std::size_t at, Predicate predicate) {
  while (at < text.size() && predicate(text[at])) ++at;
  return at;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, in_name);
}

std::size_t reference_end(std::string_view text, std::size_t begin) {
  if (!text.substr(begin).starts_with("${")) return 0;
  const std::size_t name = begin + 2;
  std::size_t at = skip_while(text, name, in_name);
  const bool is_name = is_identifier(text.substr(name, at - name));
  if (at + 1 < text.size() && (text[at] == '.' || text[at] == ':') && in_name(text[at + 1]))
    at = skip_while(text, at + 1, [](char c) { return in_name(c) || c == '.' || c == '-'; });
  return is_name && at < text.size() && text[at] == '}' ? at + 1 : 0;
}

}  // namespace healer::grammar
