// SPDX-License-Identifier: MIT
// When composites are judged.
#include <memory>
#include <utility>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"

namespace healer::engine {

void Engine::judge_composite(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.monitored) return;
  if (state.flight && !composites_.waits(id, state.flight->awaited)) return end_composite_run(id, turn);
  const Schedule& schedule = *graph_->at(id).schedule;
  const bool rests = schedule.kind == Schedule::Kind::Cron || (schedule.kind == Schedule::Kind::NotCron &&
                                                               matches_at(schedule.cron, turn.now.wall, life_.civil));
  if (state.initialising || state.job || rests) return;
  const auto seen = std::make_shared<const Evidence>(composites_.check(id));
  take(id, seen, turn);
  judge(id, *seen, false, Reason::Member, turn);
}

/// Judges the run under way by how its members are now.
void Engine::end_composite_run(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const auto seen = std::make_shared<const Evidence>(composites_.check(id));
  const Flight flight = *std::exchange(state.flight, std::nullopt);
  state.last_run = flight.run;
  if (seen->answer == Answer::Present) monitoring_.judged(id);
  take(id, seen, turn);
  ++state.runs;
  judge(id, *seen, flight.counted, flight.reason, turn);
}

}  // namespace healer::engine
