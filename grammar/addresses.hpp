// SPDX-License-Identifier: MIT
// Private to the lexer: what is longer than the word that it begins with.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "grammar/word_index.hpp"
#include "util/text.hpp"

namespace healer::grammar::lexing {

/// The end of an address that goes on at `at`, with what hangs on it.
[[nodiscard]] inline std::size_t address_end(std::string_view text, std::size_t at) {
  while (at < text.size() && (in_word(text[at]) || text[at] == ':')) ++at;
  return at;
}

/// The end of the IPv6 address at `begin`, with what hangs on it, as a mask; 0: there is none.
[[nodiscard]] inline std::size_t ipv6_end(std::string_view text, std::size_t begin) {
  constexpr std::size_t kLongestGroup = 4;
  constexpr std::size_t kColons = 7;
  const auto peek = [text](std::size_t at) { return at < text.size() ? text[at] : '\0'; };
  std::size_t at = begin, colons = 0;
  bool shortened = false;
  for (;;) {
    std::size_t group = at;
    while (is_digit(peek(group)) || (lower(peek(group)) >= 'a' && lower(peek(group)) <= 'f')) ++group;
    if (group - at > kLongestGroup) return 0;
    at = group;
    if (peek(at) != ':') break;
    ++colons;
    if (peek(++at) != ':') continue;
    if (std::exchange(shortened, true)) return 0;
    ++at;
  }
  return shortened || colons == kColons ? address_end(text, at) : 0;
}

}  // namespace healer::grammar::lexing
