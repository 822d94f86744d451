// SPDX-License-Identifier: MIT
// When healings are to be woken: what is under way goes on by time, and what waits is asked again.
//
// Owns    when the next of that is due, and whether what waits is to be asked again.
// Hears   that something has changed that brakes or conditions ask for; that a turn of healings is over.
// Tells   nothing: the engine asks when it is to wake them.
#pragma once

#include <optional>

#include "util/time.hpp"

namespace healer::engine {

class HealingMemories;
class HealingContext;
class Recoveries;
class RunningHealings;
class StepRequests;
class TargetIndex;

class WakeTimes {
 public:
  /// Requires: all of them outlive it.
  WakeTimes(const RunningHealings& healings, const TargetIndex& index, const HealingMemories& memories,
            const StepRequests& requests, const Recoveries& recoveries)
      : healings_(healings), index_(index), memories_(memories), requests_(requests), recoveries_(recoveries) {}

  // ---- view
  /// The mono time at which healings are to be woken.
  [[nodiscard]] std::optional<Duration> next() const { return next_; }

  // ---- what it hears
  /// What waits is to be asked again soon, once for all that changes meanwhile.
  void reevaluate(const HealingContext& world);
  /// Time has passed. Whether all that waits is to be asked again now.
  [[nodiscard]] bool is_to_consider(const HealingContext& world);
  /// All that waits is asked now.
  void considering();
  /// What waits is to be asked again then, mono, though nothing happens.
  void consider_at(Duration when);
  /// The turn is over: settles when the next is due.
  void plan(const HealingContext& world);

 private:
  const RunningHealings& healings_;
  const TargetIndex& index_;
  const HealingMemories& memories_;
  const StepRequests& requests_;
  const Recoveries& recoveries_;
  bool must_reevaluate_ = false;
  std::optional<Duration> consider_at_;  // mono: when all that waits is asked again
  std::optional<Duration> next_;
};

}  // namespace healer::engine
