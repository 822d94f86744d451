// SPDX-License-Identifier: MIT
// What earlier starts of a service have left running, as its last check has found it. A view of other parts: it owns
// nothing, hears and tells nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
class RunningPrograms;

class StartLeftovers {
 public:
  /// Requires: all of them outlive it.
  StartLeftovers(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services,
                 const RunningPrograms& programs)
      : graph_(graph), services_(services), programs_(programs) {}

  /// Of an earlier start of the service, whether that came up or not.
  [[nodiscard]] const std::vector<LeftProcess>& of(ServiceId id) const;
  /// What its last start program has left running, where no pid file names it; empty: nothing. Another start beside it
  /// would make two of what is to be one.
  [[nodiscard]] std::string behind(ServiceId id) const;
  /// What the process of a service that is not running has left when it died, though that was its start's: "process 7
  /// (nginx: worker process) of its former start runs still"; empty: nothing. It may stand in the way of the next, and
  /// need not.
  [[nodiscard]] std::string over(ServiceId id) const;
  /// Whether a rule's start has waited long for what an earlier one has left: it may yet come up, or go. A start that
  /// is as far off in time to come is one of a clock that was wrong.
  [[nodiscard]] bool are_old(ServiceId id, Instant now) const;

 private:
  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const RunningPrograms& programs_;
};

}  // namespace healer::engine
