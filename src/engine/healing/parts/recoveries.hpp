// SPDX-License-Identifier: MIT
// Targets whose recovery a step awaits: how their services do since.
//
// Owns    the services that are awaited, each with its healing, and the runs in a row in which no test of it held.
// Hears   that a step awaits a recovery, or does so no more; runs; that time has passed.
// Tells   LookWanted. Whether a target has recovered is its answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/ids.hpp"
#include "engine/steps/step_work.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Healing;
class HealingWorld;
class TargetIndex;

class Recoveries {
 public:
  /// Requires: `index` outlives it.
  explicit Recoveries(const TargetIndex& index) : index_(index) {}

  // ---- view
  /// Whether the runs of a service are a healing's, to see whether it has recovered.
  [[nodiscard]] bool awaits(ServiceId service) const { return awaited_.contains(service); }
  [[nodiscard]] bool empty() const { return awaited_.empty(); }

  // ---- what it hears
  /// The recovery of the healing's target is awaited from now on. Whether anything of it can be looked at.
  bool begin(HealingWorld& world, const Healing& healing);
  /// A run of the service that began at `began` has ended. `clear`: no test of it held; nothing: it had no answer.
  /// Whose target may have recovered by that.
  std::optional<HealingId> checked(ServiceId service, Duration began, std::optional<bool> clear);
  /// Whether every monitored service of the target has come back: each had runs, begun after the step, in which no test
  /// held, as many as the recovery of its rules asks for. Looks at services that have come meanwhile. `or_gone`: a
  /// target that is gone counts as well.
  [[nodiscard]] RecoveryOutcome outcome(HealingWorld& world, const Healing& healing, bool or_gone);
  /// Looks again where that was asked for a cycle ago.
  void look_again(HealingWorld& world);
  /// Nobody awaits it any more.
  void stop(const Healing& healing);

 private:
  /// How a service does while its recovery is awaited.
  struct Progress {
    HealingId healing;                      ///< that awaits it: a service is of one target, and a target in one healing
    Duration since{0};                      ///< mono: runs that began before do not count
    Duration checked{0};                    ///< mono: when a look was last asked for
    std::uint32_t clear = 0;                ///< runs in a row in which no test held
    std::optional<Duration> clear_since{};  ///< mono
  };

  const TargetIndex& index_;
  std::map<ServiceId, Progress> awaited_;
};

}  // namespace healer::engine
