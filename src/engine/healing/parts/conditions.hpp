// SPDX-License-Identifier: MIT
// Whether what a healing was asked for stands still, and whose state has a say in that. Questions only: nothing here
// has a state.
#pragma once

#include <string_view>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"

namespace healer::engine {

struct Graph;
struct HealOrder;
class HealingContext;
class TargetIndex;

/// What the rule that asked says today; null: it is gone, or heals no more.
[[nodiscard]] const HealOrder* order_of(const Graph& graph, const Trigger& trigger);
/// Whether nobody asks for it so any more.
[[nodiscard]] bool is_gone(const Graph& graph, const Trigger& trigger);
/// Whether the target has left the rules, and not only for now.
[[nodiscard]] bool is_gone(const HealingContext& world, const TargetIndex& index, const Healing& healing);

/// Whether who asked would ask again now.
[[nodiscard]] bool trigger_stands(const HealingContext& world, const Healing& healing, const Trigger& trigger);
/// The same of any that has asked.
[[nodiscard]] bool any_trigger_stands(const HealingContext& world, const Healing& healing);
/// Whether there is still something to heal.
[[nodiscard]] bool condition_stands(const HealingContext& world, const TargetIndex& index, const Healing& healing);
/// Whether it is asked for only by rules that say nothing of the target: no name server has answered when they were
/// judged last.
[[nodiscard]] bool nameless(const HealingContext& world, const Healing& healing);

/// All whose state has a say: the services of the target, those that asked, and what they are made of.
[[nodiscard]] std::vector<ServiceId> concerned(const HealingContext& world, const TargetIndex& index,
                                               const Healing& healing);
/// Whose state says how the target is: its services, and what they are made of.
[[nodiscard]] std::vector<ServiceId> checked_for(const HealingContext& world, const TargetIndex& index,
                                                 std::string_view target);

/// Whether its guard is asked before its next try.
[[nodiscard]] bool asks_guard(const Healing& healing);

}  // namespace healer::engine
