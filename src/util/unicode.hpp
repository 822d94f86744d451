// SPDX-License-Identifier: MIT
// Characters by their numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace healer {

/// The number of a well-formed UTF-8 character.
[[nodiscard]] std::uint32_t code_point(std::string_view character);

/// Whether a terminal may obey a character instead of showing it: the control characters C0 and C1, and those that turn
/// the direction of text, by which a line may read as another.
[[nodiscard]] bool is_control(std::uint32_t code);

}  // namespace healer
