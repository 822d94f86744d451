// SPDX-License-Identifier: MIT
#include "engine/cron.hpp"

#include <utility>

namespace healer::engine {
namespace {

bool every_hour(const CronSpec& cron) { return (cron.hours & 0xFFFFFFU) == 0xFFFFFFU; }

/// Whether any minute of the hour may match.
bool hour_matches(CronSpec cron, CivilTime civil) {
  cron.minutes = 1;
  civil.minute = 0;
  return cron.matches(civil);
}

}  // namespace

WallTime next_candidate(const CronSpec& cron, WallTime after, const CivilClock& civil) {
  const WallTime next = std::chrono::floor<minutes>(after) + minutes{1};
  const CivilTime local = civil(next);
  return hour_matches(cron, local) ? next : next + minutes{(60 - local.minute) % 60};
}

int matching_minutes(const CronSpec& cron, WallTime from, WallTime to, const CivilClock& civil, int most) {
  int found = 0;
  for (WallTime at = next_candidate(cron, from, civil); at < to && found < most; at = next_candidate(cron, at, civil))
    if (cron.matches(civil(at))) ++found;
  return found;
}

bool due_in_minute(const CronSpec& cron, WallTime now, std::optional<std::int64_t> last, const CivilClock& civil) {
  const CivilTime local = civil(now);
  if (!cron.matches(local)) return false;
  const std::int64_t minute = minute_of(now);
  if (!last || minute < *last - 60) return true;
  if (minute <= *last) return false;
  if (every_hour(cron)) return true;
  const seconds offset = civil(WallTime{minutes{*last}}).offset;
  return minutes{minute} + local.offset > minutes{*last} + offset;
}

}  // namespace healer::engine
