// SPDX-License-Identifier: MIT
// What is done when a service is due: its run begins, is counted, or is left out.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/first_runs.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

void record_overruns(const Timetable::Overruns& sum, Turn& turn) {
  turn.record(
      RecordKind::RunOverrun, Severity::Warning, {},
      fmt::format("in the last {} {} runs of {} service{} were skipped: the previous runs had not finished",
                  format_duration(Timetable::kLatePause), sum.runs, sum.services, sum.services == 1 ? "" : "s"));
}

}  // namespace

std::optional<Duration> Engine::period(ServiceId id) const {
  const ServiceBlock& block = graph_->at(id);
  if (block.is_event()) return std::nullopt;
  if (block.is_heard()) return block.other->heartbeat.every;
  return period_of(*block.schedule, graph_->settings->cycle_length());
}

std::optional<Duration> Engine::next_run(ServiceId id, Instant now) const {
  if (!graph_->at(id).is_heard()) return timetable_.until_next(id, *graph_->at(id).schedule, now);
  if (graph_->at(id).is_event()) return std::nullopt;
  const std::optional<Duration> deadline = arrivals_.deadline(id);
  return deadline ? std::optional(std::max(*deadline - now.mono, Duration{0})) : std::nullopt;
}

std::uint64_t Engine::cycle(Instant now) const {
  const Duration since = now.mono - life_.started_at.mono - graph_->settings->start_delay;
  if (!life_.runs() || since < Duration{0}) return 0;
  return static_cast<std::uint64_t>(since / graph_->settings->cycle_length()) + 1;
}

void Engine::begin(ServiceId id, Duration first, Turn& turn) {
  if (graph_->at(id).is_event()) {
    monitoring_.judged(id);  // that nothing has come says nothing of it
    return arrivals_.events().begin(id, turn);
  }
  if (graph_->at(id).is_heard()) return arrivals_.begin(id, turn);
  if (graph_->at(id).is_listed()) return;
  timetable_.begin(id, first, services_[id.index()].monitored);
}

void Engine::on(const event::Wake&, Turn& turn) {
  if (!life_.runs()) return;
  doubts_.hear_wake(next_deadline(), timetable_.clock_offset(), graph_->settings->cycle_length(), turn.now);
  timetable_.follow_clock(graph_->order, turn.now);
  while (const auto back = monitoring_.take_back(turn.now)) {
    healing_.reevaluate(turn);
    monitor(back->first, {}, turn, back->second);
  }
  timetable_.take_due(turn.now.mono, [&](ServiceId id) {
    run_due(id, turn);
    drain(turn);
  });
  arrivals_.hear_time(turn);
  arrivals_.events().hear_time(turn);
  drain(turn);
  while (jobs_.wake_one(turn)) drain(turn);
  if (healing_.wake(turn)) {
    drain(turn);
    healing_.wake_waiting(turn);
  }
  drain(turn);
  alerts_.release(std::max(turn.now.mono, life_.started_at.mono + graph_->settings->start_delay), turn);
  drain(turn);
  while (const auto check = timetable_.take_check(turn.now.mono)) {
    if (check->service.index() < services_.size()) check_now(check->service, check->reason, turn);
    drain(turn);
  }
  if (const auto sum = timetable_.sum_up(turn.now)) record_overruns(*sum, turn);
  programs_.warn_long(turn);
}

void Engine::run_due(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!timetable_.turn(id, *graph_->at(id).schedule, turn.now)) return;
  if (times(id).kind == Schedule::Kind::Cron) {
    turn.save(id);
    turn.commit().awaited = true;  // its program runs now, and not again in this minute, whatever happens
  }
  if (state.presence.is_settling(turn.now.mono)) return;  // the look at the end of that serves as this run
  if (state.job) return;                                  // neither run nor counted while it is started or stopped
  if (state.flight && graph_->at(id).has_members()) end_composite_run(id, turn);  // whatever it waits for
  if (!state.monitored || state.job) return;
  if (!state.flight) return start_run(id, !times(id).counted_death(turn.now), Reason::Schedule, turn);
  // A run that was asked for, still under way: it serves as the scheduled one.
  if (!state.flight->counted) return timetable_.count(id, *state.flight, turn.now);
  if (timetable_.leave_out(id, turn.now))  // then it is counted, for many services may be late at every cycle
    turn.record(RecordKind::RunOverrun, Severity::Warning, graph_->at(id).name,
                fmt::format("the previous run has not finished after {}: this run is skipped",
                            format_duration(turn.now.mono - state.flight->started)));
}

void Engine::start_run(ServiceId id, bool counted, Reason reason, Turn& turn) {
  ServiceState& state = services_[id.index()];
  state.flight = timetable_.depart(id, counted, reason, turn.now);
  if (graph_->at(id).has_members())
    composites_.want(id);  // when its members have begun theirs
  else
    ask(id, state.flight->run, turn);
}

void Engine::on(const event::RunWaits& event, Turn& turn) {
  if (event.service.index() >= services_.size()) return;
  ServiceState& state = services_[event.service.index()];
  if (!state.flight || state.flight->run != event.run) return;
  state.flight->waits = event.why;
  if (event.why.empty()) return;
  if (!timetable_.note_lack(turn.now)) return;
  turn.note(Severity::Warning, graph_->at(event.service).name,
            fmt::format("its program waits to be started: {}", event.why));
}

/// The flight that was cancelled; none: there was none.
Rare<Flight> Engine::cancel_flight(ServiceId id, Turn& turn) {
  Rare<Flight> flight = std::exchange(services_[id.index()].flight, std::nullopt);
  if (!flight) return std::nullopt;
  turn.sink.emit(effect::CancelRun{id, flight->run});
  composites_.note(id);
  return flight;
}

}  // namespace healer::engine
