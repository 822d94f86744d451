// SPDX-License-Identifier: MIT
// When services run. All due times lie on a grid that starts with the daemon, so cycles keep a fixed rate and nothing
// drifts.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/cron.hpp"
#include "engine/service.hpp"
#include "engine/settings.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLackPause{60'000};  // without a run that waits, before it is noted again that one does
constexpr Duration kLatePause{60'000};  // between sums of the runs that were left out

}  // namespace

std::optional<Duration> Engine::period_of(const Schedule& schedule, Duration cycle) {
  switch (schedule.kind) {
    case Schedule::Kind::Cycles: return cycle * schedule.cycles;
    case Schedule::Kind::Interval: return schedule.interval;
    case Schedule::Kind::NotCron: return cycle;
    case Schedule::Kind::Cron: break;
  }
  return std::nullopt;
}

std::optional<Duration> Engine::period(ServiceId id) const {
  return period_of(graph_->at(id).schedule, graph_->settings->cycle_length());
}

std::optional<Duration> Engine::next_run(ServiceId id, Instant now) const {
  const ServiceState& state = services_[id.index()];
  if (!state.due) return std::nullopt;
  const Duration until = std::max(*state.due - now.mono, Duration{0});
  if (state.schedule != Schedule::Kind::Cron) return until;
  // That is when a cron schedule is looked at next, not when it matches.
  const std::optional<WallTime> at =
      next_match(graph_->at(id).schedule.cron, now.wall + until, state.cron_minute, civil_);
  if (!at) return std::nullopt;
  return *at - now.wall;
}

std::uint64_t Engine::cycle(Instant now) const {
  const Duration since = now.mono - started_at_.mono - graph_->settings->start_delay;
  if (!running_ || since < Duration{0}) return 0;
  return static_cast<std::uint64_t>(since / graph_->settings->cycle_length()) + 1;
}

void Engine::schedule(ServiceId id, Duration due) {
  services_[id.index()].due = due;
  wheel_.add(id, due);
}

Duration Engine::grid_after(ServiceId id, Duration now) const {
  const Duration first = services_[id.index()].first;
  const Duration step = std::max<Duration>(services_[id.index()].period, milliseconds{1});
  if (now < first) return first;
  return first + ((now - first) / step + 1) * step;
}

void Engine::begin(ServiceId id, Duration first) {
  ServiceState& state = services_[id.index()];
  state.first = first;
  if (state.monitored) schedule(id, first);
}

/// Whether its periods go on as they were where healer is restarted: what runs each cycle, or by the calendar, needs
/// no memory of that.
bool Engine::keeps_phase(ServiceId id) const {
  const Schedule& schedule = graph_->at(id).schedule;
  return schedule.kind == Schedule::Kind::Interval || (schedule.kind == Schedule::Kind::Cycles && schedule.cycles > 1);
}

/// The next run of a service whose periods an earlier daemon began; false: there is no such. Whether its process lives
/// is looked at when `first` has come, without counting that.
bool Engine::go_on_in_phase(ServiceId id, Duration first) {
  const ServiceState& state = services_[id.index()];
  if (state.first == Duration{0}) return false;
  if (!state.monitored) return true;
  schedule(id, grid_after(id, first));
  if (graph_->at(id).has_process()) look_later(id, Reason::Again, first);
  return true;
}

/// After a change of its period: the next run keeps the shorter of both periods to the last one, so that no reload
/// makes two runs count as two cycles that were none.
void Engine::reschedule(ServiceId id, std::optional<Duration> period_before, Instant now) {
  const std::optional<Duration> due = services_[id.index()].due;
  if (!running_ || !due) return;
  const std::optional<Duration> period_now = period(id);
  if (!period_before || !period_now) return schedule_next(id, now);
  const Duration last = *due - *period_before;
  schedule(id, grid_after(id, std::max(now.mono, last + std::min(*period_before, *period_now) - milliseconds{1})));
}

void Engine::schedule_next(ServiceId id, Instant now) {
  const bool cron = services_[id.index()].schedule == Schedule::Kind::Cron;
  schedule(id, cron ? now.mono + (next_candidate(graph_->at(id).schedule.cron, now.wall, civil_) - now.wall)
                    : grid_after(id, now.mono));
}

void Engine::on(const event::Wake&, Turn& turn) {
  if (!running_) return;
  const Instant now = turn.now;
  note_doubts(turn);
  // A step of the wall clock moves the minutes that cron schedules wait for.
  const Duration offset = now.wall.time_since_epoch() - now.mono;
  if (std::chrono::abs(offset - clock_offset_) > seconds{1}) {
    clock_offset_ = offset;
    for (const ServiceId id : graph_->order)
      if (services_[id.index()].due && graph_->at(id).schedule.kind == Schedule::Kind::Cron) schedule(id, now.mono);
  }
  due_.clear();
  wheel_.take_due(now.mono, due_);
  for (const Wheel::Entry& entry : due_) {
    if (entry.service.index() >= services_.size() || services_[entry.service.index()].due != entry.due) continue;
    run_due(entry.service, turn);
  }
  wake_jobs(turn);
  wake_healings(turn);
  wake_looks(turn);
  sum_up_overruns(turn);
  warn_long_actions(turn);
}

void Engine::run_due(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const WallTime wall = turn.now.wall;
  schedule_next(id, turn.now);

  if (state.schedule == Schedule::Kind::Cron) {
    if (!due_in_minute(graph_->at(id).schedule.cron, wall, state.cron_minute, civil_)) return;
    state.cron_minute = minute_of(wall);
    turn.save(id);
  } else if (state.schedule == Schedule::Kind::NotCron && graph_->at(id).schedule.cron.matches(civil_(wall))) {
    return;
  }
  if (is_settling(state, turn.now)) return;  // the look at the end of that serves as this run
  if (state.job) return;                     // neither run nor counted while it is started or stopped
  if (state.flight && graph_->at(id).has_members()) end_composite_run(id, turn);  // whatever it waits for
  if (!state.monitored || state.job) return;
  if (!state.flight) {
    start_run(id, !counted_death(state, turn.now), Reason::Schedule, turn);
  } else if (!state.counted) {
    // A run that was asked for, still under way: it serves as the scheduled one.
    state.counted = !counted_death(state, turn.now);
    if (state.counted) state.counted_at = turn.now.mono;
  } else {
    ++state.overruns;
    leave_out(id, turn);
  }
}

/// Told when it begins; then it is counted, for many services may be late at every cycle.
void Engine::leave_out(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!late_at_) late_at_ = turn.now.mono + kLatePause;
  if (state.left_out) {
    ++*state.left_out;
    return;
  }
  state.left_out = 1;
  late_.insert(id);
  ++newly_late_;
  turn.record(RecordKind::RunOverrun, Severity::Warning, graph_->at(id).name,
              fmt::format("the previous run has not finished after {}: this run is skipped",
                          format_duration(turn.now.mono - state.flight_started)));
}

/// Once a minute, as long as runs are left out. A service of which none was in a whole minute is in time again.
void Engine::sum_up_overruns(Turn& turn) {
  if (!late_at_ || turn.now.mono < *late_at_) return;
  std::uint64_t runs = 0, services = 0;
  for (auto late = late_.begin(); late != late_.end();) {
    auto& left_out = services_[late->index()].left_out;  // none: it has gone
    if (!left_out || *left_out == 0) {
      left_out.reset();
      late = late_.erase(late);
      continue;
    }
    runs += std::exchange(*left_out, 0);
    ++services;
    ++late;
  }
  if (runs > newly_late_)
    turn.record(RecordKind::RunOverrun, Severity::Warning, {},
                fmt::format("in the last {} {} runs of {} service{} were skipped: the previous runs had not finished",
                            format_duration(kLatePause), runs, services, services == 1 ? "" : "s"));
  newly_late_ = 0;
  late_at_.reset();
  if (!late_.empty()) late_at_ = turn.now.mono + kLatePause;
}

void Engine::start_run(ServiceId id, bool counted, Reason reason, Turn& turn) {
  ServiceState& state = services_[id.index()];
  state.flight = RunId{next_run_++};
  state.flight_waits.clear();
  state.counted = counted;
  if (counted) state.counted_at = turn.now.mono;
  state.reason = reason;
  state.flight_started = turn.now.mono;
  state.overruns = 0;
  state.awaited = 0;
  if (graph_->at(id).has_members())
    composites_due_.emplace(graph_->ranks[id.index()], id);  // when its members have begun theirs
  else
    ask(id, *state.flight, turn);
}

void Engine::on(const event::RunWaits& event, Turn& turn) {
  if (event.service.index() >= services_.size()) return;
  ServiceState& state = services_[event.service.index()];
  if (state.flight != event.run) return;
  state.flight_waits = event.why;
  if (event.why.empty()) return;
  // What one lacks, many lack, and for as long as it lasts: it is told again when it has been well for a while.
  const bool known = lack_noted_ && turn.now.mono - *lack_noted_ < kLackPause;
  lack_noted_ = turn.now.mono;
  if (known) return;
  turn.note(Severity::Warning, graph_->at(event.service).name,
            fmt::format("its program waits to be started: {}", event.why));
}

void Engine::cancel_flight(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.flight) return;
  turn.sink.emit(effect::CancelRun{id, *state.flight});
  state.flight.reset();
  tell_owners(id);
}

}  // namespace healer::engine
