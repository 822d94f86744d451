// SPDX-License-Identifier: MIT
// The healings that are under way, or waiting: which there are, and whose. How far one has come is its own, and
// written by whoever takes it there.
//
// Owns    the healings, by number, and which of them a target has.
// Hears   that one has come or ended; a boot of the machine.
// Tells   nothing: the other parts read it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

class HealingWorld;
class TargetIndex;

class RunningHealings {
 public:
  explicit RunningHealings(std::vector<Healing> healings);
  RunningHealings(const RunningHealings&) = delete;  // the other parts refer to it
  RunningHealings& operator=(const RunningHealings&) = delete;

  // ---- view
  [[nodiscard]] const std::map<HealingId, Healing>& all() const { return healings_; }
  [[nodiscard]] bool empty() const { return healings_.empty(); }
  [[nodiscard]] const Healing& at(HealingId id) const { return healings_.at(id); }
  /// Of the target of that name, in lower case. Valid until one comes or ends.
  [[nodiscard]] const std::vector<HealingId>& of_target(const std::string& name) const;
  /// All, the one that goes first at the front.
  [[nodiscard]] std::vector<HealingId> ids() const;
  /// Calls `visit` for each healing of the target, or of one that conflicts with it.
  void visit_rivals(const TargetIndex& targets, std::string_view target,
                    const std::function<void(const Healing&)>& visit) const;

  // ---- changes
  /// Null: it has ended.
  [[nodiscard]] Healing* find(HealingId id);
  [[nodiscard]] Healing& at(HealingId id) { return healings_.at(id); }
  /// Whose program that is, and runs; null: nobody's.
  [[nodiscard]] Healing* of_action(ActionId action);
  Healing& add(Healing healing);
  /// Requires: there is one of that number.
  void remove(HealingId id);
  /// After a boot of the machine: no more of the times that they wait for is over than was when the daemon before was
  /// `seen` for the last time.
  void carry(HealingWorld& world, WallTime seen);

 private:
  std::map<HealingId, Healing> healings_;
  std::unordered_map<std::string, std::vector<HealingId>> of_target_;  // by name, in lower case
};

}  // namespace healer::engine
