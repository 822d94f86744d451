// SPDX-License-Identifier: MIT
// Percent-encoding (RFC 3986, 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace healer {

/// Whether a character means the same encoded and as it is.
[[nodiscard]] bool is_unreserved(char c);
/// `text` with all other characters encoded.
[[nodiscard]] std::string percent_encoded(std::string_view text);
/// The other way round; what is no code stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text);

/// The byte that two hexadecimal digits at the beginning of `text` are; none: it begins with something else.
[[nodiscard]] std::optional<char> hex_byte(std::string_view text);

}  // namespace healer
