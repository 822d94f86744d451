// SPDX-License-Identifier: MIT
#include "engine/timing/cron.hpp"
#include "engine/rules/rule_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "support/engine_world.hpp"
#include "support/rounds.hpp"

namespace cron_test {

using namespace healer;
using namespace healer::test;

namespace {

constexpr CronSpec kAlways{.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF};
const WallTime kStart = World::kStart.wall;  // Saturday 2026-11-21 04:24:00 UTC

CronSpec at(int hour, int minute) {
  CronSpec spec = kAlways;
  spec.hours = 1U << hour;
  spec.minutes = 1ULL << minute;
  return spec;
}

/// A zone of `before` until `change`, and of `after` from then on.
CivilClock zone(WallTime change, seconds before, seconds after) {
  return [=](WallTime when) {
    const seconds offset = when < change ? before : after;
    CivilTime civil = utc_civil(when + offset);
    civil.offset = offset;
    return civil;
  };
}

/// What next_match is to find, minute by minute.
std::optional<WallTime> search(const CronSpec& spec, WallTime from, std::optional<std::int64_t> last,
                               const CivilClock& civil, Duration span) {
  if (due_in_minute(spec, from, last, civil)) return from;
  for (WallTime at = std::chrono::floor<minutes>(from) + minutes{1}; at < from + span; at += minutes{1})
    if (due_in_minute(spec, at, last, civil)) return at;
  return std::nullopt;
}

std::string shown(std::optional<WallTime> when) { return when ? format_iso(*when) : "never"; }

}  // namespace

TEST_CASE("the next match of a cron schedule is found, however far", "[engine]") {
  const auto next = [](const CronSpec& spec, WallTime from = kStart) {
    return shown(next_match(spec, from, std::nullopt, utc_civil));
  };
  CHECK(next(kAlways) == "2026-11-21T04:24:00.000Z");
  CHECK(next(kAlways, kStart + milliseconds{1}) == "2026-11-21T04:24:00.001Z");
  CHECK(next(at(4, 24), kStart + minutes{1}) == "2026-11-22T04:24:00.000Z");
  CHECK(next(at(23, 59)) == "2026-11-21T23:59:00.000Z");
  CHECK(next(at(0, 0)) == "2026-11-22T00:00:00.000Z");
  CronSpec workdays = at(8, 0);
  workdays.weekdays = 0b0111110;
  CHECK(next(workdays) == "2026-11-23T08:00:00.000Z");
  CronSpec yearly = at(3, 30);
  yearly.months = 1U << 11;
  yearly.month_days = 1U << 20;
  CHECK(next(yearly) == "2027-11-20T03:30:00.000Z");
  CronSpec leap = at(0, 0);
  leap.months = 1U << 2;
  leap.month_days = 1U << 29;
  CHECK(next(leap) == "never");  // not within 400 days
  CronSpec never = kAlways;
  never.hours = 0;
  CHECK(next(never) == "never");
}

TEST_CASE("a minute in which the schedule has run is not its next", "[engine]") {
  const auto next = [](const CronSpec& spec, const CivilClock& civil = utc_civil) {
    return shown(next_match(spec, kStart + seconds{10}, minute_of(kStart), civil));
  };
  CHECK(next(kAlways) == "2026-11-21T04:25:00.000Z");
  CHECK(next(at(4, 24)) == "2026-11-22T04:24:00.000Z");
  // In half an hour it is an hour earlier again: what was done in the first of both hours is not done in the second.
  CHECK(next(at(4, 24), zone(kStart + minutes{30}, hours{0}, -hours{1})) == "2026-11-22T05:24:00.000Z");
}

TEST_CASE("the next match is that of a search minute by minute, over changes of local time, at a bounded cost",
          "[engine]") {
  std::mt19937_64 random(11);
  const auto pick = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const auto sparse = [&](int bits, std::int64_t wanted) {
    std::uint64_t mask = 0;
    for (std::int64_t i = 0; i < wanted; ++i) mask |= 1ULL << pick(bits);
    return mask;
  };
  int calls = 0;
  int most = 0;
  for (int round = 0; round < healer::test::rounds(2000); ++round) {
    CronSpec spec = kAlways;
    if (pick(4) != 0) spec.minutes = sparse(60, 1 + pick(3));
    if (pick(3) != 0) spec.hours = static_cast<std::uint32_t>(sparse(24, 1 + pick(3)));
    if (pick(3) == 0) spec.weekdays = static_cast<std::uint8_t>(sparse(7, 1 + pick(2)));
    if (pick(4) == 0) spec.month_days = static_cast<std::uint32_t>(sparse(31, 3) << 1);
    const WallTime from = kStart + seconds{pick(90'000)};
    const seconds before = minutes{30 * (pick(49) - 24)};
    // Clocks are changed at a full hour, by what they showed before.
    const WallTime change = std::chrono::floor<hours>(from + before) - before + hours{pick(96) - 4};
    const CivilClock local = zone(change, before, before + minutes{30 * (pick(5) - 2)});
    const CivilClock counted = [&](WallTime when) {
      ++calls;
      return local(when);
    };
    std::optional<std::int64_t> last;
    if (pick(2) == 0) last = minute_of(from) - pick(100);
    INFO("round " << round);
    calls = 0;
    const std::optional<WallTime> found = next_match(spec, from, last, counted);
    most = std::max(most, calls);
    const std::optional<WallTime> expected = search(spec, from, last, local, days{40});
    if (expected || (found && *found < from + days{40})) CHECK(shown(found) == shown(expected));
  }
  CHECK(most < 300);
}

TEST_CASE("a minute that the clock skips is matched at the first minute after the gap, once", "[engine]") {
  // At 04:00 of the second day it becomes 05:00; and, as on the Chatham Islands, at 04:45 it becomes 05:45.
  const auto check = [](Duration into_hour,
                        const std::vector<std::pair<CronSpec, std::vector<std::string>>>& expected) {
    const WallTime day = std::chrono::floor<days>(kStart) + days{1};
    const CivilClock civil = zone(day + hours{4} + into_hour, seconds{0}, hours{1});
    for (const auto& [spec, wanted] : expected) {
      std::vector<std::string> checked;
      std::vector<std::string> found;
      std::vector<std::string> backwards;
      std::optional<std::int64_t> last;
      for (WallTime at = next_candidate(spec, day, civil); at < day + hours{7}; at = next_candidate(spec, at, civil)) {
        if (!matches_at(spec, at, civil)) continue;
        CHECK(due_in_minute(spec, at, last, civil));
        checked.push_back(format_iso(at).substr(11, 5));
      }
      for (auto at = next_match(spec, day, last, civil); at && *at < day + hours{7};
           at = next_match(spec, *at, last, civil)) {
        last = minute_of(*at);
        found.push_back(format_iso(*at).substr(11, 5));
      }
      for (auto at = last_match(spec, day, day + hours{7}, civil); at;
           at = last_match(spec, day, *at - minutes{1}, civil))
        backwards.insert(backwards.begin(), format_iso(*at).substr(11, 5));
      CHECK(checked == wanted);
      CHECK(found == wanted);
      CHECK(backwards == wanted);
      CHECK(matching_minutes(spec, day, day + hours{7}, civil, 99) == static_cast<int>(wanted.size()));
    }
  };
  CronSpec every_hour = kAlways;
  every_hour.minutes = 1ULL << 50;
  CronSpec thrice = at(4, 30);
  thrice.hours = 1U << 3 | 1U << 4 | 1U << 5;
  CronSpec another_day = at(4, 30);
  another_day.weekdays = 1;
  CronSpec nine_times = at(4, 0);
  nine_times.minutes = 0x1FF;
  const std::vector<std::string> hourly{"00:50", "01:50", "02:50", "03:50", "04:50", "05:50", "06:50"};
  check(Duration{0}, {{at(4, 0), {"04:00"}},  // UTC; there it is 05:00
                      {at(4, 30), {"04:00"}},
                      {at(4, 59), {"04:00"}},
                      {at(5, 0), {"04:00"}},
                      {at(3, 59), {"03:59"}},
                      {at(5, 1), {"04:01"}},
                      {nine_times, {"04:00"}},
                      {thrice, {"03:30", "04:00", "04:30"}},
                      {another_day, {"04:00"}},
                      {every_hour, hourly}});
  check(minutes{45}, {{at(4, 44), {"04:44"}},
                      {at(4, 45), {"04:45"}},
                      {at(5, 44), {"04:45"}},
                      {at(5, 45), {"04:45"}},
                      {at(5, 46), {"04:46"}},
                      {at(4, 50), {"04:45"}},
                      {every_hour, {"00:50", "01:50", "02:50", "03:50", "04:50", "05:50", "06:50"}}});
  another_day.weekdays = 2;
  check(Duration{0}, {{another_day, {}}});
}

TEST_CASE("the next run of a cron service is the next minute that matches", "[engine]") {
  auto block = service("s", {status_rule(Comparison::NotEqual, 0)});
  block->schedule->kind = Schedule::Kind::Cron;
  block->schedule->cron = at(4, 26);
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 0; };
  const auto next = [&] { return world.engine->next_run(world.id("s"), world.now); };
  CHECK_FALSE(next());
  world.start();
  CHECK(next() == minutes{2});
  world.advance(seconds{90});
  CHECK(next() == seconds{30});
  world.advance(seconds{30});
  CHECK(world.engine->service(world.id("s")).runs == 1);
  CHECK(std::ranges::any_of(world.effects, [](const Effect& one) {  // before a kill lets it run twice
    const auto* const saved = std::get_if<effect::Commit>(&one);
    return saved != nullptr && saved->records.empty() && !saved->services.empty() &&
           saved->services[0].second.cron_minute && saved->durability() == effect::Durability::Written;
  }));
  CHECK(next() == days{1});
  world.advance(days{1} - milliseconds{1});
  CHECK(next() == milliseconds{1});
  world.advance(milliseconds{1});
  CHECK(world.engine->service(world.id("s")).runs == 2);
  world.handle(event::Command{CommandId{1}, event::Command::Kind::Unmonitor, {world.id("s")}, ByPerson{"root"}});
  CHECK_FALSE(next());
}

}  // namespace cron_test
