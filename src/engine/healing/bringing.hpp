// SPDX-License-Identifier: MIT
// What a step of a workflow does to a service.
#pragma once

#include <cstdint>

namespace healer::engine {

/// Rules have actions of more kinds: ActionKind.
enum class Bringing : std::uint8_t { Start, Stop, Restart };

}  // namespace healer::engine
