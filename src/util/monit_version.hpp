// SPDX-License-Identifier: MIT
// The versions of Monit between which its language, or what that means, differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace healer {

/// Each stands for those from it up to the next one.
enum class MonitVersion : std::uint8_t { V5_33, V5_34, V6, V6_1 };

/// "5.33", "5.34", "6", "6.1".
[[nodiscard]] std::string_view to_string(MonitVersion version);
/// Of "5.33", "5.34.3", "6", "6.0.0": which of them that is. None: it is not one that healer knows. What is older than
/// 5.33 is taken for it.
[[nodiscard]] std::optional<MonitVersion> monit_version(std::string_view written);

}  // namespace healer
