// SPDX-License-Identifier: MIT
// The arguments in the text of a program, as Monit finds them at run time.
#pragma once

#include <cstddef>
#include <string_view>

namespace healer::grammar {

/// What separates arguments.
[[nodiscard]] inline bool is_argument_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// The end of the argument that begins at `at`, whichever is longer: '...' or text without blanks and double quotes.
[[nodiscard]] std::size_t argument_end(std::string_view text, std::size_t at);

}  // namespace healer::grammar
