// SPDX-License-Identifier: MIT
// How the last thing that a rule had done to its service has failed, a program or a job, while none has ended well
// since and the rule has not recovered.
//
// Owns    in the trouble of each service its action_failure.
// Hears   the end of a program or job; that its rule has recovered, or is gone; a restart.
// Tells   nothing.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/hash.hpp"

namespace healer::engine {

struct Graph;
struct Job;
struct Turn;
class RunningPrograms;

class ActionFailures {
 public:
  /// Requires: all of them outlive it.
  ActionFailures(const std::shared_ptr<const Graph>& graph, std::vector<ServiceState>& services,
                 const RunningPrograms& programs)
      : graph_(graph), services_(services), programs_(programs) {}

  /// The program of a rule has ended; `failure`: why that was not well, or empty.
  void note(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn);
  void note(const Job& job, bool good, Turn& turn);
  /// Only when its program was ended is known what it said: `silent` becomes `description`.
  void complete(ServiceId id, std::string_view silent, std::string_view description, Turn& turn);
  void forget(ServiceId id) { services_[id.index()].trouble.set(&Trouble::action_failure, {}); }
  void forget(ServiceId id, Hash128 rule);
  /// The rules of a service have changed: one of a rule that is gone is forgotten.
  void reload(ServiceId id);
  void restore(ServiceId id, const SavedService& saved);

 private:
  void turn_to(ServiceId id, Hash128 rule, std::string failure, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  std::vector<ServiceState>& services_;
  const RunningPrograms& programs_;
};

}  // namespace healer::engine
