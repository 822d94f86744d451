// SPDX-License-Identifier: MIT
// What guards and brakes say to a healing: counts of groups, limits, pauses, cooldowns (language 3.7). A view of other
// parts: it owns nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct HealOrder;
class Census;
class ClosedBrakes;
class HealingMemories;
class HealingContext;
class HealingWorld;
class RunningHealings;
class TargetIndex;

/// The reason of a healing that this brake holds back: "limit reached: 1 of 1 running".
[[nodiscard]] std::string reason_of(const BrakeVerdict& verdict);
/// What opens a brake that holds a healing back, and what a person can do, for people: "it can begin in 4 m"; or empty.
[[nodiscard]] std::string way_out(const BrakeVerdict& brake, const Healing& healing);

class Brakes {
 public:
  /// Requires: all of them outlive it.
  Brakes(const RunningHealings& healings, const TargetIndex& index, const Census& census,
         const HealingMemories& memories, const ClosedBrakes& closed)
      : healings_(healings), index_(index), census_(census), memories_(memories), closed_(closed) {}

  /// What each says to a healing now, in their order.
  [[nodiscard]] std::vector<BrakeVerdict> verdicts(const HealingContext& world, const Healing& healing) const;
  /// The same for people, between two turns: the groups are counted again.
  [[nodiscard]] std::vector<BrakeVerdict> fresh_verdicts(const HealingContext& world, const Healing& healing) const;
  /// What they would say if the service were to be healed so now.
  [[nodiscard]] std::vector<BrakeVerdict> preview(const HealingContext& world, ServiceId service,
                                                  const HealOrder& order) const;
  /// As ClosedBrakes::unwell(), of groups that are counted again.
  [[nodiscard]] std::vector<std::string> unwell_of_closed(const HealingContext& world) const;
  /// What holds back one that was let go already: while its guard or its place was asked for, or healer was away, a
  /// person may have paused it, the target may be well again, or others may have failed, too: then it is too much.
  [[nodiscard]] std::optional<BrakeVerdict> closed_since(const HealingContext& world, const Healing& healing) const;
  /// The first that holds it back.
  [[nodiscard]] std::optional<BrakeVerdict> first(const HealingContext& world, const Healing& healing) const;
  /// Whether there is a place for it.
  [[nodiscard]] BrakeVerdict limit(const HealingContext& world, const Healing& healing) const;
  /// Whether one holds it that is no doubt.
  [[nodiscard]] bool holds(const HealingContext& world, const Healing& healing) const;
  /// Whether people are to be asked before it begins.
  [[nodiscard]] bool wants_approval(const HealingContext& world, const Healing& healing) const;
  /// Whether rules leave the target alone, except for alerts and execs: it is being healed, or was just now.
  [[nodiscard]] bool rests(std::string_view target, Instant now) const;
  /// Mono: when all that waits is to be asked again, though nothing happens: time lets something go then, or people are
  /// to be told; at the latest in a cycle. None: nothing waits.
  [[nodiscard]] std::optional<Duration> asked_again(const HealingContext& world) const;
  /// This one holds the healing back: that is its reason from now on, and people are told, when it has lasted.
  void hold(HealingWorld& world, Healing& healing, const BrakeVerdict& brake) const;

 private:
  [[nodiscard]] std::vector<BrakeVerdict> counted_verdicts(const HealingContext& world, const Healing& healing) const;
  [[nodiscard]] std::string rival_of(const Healing& healing) const;
  void ask_services(const HealingContext& world, const Healing& healing, std::vector<BrakeVerdict>& all) const;
  [[nodiscard]] BrakeVerdict verdict_of(const HealingContext& world, const Healing& healing, const HealingLimit& limit,
                                        bool of_workflow) const;

  const RunningHealings& healings_;
  const TargetIndex& index_;
  const Census& census_;
  const HealingMemories& memories_;
  const ClosedBrakes& closed_;
};

}  // namespace healer::engine
