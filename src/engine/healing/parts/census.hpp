// SPDX-License-Identifier: MIT
// How many of a group are not well, and whether all of it was judged since: counted once a turn, when somebody asks.
//
// Owns    the counts of this turn; when each service was judged last, while something waits.
// Hears   runs; that a turn begins, in which all is counted anew; that a healing has come, gone, or gone on.
// Tells   nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/healing/parts/targets.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Healing;
class HealingContext;
class RunningHealings;

/// How many of a group's targets there are, how many of them are not well, and how many of those are paused.
struct GroupCount {
  std::size_t whole = 0;
  std::size_t unhealthy = 0;
  std::size_t paused = 0;
  [[nodiscard]] double percent() const {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(unhealthy) / static_cast<double>(whole);
  }
  /// Without those that are paused.
  [[nodiscard]] double ill_percent() const {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(unhealthy - paused) / static_cast<double>(whole);
  }
};

class Census {
 public:
  /// Requires: both outlive it.
  Census(const TargetIndex& index, const RunningHealings& healings) : index_(index), healings_(healings) {}

  // ---- view
  [[nodiscard]] GroupCount of(const HealingContext& world, std::string_view group) const;
  /// A storm must be seen before the first healing of it starts: every target of its groups has been judged since the
  /// firing, or a cycle has passed.
  [[nodiscard]] bool judged_since(const HealingContext& world, const Healing& healing) const;
  /// "4 of 6 in group nodes are not well".
  [[nodiscard]] std::string describe(const GroupCount& count, std::string_view group) const;
  /// The same of a brake that is closed, with the limits of that, and when it opens.
  [[nodiscard]] std::string describe_closed(const GroupCount& count, std::string_view group, double above,
                                            const std::optional<double>& until) const;

  // ---- what it hears
  /// The service was judged, in mono time.
  void judged(ServiceId service, Duration now) { judged_[service.number()] = now; }
  /// Nothing waits any more.
  void forget_runs() { judged_.clear(); }
  // What was counted is no state: whoever only asks may have it counted anew.
  /// All is counted anew when it is asked for: a turn begins, or the rules have changed.
  void forget() const;
  /// A healing of the target has come, gone, or gone on.
  void count_again(const HealingContext& world, std::string_view target) const;

 private:
  /// How a target counts.
  enum class Fitness : std::uint8_t {
    LeftOut,
    Well,
    Unwell,
    Paused  ///< not well, be it for that alone or for more
  };
  /// Which of a group's targets was judged longest ago, and when, in mono time; and when any other one was.
  struct Oldest {
    std::uint32_t target = 0;
    Duration when{0};
    Duration others{0};
  };

  [[nodiscard]] Fitness fitness(const HealingContext& world, const TargetIndex::Target& target) const;
  void count(const HealingContext& world) const;
  void count(std::uint32_t target, int sign) const;
  [[nodiscard]] Duration judged(const HealingContext& world, const TargetIndex::Target& target) const;
  [[nodiscard]] const Oldest& oldest(const HealingContext& world, std::uint32_t group) const;

  const TargetIndex& index_;
  const RunningHealings& healings_;
  std::unordered_map<std::uint32_t, Duration> judged_;  // when a service was judged last
  mutable bool counted_ = false;                        // in this turn
  mutable std::vector<Fitness> fitness_;                // by the place of a target, while counted_
  mutable std::vector<GroupCount> counts_;              // by the place of a group, while counted_
  mutable std::vector<std::optional<Oldest>> oldest_;   // by the place of a group
};

}  // namespace healer::engine
