// SPDX-License-Identifier: MIT
// How an engine is driven that has its targets to itself: what its healings claim is granted at once.
#pragma once

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "util/time.hpp"

namespace healer::engine {

class Engine;

/// As Engine::handle(), and answers each effect::Claim that follows with event::Claimed at the same time, until there
/// are none. Neither comes out: no sink sees a claim, and what is recorded of events holds no answer.
void handle(Engine& engine, const Event& event, Instant now, EffectSink& sink);

}  // namespace healer::engine
