// SPDX-License-Identifier: MIT
// Foreground processes: healer's own children.
#include "engine/turn.hpp"

namespace healer::engine {

void Engine::on(const event::ActionReady&, Turn&) {}

}  // namespace healer::engine
