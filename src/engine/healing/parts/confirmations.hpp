// SPDX-License-Identifier: MIT
// Targets that are checked once more before their healing begins: whose runs are awaited.
//
// Owns    for each healing that waits for such runs the services, and since when a run of each counts.
// Hears   that a target is to be checked; runs.
// Tells   LookWanted. Which healings have seen all that they wait for is its answer.
#pragma once

#include <map>
#include <vector>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Healing;
class HealingContext;
class HealingWorld;

class Confirmations {
 public:
  /// The target is checked once more. Whether anything is to be looked at.
  bool begin(HealingWorld& world, const Healing& healing);
  /// Whether a run is still awaited: who is not watched any more is not looked at either.
  [[nodiscard]] bool awaits(const HealingContext& world, const Healing& healing);
  /// Those that wait for runs, one of this service among them, in their order.
  [[nodiscard]] std::vector<HealingId> waiting_for(ServiceId service) const;
  /// A run of the service that began at `began` has ended. Whether the healing has waited for that one alone.
  [[nodiscard]] bool checked(HealingWorld& world, HealingId healing, ServiceId service, Duration began);
  void forget(HealingId healing) { awaited_.erase(healing); }
  /// The daemon is about to end: whoever resumes holds those back again.
  void clear() { awaited_.clear(); }

 private:
  std::map<HealingId, std::map<ServiceId, Duration>> awaited_;  // looks, and since when; mono
};

}  // namespace healer::engine
