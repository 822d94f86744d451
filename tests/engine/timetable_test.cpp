// SPDX-License-Identifier: MIT
// When services run: the grid, calendars, looks, and runs that are late; by the timetable alone.
#include <vector>

#include <catch2/catch.hpp>

#include "engine/parts/timetable.hpp"

namespace timetable_test {

using namespace healer;
using namespace healer::engine;

namespace {

constexpr ServiceId kOne{0};
constexpr ServiceId kTwo{1};
constexpr Duration kCycle = seconds{5};
constexpr Instant kStart{.boot = 7, .mono = hours{1}, .wall = WallTime{seconds{1'795'235'040}}};  // a full minute

Instant at(Duration since) { return {kStart.boot, kStart.mono + since, kStart.wall + since}; }

/// Two services that run each cycle.
struct Two : Timetable {
  Two() : Timetable(utc_civil, kStart) {
    resize(2);
    for (const ServiceId id : {kOne, kTwo}) adopt(id, schedule, kCycle);
  }

  /// Who is due then, each put to its next time.
  std::vector<ServiceId> due(Duration since) {
    std::vector<ServiceId> services;
    take_due(at(since).mono, [&](ServiceId id) {
      if (turn(id, schedule, at(since))) services.push_back(id);
    });
    return services;
  }

  Schedule schedule;
};

using Services = std::vector<ServiceId>;

}  // namespace

TEST_CASE("timetable: the k-th run is due k periods after the first, however late one is") {
  Two table;
  table.begin(kOne, at(seconds{1}).mono, true);
  table.begin(kTwo, at(seconds{2}).mono, false);
  CHECK(table.next() == at(seconds{1}).mono);
  CHECK(table.due(Duration{999}).empty());
  CHECK(table.due(seconds{1}) == Services{kOne});
  CHECK(table.due(milliseconds{6700}) == Services{kOne});
  CHECK(table.times(kOne).due == at(seconds{11}).mono);
  CHECK(table.due(seconds{32}) == Services{kOne});  // once, whatever has gone by
  CHECK(table.until_next(kOne, table.schedule, at(seconds{32})) == seconds{4});
  CHECK_FALSE(table.until_next(kTwo, table.schedule, at(seconds{32})));
}

TEST_CASE("timetable: what one that is due does to another behind it holds") {
  Two table;
  table.begin(kOne, at(seconds{1}).mono, true);
  table.begin(kTwo, at(seconds{1}).mono, true);
  Services ran;
  table.take_due(at(seconds{1}).mono, [&](ServiceId id) {
    ran.push_back(id);
    table.stop(kTwo);
  });
  CHECK(ran == Services{kOne});
  table.forget(kOne);
  CHECK(table.due(minutes{1}).empty());
}

TEST_CASE("timetable: no reload makes two runs count as two periods that were none") {
  Two table;
  table.begin(kOne, at(seconds{0}).mono, true);
  REQUIRE(table.due(seconds{0}) == Services{kOne});
  Schedule rare = table.schedule;
  rare.cycles = 12;
  table.adopt(kOne, rare, kCycle);
  table.reschedule(kOne, rare, kCycle, minutes{1}, at(seconds{1}));
  CHECK(*table.times(kOne).due >= at(seconds{5}).mono);
  table.adopt(kOne, table.schedule, kCycle);
  table.reschedule(kOne, table.schedule, minutes{1}, kCycle, at(seconds{2}));
  CHECK(*table.times(kOne).due >= at(seconds{5}).mono);
}

TEST_CASE("timetable: a calendar's minute runs once, also where the wall clock is set back") {
  Two table;
  table.schedule.kind = Schedule::Kind::Cron;
  table.schedule.cron = {.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF};
  table.adopt(kOne, table.schedule, kCycle);
  table.begin(kOne, kStart.mono, true);
  CHECK(table.due(Duration{0}) == Services{kOne});
  CHECK(table.due(seconds{59}).empty());
  CHECK(table.due(seconds{60}) == Services{kOne});
  Instant back = at(seconds{70});
  back.wall -= seconds{10};
  const Services all{kOne};
  table.follow_clock(all, back);
  Services ran;
  table.take_due(back.mono, [&](ServiceId id) {
    if (table.turn(id, table.schedule, back)) ran.push_back(id);
  });
  CHECK(ran.empty());
}

TEST_CASE("timetable: a look comes once, at its time, in the order of times") {
  Two table;
  table.check_later(kTwo, Reason::Again, at(seconds{2}).mono);
  table.check_later(kTwo, Reason::Again, at(seconds{2}).mono);
  table.check_later(kOne, Reason::Death, at(seconds{1}).mono);
  CHECK(table.next() == at(seconds{1}).mono);
  CHECK_FALSE(table.take_check(kStart.mono));
  const auto first = table.take_check(at(seconds{2}).mono);
  REQUIRE(first);
  CHECK(first->service == kOne);
  CHECK(first->reason == Reason::Death);
  CHECK(table.take_check(at(seconds{2}).mono)->service == kTwo);
  CHECK_FALSE(table.take_check(hours{9}));
}

TEST_CASE("timetable: a death counts once a period, and a flight is whole from its beginning") {
  Two table;
  const Flight flight = table.depart(kOne, false, Reason::Death, at(seconds{1}));
  CHECK(flight.started == at(seconds{1}).mono);
  CHECK_FALSE(table.times(kOne).counted_at);
  Flight other = table.depart(kTwo, false, Reason::Asked, at(seconds{1}));
  CHECK(other.run != flight.run);
  table.count(kTwo, other, at(seconds{2}));
  CHECK(other.counted);
  CHECK(table.times(kTwo).counted_at == at(seconds{2}).mono);
  table.count_death(kTwo, at(seconds{2}));
  table.count(kTwo, other, at(seconds{3}));
  CHECK_FALSE(other.counted);
  CHECK(table.times(kTwo).counted_death(at(seconds{6})));
  CHECK_FALSE(table.times(kTwo).counted_death(at(seconds{7})));
}

TEST_CASE("timetable: of runs that are left out the first is told, the others are summed up in a minute") {
  Two table;
  CHECK(table.leave_out(kOne, at(seconds{5})));
  CHECK_FALSE(table.leave_out(kOne, at(seconds{10})));
  CHECK(table.leave_out(kTwo, at(seconds{10})));
  CHECK_FALSE(table.sum_up(at(seconds{64})));
  const auto sum = table.sum_up(at(seconds{65}));
  REQUIRE(sum);
  CHECK(sum->runs == 3);
  CHECK(sum->services == 2);
  CHECK(table.times(kOne).irregular->overruns == 2);
  CHECK_FALSE(table.sum_up(at(seconds{125})));     // none in a whole minute: in time again
  CHECK(table.leave_out(kOne, at(seconds{130})));  // and told anew
  CHECK(table.depart(kOne, true, Reason::Schedule, at(seconds{131})).counted);
  CHECK(table.times(kOne).irregular->overruns == 0);
}

}  // namespace timetable_test
