// SPDX-License-Identifier: MIT
// Small helpers on text that several folders need.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace healer {

/// Whether it is an ASCII digit, whatever the locale.
[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// ASCII lower case.
[[nodiscard]] constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether two ASCII texts are equal without regard to case (as Monit compares names and words).
[[nodiscard]] inline bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

/// Whether all of it is ASCII that can be seen, or blanks: printable() changes nothing of that.
[[nodiscard]] bool is_plain(std::string_view text);

inline constexpr std::size_t kLongestPlainName = 253;
/// Whether a name from outside may go into names, paths and programs: [A-Za-z0-9][A-Za-z0-9._:@-]{0,252}
/// (language 3.2).
[[nodiscard]] bool is_plain_name(std::string_view name);

/// ASCII lower case.
[[nodiscard]] std::string to_lower(std::string_view text);

/// Text without leading and trailing white space.
[[nodiscard]] std::string_view trim(std::string_view text);

/// Number of single-character insertions, deletions, replacements and neighbour swaps between two texts, without
/// regard to case; gives up with `limit + 1` once it must exceed `limit`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

/// The candidate nearest to `word`, or an empty view where none is near enough to be a slip of the fingers
/// (a third of the word's length, at least one edit, at most three).
[[nodiscard]] std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

/// Bytes of the well-formed UTF-8 character at the start of `text`, or 0 where there is none. Requires: not empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Text with control characters and invalid UTF-8 made visible (\n, \t, \xHH), safe for a log line or a terminal.
[[nodiscard]] std::string printable(std::string_view text);

/// A path as the kernel's tables of mounts have it, where blanks and the like are octal numbers: "a\040b" is "a b".
[[nodiscard]] std::string from_octal(std::string_view written);

/// "a, b and c" / "a, b or c".
[[nodiscard]] std::string join_words(std::span<const std::string> words, std::string_view last_separator);

}  // namespace healer
