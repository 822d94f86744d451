// SPDX-License-Identifier: MIT
// Comparing what somebody gives with a secret.
#pragma once

#include <string_view>

namespace healer {

/// Whether they are the same. How long that takes tells nothing of `secret`: not where they differ, nor its length.
[[nodiscard]] bool is_same_secret(std::string_view secret, std::string_view given);

}  // namespace healer
