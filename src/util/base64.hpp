// SPDX-License-Identifier: MIT
// Base64 as RFC 4648 has it, by the usual alphabet.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace healer {

/// With padding.
[[nodiscard]] std::string base64_encoded(std::string_view bytes);
/// The bytes of a text; the padding may be missing. Nothing: it is no base64.
[[nodiscard]] std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace healer
