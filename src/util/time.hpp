// SPDX-License-Identifier: MIT
// Time as healer sees it. Nothing here reads a clock: an Instant is always handed in, which is what makes
// simulation, replay and property tests possible.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace healer {

using Duration = std::chrono::milliseconds;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// A point on the wall clock, UTC, milliseconds since the epoch.
using WallTime = std::chrono::sys_time<milliseconds>;

/// Now, as three readings taken together. `boot` names the running kernel (a hash of its boot id), `mono` is
/// the time since that boot (CLOCK_BOOTTIME: it goes on while the machine sleeps), `wall` the wall clock.
/// Two `mono` values may be compared only where their `boot` is the same.
struct Instant {
  std::uint64_t boot = 0;
  Duration mono{0};
  WallTime wall{};

  bool operator==(const Instant&) const = default;
};

/// Local calendar time. `weekday` 0 is Sunday; `offset` is local time minus UTC.
struct CivilTime {
  int year = 1970;
  int month = 1;
  int day = 1;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int weekday = 4;
  seconds offset{0};

  bool operator==(const CivilTime&) const = default;
};

/// Turns wall time into local civil time; the real one asks the time zone, a test hands in its own.
using CivilClock = std::function<CivilTime(WallTime)>;

/// Civil time in UTC.
[[nodiscard]] CivilTime utc_civil(WallTime when);

/// "90 ms", "1.5 s", "2 m 5 s", "3 h 2 m", "4 d 1 h": short, for people, rounded to what matters.
[[nodiscard]] std::string format_duration(Duration duration);

/// The reverse of format_duration, generously: one or more numbers with units, "90 s", "2h", "1.5 hours",
/// "1 d 2 h"; units ms, s, sec(onds), m, min(utes), h, hours, d, days, w, weeks, in any case. Nothing where the text is
/// something else, negative, or beyond ten thousand years.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

/// "2026-11-21 04:19:24.123" of a civil time; `fraction` are the milliseconds, left out where negative.
[[nodiscard]] std::string format_civil(const CivilTime& civil, int fraction_ms = -1);

/// "Sat, 21 Nov 2026 04:19:24": the form of MONIT_DATE.
[[nodiscard]] std::string format_monit_date(const CivilTime& civil);

/// "2026-11-21T04:19:24.123Z": the form of every JSON answer.
[[nodiscard]] std::string format_iso(WallTime when);

/// The reverse of format_iso; nothing where the text is not of that form.
[[nodiscard]] std::optional<WallTime> parse_iso(std::string_view text);

/// The milliseconds within the second of `when`, 0..999.
[[nodiscard]] int subsecond_ms(WallTime when);

}  // namespace healer
