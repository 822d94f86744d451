// SPDX-License-Identifier: MIT
// `pause while`: the brakes of workflows that close when more of a group is not well than they allow, and open again.
//
// Owns    those that are closed, and whether people know.
// Hears   that it is to look: something waits, or has gone on.
// Tells   people, once each, what is paused and what goes on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/healing/parts/census.hpp"

namespace healer::engine {

class HealingContext;
class HealingWorld;
class RunningHealings;
class TargetIndex;

class ClosedBrakes {
 public:
  /// Requires: all but `closed` outlive it.
  ClosedBrakes(std::vector<ClosedBrake> closed, const TargetIndex& index, const RunningHealings& healings,
               const Census& census);

  // ---- view
  [[nodiscard]] const std::vector<ClosedBrake>& all() const { return closed_; }
  [[nodiscard]] bool empty() const { return closed_.empty(); }
  /// The brakes of a healing's plan by group; the default one by each group of its target.
  [[nodiscard]] std::vector<std::pair<std::string, PauseWhile>> pauses_of(const Healing& healing) const;
  /// What holds the healing back, for people; empty: nothing.
  [[nodiscard]] std::string holding(const HealingContext& world, const Healing& healing) const;
  /// What would, if the healing were the first of its kind to wait. Empty: nothing.
  [[nodiscard]] std::string would_hold(const HealingContext& world, const Healing& healing) const;
  /// How much of the group of each is not well now, and when it opens, for people, in their order: "4 of 6 in group
  /// nodes are not well; goes on at less than 20 %".
  [[nodiscard]] std::vector<std::string> unwell(const HealingContext& world) const;

  // ---- what it hears
  /// Closes and opens them, and tells people, once each.
  void watch(HealingWorld& world);

 private:
  /// The fewest targets of a group that the brake of every workflow asks for.
  static constexpr std::size_t kFewest = 3;

  bool close(HealingWorld& world);
  bool tell(HealingWorld& world);
  bool reopen(HealingWorld& world);
  [[nodiscard]] bool opens(const HealingContext& world, const ClosedBrake& closed, const GroupCount& now) const;
  [[nodiscard]] bool is_reported(const ClosedBrake& closed) const;

  const TargetIndex& index_;
  const RunningHealings& healings_;
  const Census& census_;
  std::vector<ClosedBrake> closed_;
};

/// "n1, n2 and 3 more".
[[nodiscard]] std::string names_text(const std::vector<std::string>& names);

}  // namespace healer::engine
