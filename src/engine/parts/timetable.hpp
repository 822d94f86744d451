// SPDX-License-Identifier: MIT
// When services run, and what a run under way is.
//
// All due times lie on a grid that starts with the daemon, so cycles keep a fixed rate and nothing drifts. Pure: told
// the time, a timetable says what is due. Whether that is run is the engine's to say.
//
//   times  of one service: begin() --turn() at each due time--> stop(); by whole periods, or the minutes of a calendar
//   look   a run beside them, for a reason: once, whoever asks for it
//   flight a run under way; one a service at most. What falls due meanwhile is left out, and summed up once a minute
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "engine/ids.hpp"
#include "engine/rules/schedule.hpp"
#include "engine/timing/wheel.hpp"
#include "util/slim.hpp"
#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// Why a service runs.
enum class Reason : std::uint8_t {
  Schedule,
  Asked,   ///< by a person (validate)
  Death,   ///< its process has died
  Again,   ///< what was held back is tried again
  Member,  ///< of a composite: a member has changed
  Healing  ///< before its target is healed, and to see whether it has recovered
};

/// A run under way.
struct Flight {
  RunId run;
  bool counted = true;
  Reason reason = Reason::Schedule;
  Duration started{0};        ///< mono
  std::string waits{};        ///< why its program is not started yet; or empty
  std::uint32_t awaited = 0;  ///< of a composite: the member that it waits for, by its index
};

/// What the times of few services have.
struct Irregular {
  std::uint32_t overruns = 0;             ///< runs that were left out, in a row
  std::optional<std::uint32_t> left_out;  ///< runs in this minute; none: its runs are done in time
  Slim<std::int64_t> minute;              ///< the last in which a cron schedule ran, since the epoch
  Slim<Duration> death_count;             ///< mono: of the last run that counted because its process had died

  bool operator==(const Irregular&) const = default;
};

/// When one service runs.
struct Times {
  Schedule::Kind kind = Schedule::Kind::Cycles;
  Duration period{0};         ///< 0: cron
  Duration first{0};          ///< mono time of its first run; 0: not begun
  Slim<Duration> due;         ///< mono time of the next run; none: not scheduled
  Slim<Duration> counted_at;  ///< mono: of the last run that counted
  Sparse<Irregular> irregular;

  /// Whether a death was counted less than a period ago.
  [[nodiscard]] bool counted_death(Instant now) const {
    return irregular->death_count && now.mono - *irregular->death_count < period;
  }
  /// Whether a period has gone by since a run was counted.
  [[nodiscard]] bool missed_count(Instant now) const { return counted_at && now.mono - *counted_at >= period; }
};

/// The time between two runs; none for a cron schedule.
[[nodiscard]] std::optional<Duration> period_of(const Schedule& schedule, Duration cycle);

class Timetable {
 public:
  Timetable(CivilClock civil, Instant now);

  [[nodiscard]] const Times& times(ServiceId id) const { return times_[id.index()]; }
  /// Mono: when something is due next; none: nothing is.
  [[nodiscard]] std::optional<Duration> next() const;
  /// The time until the next run of a service; none where it is not scheduled, or runs in no minute of the next year.
  [[nodiscard]] std::optional<Duration> until_next(ServiceId id, const Schedule& schedule, Instant now) const;

  // ---- times
  void resize(std::size_t services) { times_.resize(services); }
  /// As if the service had never been known.
  void forget(ServiceId id) { times_[id.index()] = {}; }
  /// Its rules say `schedule` from now on.
  void adopt(ServiceId id, const Schedule& schedule, Duration cycle);
  /// What an earlier daemon has known of it.
  void restore(ServiceId id, std::optional<std::int64_t> minute, std::optional<Duration> first);
  /// Its periods begin with `first`. It is due then, where it `runs` at all.
  void begin(ServiceId id, Duration first, bool runs);
  /// Its periods go on, from `after` on.
  void go_on(ServiceId id, Duration after) { put(id, grid_after(id, after)); }
  void stop(ServiceId id) { times_[id.index()].due.reset(); }
  /// After a change of its period: the next run keeps the shorter of both periods to the last one, so that no reload
  /// makes two runs count as two cycles that were none.
  void reschedule(ServiceId id, const Schedule& schedule, std::optional<Duration> before,
                  std::optional<Duration> period, Instant now);

  // ---- clock
  /// A step of the wall clock moves the minutes that cron schedules wait for: those of `services` are looked at anew.
  void follow_clock(std::span<const ServiceId> services, Instant now);
  /// The wall clock less the steady one, as it was last heeded.
  [[nodiscard]] Duration clock_offset() const { return clock_offset_; }
  void set_clock(Instant now) { clock_offset_ = now.wall.time_since_epoch() - now.mono; }
  /// Tells of each service that is due. What one changes for those behind it holds.
  void take_due(Duration now, const std::function<void(ServiceId)>& run);
  /// A service is due: it is put to the next time. Whether its schedule has it run now.
  [[nodiscard]] bool turn(ServiceId id, const Schedule& schedule, Instant now);

  // ---- looks
  struct DueCheck {
    ServiceId service;
    Reason reason;
  };
  void check_later(ServiceId id, Reason reason, Duration when);
  /// One that is due, and is not any more.
  [[nodiscard]] std::optional<DueCheck> take_check(Duration now);

  // ---- flights
  /// A number that no run has had.
  [[nodiscard]] RunId new_run() { return RunId{next_run_++}; }
  /// A run begins.
  [[nodiscard]] Flight depart(ServiceId id, bool counted, Reason reason, Instant now);
  /// The flight counts from now on, unless a death was counted just before.
  void count(ServiceId id, Flight& flight, Instant now);
  /// A run that was begun before a death, for whatever reason, is the one that sees it.
  void see_death(ServiceId id, Flight& flight, Instant now);
  /// A run counts because the process has died.
  void count_death(ServiceId id, Instant now) { set(id, &Irregular::death_count, now.mono); }
  /// Its runs are in time, as far as is known.
  void forget_overruns(ServiceId id) { set(id, &Irregular::overruns, 0); }
  /// A run has fallen due while another was under way. True: the first of a row, which is told.
  [[nodiscard]] bool leave_out(ServiceId id, Instant now);
  /// Runs that were left out in a minute, beyond those that were told.
  struct Overruns {
    std::uint64_t runs = 0;
    std::uint64_t services = 0;
  };
  /// Once a minute, as long as runs are left out. A service of which none was in a whole minute is in time again.
  [[nodiscard]] std::optional<Overruns> sum_up(Instant now);

  /// A run waits for what the machine lacks. Whether that is news: what one lacks, many lack, and for as long as it
  /// lasts; it is told again when it has been well for a while.
  [[nodiscard]] bool note_lack(Instant now);

  static constexpr Duration kLatePause{60'000};   ///< between two sums
  static constexpr Duration kLackPause{60'000};   ///< without a run that waits, before it is news again that one does
  static constexpr std::size_t kMostSpare = 256;  ///< services that are due at once, of which the room is kept

 private:
  template <typename Member>
  void set(ServiceId id, Member Irregular::*member, std::type_identity_t<Member> value) {
    times_[id.index()].irregular.set(member, value);
  }
  void put(ServiceId id, Duration due);
  void put_next(ServiceId id, const Schedule& schedule, Instant now);
  [[nodiscard]] Duration grid_after(ServiceId id, Duration now) const;

  CivilClock civil_;
  std::vector<Times> times_;
  Wheel wheel_;
  std::vector<Wheel::Entry> due_;                             // scratch of take_due
  std::set<std::tuple<Duration, ServiceId, Reason>> checks_;  // beside the times
  Duration clock_offset_{0};                                  // wall - mono
  std::set<ServiceId> late_;                                  // the services with Times::left_out
  std::uint32_t newly_late_ = 0;                              // of them, in this minute
  std::optional<Duration> late_at_;     // mono: when what was left out is summed up; none: nothing was
  std::optional<Duration> lack_noted_;  // mono: when a run was last told to wait
  std::uint64_t next_run_ = 1;
};

}  // namespace healer::engine
