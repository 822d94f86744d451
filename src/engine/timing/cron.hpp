// SPDX-License-Identifier: MIT
// Cron specifications on the wall clock: when they may match next, what matched in a gap, what has run already. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/rules/schedule.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// The minute of the wall clock, counted since the epoch.
[[nodiscard]] inline std::int64_t minute_of(WallTime when) {
  return std::chrono::floor<minutes>(when).time_since_epoch().count();
}

/// Whether the schedule matches in the minute of `when`: its local time does, or it is the first minute after a gap in
/// local time (summer time begins) in which a minute would have matched. The latter goes for what is to be done at
/// certain hours; what is done every hour has lost nothing.
[[nodiscard]] bool matches_at(const CronSpec& cron, WallTime when, const CivilClock& civil);

/// The first minute after that of `after` that may match; no later than the next full hour, so that whoever waits for
/// it notices how local time changes.
[[nodiscard]] WallTime next_candidate(const CronSpec& cron, WallTime after, const CivilClock& civil);

/// When the schedule runs next, not before `from`: `from` itself where a run is due in its minute (see below), else the
/// first later minute in which one is; none within 400 days. Its cost is bounded: few calls of `civil`, whatever the
/// schedule.
[[nodiscard]] std::optional<WallTime> next_match(const CronSpec& cron, WallTime from, std::optional<std::int64_t> last,
                                                 const CivilClock& civil);

/// The last minute that matches: later than `after`, and no later than that of `to`.
[[nodiscard]] std::optional<WallTime> last_match(const CronSpec& cron, WallTime after, WallTime to,
                                                 const CivilClock& civil);

/// How many minutes between two times match, counted no further than `most`.
[[nodiscard]] int matching_minutes(const CronSpec& cron, WallTime from, WallTime to, const CivilClock& civil, int most);

/// Whether a run is due in the minute of `now`, where the last one was in minute `last`: once per matching local minute
/// that occurs. A clock set back by less than an hour repeats nothing; one set back further was wrong before, and the
/// schedule follows it. When summer time ends an hour comes twice: what is to be done at certain hours was done in the
/// first, what is done every hour goes on.
[[nodiscard]] bool due_in_minute(const CronSpec& cron, WallTime now, std::optional<std::int64_t> last,
                                 const CivilClock& civil);

}  // namespace healer::engine
