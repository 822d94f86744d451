// SPDX-License-Identifier: MIT
// Healings whose target an edit of the rules takes away: which these are, and what people are told of it. Questions
// only: nothing here has a state.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"

namespace healer::engine {

struct Graph;
class HealingContext;
class TargetIndex;

inline constexpr std::string_view kNotInRules = "the rules no longer have it";

/// Of a run that ends by itself, and is not ended.
[[nodiscard]] bool is_under_way(const StepRun& run);
/// What its steps have come to: `done: "shut down"; failed: "rebuild"`.
[[nodiscard]] std::string steps_done(const Healing& healing);
/// "step "rebuild" goes on to its end, and nothing follows", of the steps that are under way.
[[nodiscard]] std::string what_goes_on(const Healing& healing);

/// Those that rules after an edit leave without a target.
[[nodiscard]] std::set<HealingId> taken_by(const std::map<HealingId, Healing>& healings, const TargetIndex& index,
                                           const Graph& now, const Graph& next);
/// What such rules end, for people: "healing 5 of n1 with rebuild: abandoned, as the rules no longer have it".
[[nodiscard]] std::vector<std::string> lost_to(const std::map<HealingId, Healing>& healings, const TargetIndex& index,
                                               const Graph& now, const Graph& next);
/// After a restart: whether an edit has taken its target out of the rules meanwhile.
[[nodiscard]] bool has_lost_target(const HealingContext& world, const TargetIndex& index, const Healing& healing);

}  // namespace healer::engine
