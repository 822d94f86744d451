// SPDX-License-Identifier: MIT
// From what the engine knows of healing to what goes over the wire. Pure; on the thread that owns the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/wire.hpp"
#include "engine/ids.hpp"

namespace healer::engine {
class Engine;
struct Healing;
struct Rule;
}  // namespace healer::engine

namespace healer::control {

[[nodiscard]] HealingView view_healing(const engine::Engine& engine, const engine::Healing& healing, Instant now);
/// A healing as one of the things that are under way.
[[nodiscard]] JobView view_healing_job(const engine::Engine& engine, const engine::Healing& healing, Instant now);
/// The healing of a service's target: the one that is under way, else the first that waits; null: there is none.
[[nodiscard]] const engine::Healing* healing_of(const engine::Engine& engine, engine::ServiceId service);
/// How a service's target rests after its last healing; none: it does not.
[[nodiscard]] std::optional<CooldownView> rest_of(const engine::Engine& engine, engine::ServiceId service, Instant now);
/// "being healed with rebuild: step 2 of 3, drain", "healing with rebuild held back: limit: ...", "healing 7 has not
/// healed it (failed): ..."; empty: none of them.
[[nodiscard]] std::string healing_note(const engine::Engine& engine, engine::ServiceId service, Instant now);
/// What stands in the way of all healings, and which targets rest.
[[nodiscard]] HealingHolds view_holds(const engine::Engine& engine, Instant now);
/// Of each workflow of the rules, in their order, then of those that are gone.
[[nodiscard]] std::vector<WorkflowReport> view_report(const engine::Engine& engine);
/// What a rule that heals would do now; nothing: it does not heal.
[[nodiscard]] std::optional<HealExplanation> explain_healing(const engine::Engine& engine, engine::ServiceId service,
                                                             const engine::Rule& rule, Instant now);

}  // namespace healer::control
