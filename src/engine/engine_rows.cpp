// SPDX-License-Identifier: MIT
// Runs of rows of lists: a reading of the list is one of each.
#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

void Engine::on(const event::RowsRead& event, Turn& turn) {
  if (!life_.runs()) return;
  for (const auto& [id, evidence] : event.rows) {
    const ServiceBlock* const block = graph_->block(id);
    if (block == nullptr || !block->is_listed()) continue;
    ServiceState& state = services_[id.index()];
    if (!state.monitored || state.job) continue;
    if (!state.flight) {
      state.flight = timetable_.depart(id, true, Reason::Schedule, turn.now);
      state.flight->started = event.began;  // it is seen as it was then
    } else {
      if (!state.flight->counted) timetable_.count(id, *state.flight, turn.now);
      // Who asked after the reading had begun wants to know how it is later than that.
      if (state.flight->started > event.began) continue;
    }
    on(event::Measured{id, state.flight->run, evidence}, turn);
  }
}

}  // namespace healer::engine
