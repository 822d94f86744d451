// SPDX-License-Identifier: MIT
#include "engine/timing/cron.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace healer::engine {
namespace {

constexpr std::uint64_t kAllMinutes = (1ULL << 60) - 1;
constexpr std::uint32_t kAllHours = (1U << 24) - 1;
constexpr days kHorizon{400};
/// More than local time ever jumps, but for zones that move over the date line.
constexpr hours kMostJump{3};

bool every_hour(const CronSpec& cron) { return (cron.hours & kAllHours) == kAllHours; }

/// Whether any minute of the hour may match.
bool hour_matches(CronSpec cron, CivilTime civil) {
  cron.minutes = 1;
  civil.minute = 0;
  return cron.matches(civil);
}

bool day_matches(const CronSpec& cron, std::chrono::local_days date) {
  const std::chrono::year_month_day day{date};
  return (cron.month_days >> static_cast<unsigned>(day.day()) & 1U) != 0 &&
         (cron.months >> static_cast<unsigned>(day.month()) & 1U) != 0 &&
         (cron.weekdays >> std::chrono::weekday{date}.c_encoding() & 1U) != 0;
}

std::chrono::local_days date_of(const CivilTime& civil) {
  return std::chrono::local_days{std::chrono::year{civil.year} / civil.month / civil.day};
}

/// `matches_at`, where the local time of `when` is known.
bool matches_there(const CronSpec& cron, WallTime when, const CivilTime& local, const CivilClock& civil) {
  if (cron.matches(local)) return true;
  if (every_hour(cron)) return false;
  // Of none of the hours that can have been skipped: the clock need not be asked.
  bool wanted = false;
  for (int back = 0; back <= kMostJump.count(); ++back)
    wanted = wanted || (cron.hours >> static_cast<unsigned>((local.hour + 24 - back) % 24) & 1U) != 0;
  if (!wanted) return false;
  const WallTime minute = std::chrono::floor<minutes>(when);
  const seconds before = civil(minute - minutes{1}).offset;
  if (local.offset - before > kMostJump) return false;
  for (seconds skipped = before; skipped < local.offset; skipped += minutes{1})
    if (cron.matches(utc_civil(minute + skipped))) return true;
  return false;
}

/// The minute between `from` and `to`, not `from` itself, in which local time jumps; `to` where it does not.
WallTime jump_between(WallTime from, seconds offset, WallTime to, const CivilClock& civil) {
  if (civil(to).offset == offset) return to;
  while (to - from > minutes{1}) {
    const WallTime middle = from + std::chrono::floor<minutes>((to - from) / 2);
    (civil(middle).offset == offset ? from : to) = middle;
  }
  return to;
}

/// The first full minute after `at`, in the same hour if that may match, that may match; else the next full hour, or
/// the minute before it in which local time jumps.
WallTime next_in_hour(const CronSpec& cron, WallTime at, const CivilTime& local, const CivilClock& civil) {
  const int left = 60 - local.minute;
  const int wait = std::countr_zero(cron.minutes >> (local.minute + 1)) + 1;
  const WallTime minute = std::chrono::floor<minutes>(at);
  return jump_between(minute, local.offset, minute + minutes{hour_matches(cron, local) ? std::min(wait, left) : left},
                      civil);
}

/// The reverse: the minute before `at`, a full one, or where its hour does not match the last one of another hour; no
/// earlier than that before a jump of local time.
WallTime back_in_hour(const CronSpec& cron, WallTime at, const CivilTime& local, const CivilClock& civil) {
  if (hour_matches(cron, local)) return at - minutes{1};
  WallTime before = at - minutes{local.minute + 1};
  if (const seconds offset = civil(before).offset; offset != local.offset) {
    const WallTime jump = jump_between(before, offset, at, civil);
    before = jump == at ? at - minutes{1} : jump;
  }
  return before;
}

}  // namespace

bool matches_at(const CronSpec& cron, WallTime when, const CivilClock& civil) {
  return matches_there(cron, when, civil(when), civil);
}

WallTime next_candidate(const CronSpec& cron, WallTime after, const CivilClock& civil) {
  const WallTime next = std::chrono::floor<minutes>(after) + minutes{1};
  const CivilTime local = civil(next);
  if (matches_there(cron, next, local, civil) || hour_matches(cron, local)) return next;
  return jump_between(next, local.offset, next + minutes{(60 - local.minute) % 60}, civil);
}

int matching_minutes(const CronSpec& cron, WallTime from, WallTime to, const CivilClock& civil, int most) {
  int found = 0;
  for (WallTime at = next_candidate(cron, from, civil); at < to && found < most; at = next_candidate(cron, at, civil))
    if (matches_at(cron, at, civil)) ++found;
  return found;
}

std::optional<WallTime> last_match(const CronSpec& cron, WallTime after, WallTime to, const CivilClock& civil) {
  for (WallTime at = std::chrono::floor<minutes>(to); at > after;) {
    const CivilTime local = civil(at);
    if (matches_there(cron, at, local, civil)) return at;
    at = back_in_hour(cron, at, local, civil);
  }
  return std::nullopt;
}

std::optional<WallTime> next_match(const CronSpec& cron, WallTime from, std::optional<std::int64_t> last,
                                   const CivilClock& civil) {
  if ((cron.minutes & kAllMinutes) == 0 || (cron.hours & kAllHours) == 0) return std::nullopt;
  // The calendar leaves out the days that cannot match; of the others the clock is asked hour by hour.
  const CivilTime local = civil(from);
  const std::chrono::local_days today = date_of(local);
  WallTime at = from;
  for (std::chrono::local_days date = today - days{1}; date < today + kHorizon; date += days{1}) {
    if (!day_matches(cron, date)) continue;
    at = std::max(at, WallTime{date.time_since_epoch() - local.offset - kMostJump});
    const WallTime end{date.time_since_epoch() + days{1} - local.offset + kMostJump};
    for (CivilTime there = civil(at); at < end; there = civil(at)) {
      if (matches_there(cron, at, there, civil) && due_in_minute(cron, at, last, civil)) return at;
      at = next_in_hour(cron, at, there, civil);
    }
  }
  return std::nullopt;
}

bool due_in_minute(const CronSpec& cron, WallTime now, std::optional<std::int64_t> last, const CivilClock& civil) {
  const CivilTime local = civil(now);
  if (!matches_there(cron, now, local, civil)) return false;
  const std::int64_t minute = minute_of(now);
  if (!last || minute < *last - 60) return true;
  if (minute <= *last) return false;
  if (every_hour(cron)) return true;
  const seconds offset = civil(WallTime{minutes{*last}}).offset;
  return minutes{minute} + local.offset > minutes{*last} + offset;
}

}  // namespace healer::engine
