// SPDX-License-Identifier: MIT
// What can be told of a regular expression before it is compiled: what it would cost, for the C library writes every
// repetition out, one in another, without a bound; and which text it cannot do without.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace healer {

/// Why a POSIX extended regular expression is not compiled though it may be a valid one: its repetitions write out to
/// too much, or it is nested too deeply. Empty: it may be.
[[nodiscard]] std::string regex_problem(std::string_view pattern);

/// Why a text is no POSIX extended regular expression that is compiled, for people. Empty: it is one.
[[nodiscard]] std::string pattern_problem(const std::string& pattern);

/// What is valid in a POSIX extended regular expression but means something else there than in those of Perl, and how
/// it is written here.
struct PatternSlip {
  std::string written;  ///< empty: there is none
  std::string meaning;  ///< what it is here, for people
  std::string meant;
};
[[nodiscard]] PatternSlip pattern_slip(std::string_view pattern);
/// Whether a part of the text matches the POSIX extended regular expression. None: it is none that is compiled. Of a
/// text whose length others choose it may take for ever.
[[nodiscard]] std::optional<bool> matches_pattern(const std::string& pattern, const std::string& text);

/// A text that is a part of whatever a POSIX extended regular expression matches, the longest that is easily seen.
/// Empty: there is none. Of an expression that does not compile it may be any.
[[nodiscard]] std::string required_literal(std::string_view pattern);

}  // namespace healer
