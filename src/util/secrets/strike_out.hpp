// SPDX-License-Identifier: MIT
// What nobody is to see, struck out of what people are told.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace healer {

/// What stands in the place of a secret.
inline constexpr std::string_view kStruckOut = "*****";

/// `text` with kStruckOut in the place of each of the secrets: as it is, percent-encoded, escaped as in JSON or by
/// printable(), and in upper or lower case, as the name of a host is. Of a secret of several lines each line is one,
/// and of one that is a URL its host, what follows that, and the longer words of it. One of less than four bytes may
/// be in any text, and what it is could be guessed from what is left: a line that has it as a word is struck out whole.
[[nodiscard]] std::string strike_out(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace healer
