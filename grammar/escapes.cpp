// SPDX-License-Identifier: MIT
#include "grammar/escapes.hpp"

#include "util/text.hpp"

namespace healer::grammar {
namespace {

/// -1: it is none.
int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace

std::string replace_escapes(std::string_view text) {
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next == 'n' || next == 'r' || next == 't' || next == '\\') {
      out += next == 'n' ? '\n' : next == 'r' ? '\r' : next == 't' ? '\t' : '\\';
      ++i;
    } else if (next == '0' && i + 4 < text.size() && text[i + 2] == 'x' && digit_of(text[i + 3]) >= 0 &&
               digit_of(text[i + 4]) >= 0 && (text[i + 3] != '0' || text[i + 4] != '0')) {
      out += static_cast<char>(digit_of(text[i + 3]) * 16 + digit_of(text[i + 4]));
      i += 4;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace healer::grammar
