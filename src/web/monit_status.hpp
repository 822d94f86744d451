// SPDX-License-Identifier: MIT
// How a service stands, as a number in Monit's way.
#pragma once

#include <cstdint>

#include "engine/ids.hpp"
#include "engine/rules/event_kind.hpp"

namespace healer::engine {
class Engine;
}  // namespace healer::engine

namespace healer::web {

/// Monit's bit of a kind of event.
[[nodiscard]] std::uint32_t status_bit(engine::EventKind kind);
/// The bits of what the rules that stand failed are about; 0: none does. Requires: the service exists.
[[nodiscard]] std::uint32_t status_mask(const engine::Engine& engine, engine::ServiceId service);

}  // namespace healer::web
