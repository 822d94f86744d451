// SPDX-License-Identifier: MIT
// Brakes that a person overrides.
#pragma once

#include <string>

namespace healer::engine {

/// What a person may override for one healing: `--override limit,cooldown,pause`.
struct Overrides {
  bool limit = false;
  bool cooldown = false;
  bool pause = false;
  bool operator==(const Overrides&) const = default;
};

/// "limit and pause"; empty: nothing.
[[nodiscard]] std::string to_string(const Overrides& overrides);

}  // namespace healer::engine
