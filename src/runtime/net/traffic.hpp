// SPDX-License-Identifier: MIT
// What has gone over a network interface within the last minutes and hours.
#pragma once

#include <deque>

#include "runtime/inspection/network_inspection.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What the counters of an interface were as each minute began, for as long as anybody asks. As in Monit the minute
/// under way counts as a whole: of the last minute is what came since that one began, of the last two that and the one
/// before. An hour is 60 of these, and so is each of more hours, of which Monit counts whole ones. Kept in memory
/// alone, at most kMostMinutes of it: a restart of healer starts it over, as one of Monit does, and so do counters that
/// start over.
class Traffic {
 public:
  static constexpr std::size_t kMostMinutes = 24 * 60;

  /// Adds the present sample. `longest`: over which time somebody asks for a total; 0: over all that is kept.
  void add(const InterfaceSample& present, Duration longest);
  /// What has come since `span` ago; 0: in all that is kept. Requires: a sample was added.
  [[nodiscard]] InterfaceCounters since(Duration span) const;
  [[nodiscard]] std::size_t size() const { return minutes_.size(); }

 private:
  struct Minute {
    Duration::rep number;  ///< since the clock began
    InterfaceCounters begun;
  };

  std::deque<Minute> minutes_;  ///< of those that had a sample, the eldest first
  InterfaceSample last_;
};

}  // namespace healer::runtime
