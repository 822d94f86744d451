// SPDX-License-Identifier: MIT
// Deaths, looks beside the schedule, and whether services are monitored.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr Duration kBusyPause{100};

}  // namespace

void Engine::on(const event::ProcessDied& event, Turn& turn) {
  const ServiceId id = event.service;
  if (!life_.runs() || graph_->block(id) == nullptr) return;
  const ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  if (block.foreground()) return;  // the end of its exec tells of it
  if (block.is_unit()) {           // a look, which counts as that after a death does
    if (state.monitored && starts_.in_schedule(id, turn.now)) check_now(id, Reason::Death, turn);
    return;
  }
  const ProcessFacts* known = state.last ? process_of(*state.last) : nullptr;
  if (known == nullptr || known->pid != event.pid || known->start_ticks != event.start_ticks) return;
  std::string how = fmt::format("process {} has died", event.pid);
  if (event.end) how += ": " + describe_exit(event.end->outcome, event.end->status);
  starts_.died(id, std::move(how));
  if (jobs_.is_at(id)) return jobs_.check(id, turn);
  turn.record(RecordKind::ProcessDied, Severity::Warning, block.name, state.presence.how());
  if (!state.monitored || starts_.left_alone(id, turn.now) || !starts_.in_schedule(id, turn.now) || state.job) return;
  cancel_flight(id, turn);  // it may have looked before
  commands_.run_ended(id, true, turn);
  if (graph_->settings->settle > Duration{0}) return starts_.settle(id, nullptr, turn);
  check_now(id, Reason::Death, turn);
}

void Engine::check_now(ServiceId id, Reason reason, Turn& turn) {
  const ServiceState& state = services_[id.index()];
  if (!life_.runs() || !graph_->slots[id.index()] || !state.monitored || state.job) return;
  if (state.presence.is_settling(turn.now.mono)) return;  // a look comes at the end of that
  if (state.flight) {                                     // begun before: it may not have seen what happened since
    return timetable_.check_later(id, reason, turn.now.mono + kBusyPause);
  }
  // A death is the first of N. So is what is tried again, where a job has kept a whole cycle from counting. The next
  // run that counts comes at least a cycle later.
  const bool missed = reason == Reason::Again && starts_.in_schedule(id, turn.now) && times(id).missed_count(turn.now);
  const bool counted = (reason == Reason::Death || missed) && !times(id).counted_death(turn.now);
  if (counted) timetable_.count_death(id, turn.now);
  start_run(id, counted, reason, turn);
}

// ---- whether services are monitored -------------------------------------------------------------------------------

/// `text` is what is recorded of it, where that is not who has asked for it.
void Engine::monitor(ServiceId id, const Origin& by, Turn& turn, std::string text) {
  if (!monitoring_.begin(id, by, turn, std::move(text))) return;
  ServiceState& state = services_[id.index()];
  children_.forget_status(id);
  timetable_.forget_overruns(id);
  // `unmonitor` then `monitor` begins afresh; what a person accepted stays accepted.
  rules_.forget(id);
  alerts_.forget(id);
  failures_.forget(id);
  state.memory = fresh_memory(graph_->at(id));
  starts_.wait_no_more(id);
  composites_.note(id);
  if (life_.runs()) begin(id, std::max(turn.now.mono, life_.started_at.mono + graph_->settings->start_delay), turn);
}

/// With all that depends on it, as Monit.
void Engine::unmonitor(ServiceId id, const TakenOut& how, Turn& turn) {
  if (!graph_->dependents[id.index()].empty())
    for (const ServiceId dependent : dependents_of(*graph_, id)) unmonitor_one(dependent, how, turn);
  unmonitor_one(id, how, turn);
}

void Engine::unmonitor_one(ServiceId id, const TakenOut& how, Turn& turn) {
  if (!monitoring_.end(id, how, turn)) return;
  starts_.wait_no_more(id);
  timetable_.stop(id);
  arrivals_.stop(id);
  arrivals_.events().stop(id, graph_->at(id).name + " is not monitored", turn);
  cancel_flight(id, turn);
  composites_.note(id);
  commands_.run_ended(id, false, turn);
}

}  // namespace healer::engine
