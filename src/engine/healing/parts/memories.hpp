// SPDX-License-Identifier: MIT
// What is remembered of targets and of workflows when their healings have ended: cooldowns and probations, breakers,
// ramps, what has begun within the time of a limit, counts for people.
//
// Owns    a memory a target, while something of it still says anything; a memory a workflow.
// Hears   that a healing was asked for, was approved, begins, ends; that a target has recovered; a person's reset; what
//         the journal has lost; a boot of the machine.
// Tells   people, that a breaker has opened, or that a healing was lost. Brakes read the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct DamagedHealing;
struct Graph;
class HealingWorld;
class TargetIndex;

class HealingMemories {
 public:
  /// Requires: `index` outlives it.
  HealingMemories(std::vector<TargetMemory> targets, std::vector<WorkflowMemory> workflows, const TargetIndex& index);

  // ---- view
  [[nodiscard]] const std::vector<TargetMemory>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<WorkflowMemory>& workflows() const { return workflows_; }
  /// Null: nothing is remembered of it. Valid until the next change.
  [[nodiscard]] const TargetMemory* target(std::string_view target, bool rehearsed) const;
  [[nodiscard]] const WorkflowMemory* workflow(std::string_view workflow) const;
  /// For whom it does not help to reset a workflow: the targets that are healed with it, and that a healing has not
  /// healed. For people; empty: there are none.
  [[nodiscard]] std::string left_alone(const Graph& graph, std::string_view workflow) const;

  // ---- healings
  /// One was asked for that goes, or would go on, with the workflow.
  void proposed(HealingWorld& world, const std::string& workflow);
  void approved(HealingWorld& world, const Healing& healing);
  /// Something of the workflow is held or healed: its ramp begins again only when that was not so for long.
  void keep_active(HealingWorld& world, const std::string& workflow);
  /// A try begins, `round` not counting it yet.
  void begun(HealingWorld& world, const Healing& healing);
  /// What the plan of a healing has come to is counted, for people and for the ramp.
  void reached(HealingWorld& world, const Healing& healing, HealingEnd how);
  /// The plan has failed: the ramp goes back, and the breaker counts it.
  void failed(HealingWorld& world, const Healing& healing);
  /// Its target rests from now on, where it was touched. `brakes`: whether that holds back what comes.
  void ended(HealingWorld& world, const Healing& healing, HealingEnd how, bool brakes);

  // ---- what else it hears
  /// A rule of the service that stood failed does so no more.
  void recovered(HealingWorld& world, ServiceId service);
  /// What says nothing any more is forgotten.
  void expire(HealingWorld& world);
  /// A person closes the breaker; what came of it, in words. Requires: the rules have the workflow, or it is known.
  std::string reset(HealingWorld& world, std::string_view workflow, const std::string& by);
  /// The target rests for a cooldown, as what was journalled of its last healing is lost but for what is given.
  void rest(HealingWorld& world, const std::string& target, bool rehearsed, HealingEnd end = HealingEnd::Dropped,
            HealingId healing = {}, std::string_view workflow = {});
  /// What is journalled of a healing cannot be read: it is told as interrupted, and its target rests.
  void lost(HealingWorld& world, const DamagedHealing& damaged);
  /// After a boot of the machine: no more of a time that brakes go by is over than was when the daemon before was
  /// `seen` for the last time.
  void carry(HealingWorld& world, WallTime seen);

 private:
  [[nodiscard]] WorkflowMemory& edit(std::string_view workflow);
  void remember(HealingWorld& world, TargetMemory target);
  void note_recovery(HealingWorld& world, TargetMemory& memory);
  [[nodiscard]] Duration cooldown_of(const Graph& graph, std::string_view target, std::string_view workflow) const;

  const TargetIndex& index_;
  std::vector<TargetMemory> targets_;
  std::vector<WorkflowMemory> workflows_;
};

/// All that healing keeps over a restart, beside the healings, as it is now.
struct HealingMemoryView {
  const std::vector<TargetMemory>& targets;
  const std::vector<WorkflowMemory>& workflows;
  const std::vector<ClosedBrake>& closed;
};

/// A ramp begins again when nothing was healed or held for so long.
inline constexpr Duration kRampRest = hours{1};

}  // namespace healer::engine
