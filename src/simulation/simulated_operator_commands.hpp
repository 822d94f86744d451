// SPDX-License-Identifier: MIT
// What people tell healer in a simulation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/events/event.hpp"
#include "simulation/script.hpp"
#include "util/time.hpp"

namespace healer::engine {

class Engine;

/// A command of a script as the engine is told it, but for its number. None: it says nothing to healer, or, where `why`
/// is filled, there is nothing that it could be about.
[[nodiscard]] std::optional<event::Command> order_of(const ScriptedCommand& command, const Engine& engine, Instant now,
                                                     std::string& why);

/// "web is not in the rules now": what comes of a command for services that no list has.
[[nodiscard]] std::string not_there(const std::vector<std::string>& services);

}  // namespace healer::engine
