// SPDX-License-Identifier: MIT
#include "engine/parts/timetable.hpp"

#include <algorithm>
#include <utility>

#include "engine/timing/cron.hpp"

namespace healer::engine {

std::optional<Duration> period_of(const Schedule& schedule, Duration cycle) {
  switch (schedule.kind) {
    case Schedule::Kind::Cycles: return cycle * schedule.cycles;
    case Schedule::Kind::Interval: return schedule.interval;
    case Schedule::Kind::NotCron: return cycle;
    case Schedule::Kind::Cron: break;
  }
  return std::nullopt;
}

Timetable::Timetable(CivilClock civil, Instant now) : civil_(std::move(civil)) {
  set_clock(now);
  due_.reserve(64);
  wheel_.take_due(now.mono, due_);
}

std::optional<Duration> Timetable::next() const {
  std::optional<Duration> next = wheel_.next();
  const auto earlier = [&next](Duration when) { next = next ? std::min(*next, when) : when; };
  if (late_at_) earlier(*late_at_);
  if (!checks_.empty()) earlier(std::get<Duration>(*checks_.begin()));
  return next;
}

std::optional<Duration> Timetable::until_next(ServiceId id, const Schedule& schedule, Instant now) const {
  const Times& times = times_[id.index()];
  if (!times.due) return std::nullopt;
  const Duration until = std::max(*times.due - now.mono, Duration{0});
  if (times.kind != Schedule::Kind::Cron) return until;
  // That is when a cron schedule is looked at next, not when it matches.
  const std::optional<WallTime> at = next_match(schedule.cron, now.wall + until, times.irregular->minute, civil_);
  if (!at) return std::nullopt;
  return *at - now.wall;
}

// ---- times --------------------------------------------------------------------------------------------------------

void Timetable::put(ServiceId id, Duration due) {
  times_[id.index()].due = due;
  wheel_.add(id, due);
}

void Timetable::put_next(ServiceId id, const Schedule& schedule, Instant now) {
  const bool cron = times_[id.index()].kind == Schedule::Kind::Cron;
  put(id, cron ? now.mono + (next_candidate(schedule.cron, now.wall, civil_) - now.wall) : grid_after(id, now.mono));
}

Duration Timetable::grid_after(ServiceId id, Duration now) const {
  const Duration first = times_[id.index()].first;
  const Duration step = std::max<Duration>(times_[id.index()].period, milliseconds{1});
  if (now < first) return first;
  return first + ((now - first) / step + 1) * step;
}

void Timetable::adopt(ServiceId id, const Schedule& schedule, Duration cycle) {
  times_[id.index()].kind = schedule.kind;
  times_[id.index()].period = period_of(schedule, cycle).value_or(Duration{0});
}

void Timetable::restore(ServiceId id, std::optional<std::int64_t> minute, std::optional<Duration> first) {
  set(id, &Irregular::minute, minute);
  if (first) times_[id.index()].first = *first;
}

void Timetable::begin(ServiceId id, Duration first, bool runs) {
  times_[id.index()].first = first;
  if (runs) put(id, first);
}

void Timetable::reschedule(ServiceId id, const Schedule& schedule, std::optional<Duration> before,
                           std::optional<Duration> period, Instant now) {
  const std::optional<Duration> due = times_[id.index()].due;
  if (!due) return;
  if (!before || !period) return put_next(id, schedule, now);
  const Duration last = *due - *before;
  go_on(id, std::max(now.mono, last + std::min(*before, *period) - milliseconds{1}));
}

// ---- clock --------------------------------------------------------------------------------------------------------

void Timetable::follow_clock(std::span<const ServiceId> services, Instant now) {
  const Duration before = clock_offset_;
  if (std::chrono::abs(now.wall.time_since_epoch() - now.mono - before) <= seconds{1}) return;
  set_clock(now);
  for (const ServiceId id : services)
    if (times(id).due && times(id).kind == Schedule::Kind::Cron) put(id, now.mono);
}

void Timetable::take_due(Duration now, const std::function<void(ServiceId)>& run) {
  wheel_.take_due(now, due_);
  for (const Wheel::Entry& entry : due_)
    if (entry.service.index() < times_.size() && times(entry.service).due == entry.due) run(entry.service);
  due_.clear();
  if (due_.capacity() > kMostSpare) due_.shrink_to_fit();
}

bool Timetable::turn(ServiceId id, const Schedule& schedule, Instant now) {
  Times& times = times_[id.index()];
  put_next(id, schedule, now);
  if (times.kind == Schedule::Kind::NotCron) return !matches_at(schedule.cron, now.wall, civil_);
  if (times.kind != Schedule::Kind::Cron) return true;
  if (!due_in_minute(schedule.cron, now.wall, times.irregular->minute, civil_)) return false;
  set(id, &Irregular::minute, minute_of(now.wall));
  return true;
}

void Timetable::check_later(ServiceId id, Reason reason, Duration when) { checks_.emplace(when, id, reason); }

std::optional<Timetable::DueCheck> Timetable::take_check(Duration now) {
  if (checks_.empty() || std::get<Duration>(*checks_.begin()) > now) return std::nullopt;
  const auto [when, service, reason] = *checks_.begin();
  checks_.erase(checks_.begin());
  return DueCheck{service, reason};
}

// ---- flights ------------------------------------------------------------------------------------------------------

Flight Timetable::depart(ServiceId id, bool counted, Reason reason, Instant now) {
  Times& times = times_[id.index()];
  if (counted) times.counted_at = now.mono;
  forget_overruns(id);
  return {.run = new_run(), .counted = counted, .reason = reason, .started = now.mono};
}

void Timetable::count(ServiceId id, Flight& flight, Instant now) {
  Times& times = times_[id.index()];
  flight.counted = !times.counted_death(now);
  if (flight.counted) times.counted_at = now.mono;
}

void Timetable::see_death(ServiceId id, Flight& flight, Instant now) {
  flight.reason = Reason::Death;
  if (flight.counted) return;
  count(id, flight, now);
  if (flight.counted) count_death(id, now);
}

bool Timetable::leave_out(ServiceId id, Instant now) {
  Irregular& irregular = times_[id.index()].irregular.edit();
  ++irregular.overruns;
  if (!late_at_) late_at_ = now.mono + kLatePause;
  if (irregular.left_out) {
    ++*irregular.left_out;
    return false;
  }
  irregular.left_out = 1;
  late_.insert(id);
  ++newly_late_;
  return true;
}

std::optional<Timetable::Overruns> Timetable::sum_up(Instant now) {
  if (!late_at_ || now.mono < *late_at_) return std::nullopt;
  Overruns sum;
  for (auto late = late_.begin(); late != late_.end();) {
    const auto left_out = times_[late->index()].irregular->left_out;  // none: it has gone
    if (!left_out || *left_out == 0) {
      set(*late, &Irregular::left_out, std::nullopt);
      late = late_.erase(late);
      continue;
    }
    sum.runs += *left_out;
    set(*late, &Irregular::left_out, 0);
    ++sum.services;
    ++late;
  }
  const bool changes = sum.runs > std::exchange(newly_late_, 0);
  late_at_.reset();
  if (!late_.empty()) late_at_ = now.mono + kLatePause;
  return changes ? std::optional(sum) : std::nullopt;
}

bool Timetable::note_lack(Instant now) {
  const bool known = lack_noted_ && now.mono - *lack_noted_ < kLackPause;
  lack_noted_ = now.mono;
  return !known;
}

}  // namespace healer::engine
