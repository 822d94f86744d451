// SPDX-License-Identifier: MIT
// What a backslash says in a text.
#pragma once

#include <string>
#include <string_view>

namespace healer::grammar {

/// The text with \n, \r, \t, \\ and \0xHH as what they stand for; other backslashes stay.
[[nodiscard]] std::string replace_escapes(std::string_view text);

}  // namespace healer::grammar
