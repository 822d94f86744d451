// SPDX-License-Identifier: MIT
// What a regular expression would cost before it is compiled: the C library writes every repetition out, one in
// another, without a bound.
#pragma once

#include <string>
#include <string_view>

namespace healer {

/// Why a POSIX extended regular expression is not compiled though it may be a valid one: its repetitions write out to
/// too much, or it is nested too deeply. Empty: it may be.
[[nodiscard]] std::string regex_problem(std::string_view pattern);

/// Why a text is no POSIX extended regular expression that is compiled, for people. Empty: it is one.
[[nodiscard]] std::string pattern_problem(const std::string& pattern);

}  // namespace healer
