// SPDX-License-Identifier: MIT
// The maintenance windows of the rules: which are in force, and when they end. Times of the wall clock, which may be
// set at any moment, so what is known of them holds for a minute.
//
// Owns    what was reckoned of the windows for this minute.
// Hears   a reload.
// Tells   nothing: who acts or tells people asks whether a window is in force.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;

class MaintenanceWindows {
 public:
  /// Requires: `graph`, the rules in force, and `civil` outlive it.
  MaintenanceWindows(const std::shared_ptr<const Graph>& graph, const CivilClock& civil)
      : graph_(graph), civil_(civil) {}

  // ---- view
  /// Whether a window is in force for the service.
  [[nodiscard]] bool in_force(ServiceId id, Instant now) const;
  /// Whether one of everything is.
  [[nodiscard]] bool of_everything(Instant now) const;
  /// When the first of the windows ends that are in force; none: none is.
  [[nodiscard]] std::optional<WallTime> first_end(Instant now) const;

  // ---- what it hears
  void reload() { known_.first = -1; }

 private:
  [[nodiscard]] const std::vector<WallTime>& ends(Instant now) const;

  const std::shared_ptr<const Graph>& graph_;
  const CivilClock& civil_;
  mutable std::pair<std::int64_t, std::vector<WallTime>> known_{-1, {}};  // of a minute: when each window ends
};

}  // namespace healer::engine
