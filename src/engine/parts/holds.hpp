// SPDX-License-Identifier: MIT
// Why what a rule has decided is not done now. A view of other parts: it owns nothing, hears and tells nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/ids.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

enum class ActionKind : std::uint8_t;
struct Graph;
struct Rule;
class Healings;
class MaintenanceWindows;
class Pauses;

/// Why a decided action is not done.
enum class Hold : std::uint8_t { None, Dormant, Shadow, DryRun, AlreadyRunning, Passive, Paused, Maintenance, Healing };
[[nodiscard]] std::string_view to_string(Hold hold);

class Holds {
 public:
  /// Requires: all of them outlive it.
  Holds(const std::shared_ptr<const Graph>& graph, const Pauses& pauses, const MaintenanceWindows& maintenance,
        const Healings& healings)
      : graph_(graph), pauses_(pauses), maintenance_(maintenance), healings_(healings) {}

  /// Why an action of this kind of this rule would not be done now.
  [[nodiscard]] Hold of(ServiceId service, const Rule& rule, const RuleState& state, ActionKind kind,
                        Instant now) const;

 private:
  const std::shared_ptr<const Graph>& graph_;
  const Pauses& pauses_;
  const MaintenanceWindows& maintenance_;
  const Healings& healings_;
};

}  // namespace healer::engine
