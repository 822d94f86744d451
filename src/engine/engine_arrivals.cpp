// SPDX-License-Identifier: MIT
// Runs of services that are heard, not looked at: they begin and end within a turn.
#include <memory>

#include "engine/engine.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

void Engine::on(const event::Arrived& event, Turn& turn) { arrivals_.take(event, turn); }

void Engine::on(const fact::RunDue& fact, Turn& turn) {
  ServiceState& state = services_[fact.service.index()];
  if (!running_ || !state.monitored || state.job) return;
  if (!state.flight) return start_run(fact.service, fact.counted, Reason::Schedule, turn);
  if (fact.counted) timetable_.count(fact.service, *state.flight, turn.now);
}

void Engine::on(const fact::RunAsked& fact, Turn& turn) {
  if (graph_->block(fact.service) == nullptr || arrivals_.find(fact.service) == nullptr) return;
  on(event::Measured{fact.service, fact.run, std::make_shared<const Evidence>(arrivals_.see(fact.service, turn.now))},
     turn);
}

}  // namespace healer::engine
