// SPDX-License-Identifier: MIT
// What can be told of a regular expression before it is compiled: what it would cost, for the C library writes every
// repetition out, one in another, without a bound; and which text it cannot do without.
#pragma once

#include <string>
#include <string_view>

namespace healer {

/// Why a POSIX extended regular expression is not compiled though it may be a valid one: its repetitions write out to
/// too much, or it is nested too deeply. Empty: it may be.
[[nodiscard]] std::string regex_problem(std::string_view pattern);

/// Why a text is no POSIX extended regular expression that is compiled, for people. Empty: it is one.
[[nodiscard]] std::string pattern_problem(const std::string& pattern);

/// A text that is a part of whatever a POSIX extended regular expression matches, the longest that is easily seen.
/// Empty: there is none. Of an expression that does not compile it may be any.
[[nodiscard]] std::string required_literal(std::string_view pattern);

}  // namespace healer
