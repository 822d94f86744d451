// SPDX-License-Identifier: MIT
// Whether a healing that was read is one that the engine can go on with.
#pragma once

#include <string>

#include "engine/healing/healing.hpp"

namespace healer::engine {

/// What the engine relies on and does not find; empty: nothing.
[[nodiscard]] std::string problem_of(const Healing& healing);

}  // namespace healer::engine
