// SPDX-License-Identifier: MIT
// What time alone lets go goes on at that very time, however rarely anything is checked, and nothing wakes for nothing.
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_wakes_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;

constexpr Duration kCycle = minutes{10};
constexpr Duration kSoon = milliseconds{100};

/// A fleet that is checked every four hours, and a cycle of ten minutes.
RuleSet rare(const Fleet& fleet, Duration cycle = kCycle) {
  RuleSet rules = fleet_rules(fleet);
  rules.settings.cycle = cycle;
  for (auto& service : rules.services) {
    auto block = std::make_shared<ServiceBlock>(*service);
    block->schedule->kind = Schedule::Kind::Interval;
    block->schedule->interval = hours{4};
    service = block;
  }
  return rules;
}

/// From the twentieth minute after the start on.
Maintenance window(Duration length, std::string group = {}) {
  const int minute = utc_civil(World::kStart.wall + minutes{20}).minute;
  return {.begin = {.minutes = 1ULL << minute, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
          .text = {},
          .length = length,
          .group = std::move(group)};
}

FleetWorld world_of(RuleSet rules, int targets) {
  return FleetWorld(make_graph(std::move(rules)), {}, std::vector<bool>(static_cast<std::size_t>(targets)),
                    World::kStart);
}

/// A person has it checked: it is all that happens.
void check(FleetWorld& world, int target) {
  world.handle(event::Command{.id = CommandId{77},
                              .kind = Kind::Validate,
                              .services = {world.id("n" + std::to_string(target))},
                              .by = ByPerson{"anna"}});
}

void fail(FleetWorld& world, int target) {
  world.fail(target);
  check(world, target);
}

void pause(FleetWorld& world, event::Command command, Duration span) {
  command.id = CommandId{78};
  command.kind = Kind::Pause;
  command.by = ByPerson{"anna"};
  command.until = world.now.wall + span;
  world.handle(command);
}

/// Of a target that is to begin at once, until its try has failed, or it has recovered. When its try began.
Duration heal(FleetWorld& world, int target, bool good) {
  fail(world, target);
  world.pass("guard");
  const Duration begun = world.now.mono;
  world.pass("shutdown");
  if (good) world.heal(target);
  world.wait_for("rebuild");
  world.end_program(good ? 0 : 1);
  world.advance(kSoon);
  return begun;
}

/// How often the engine was woken.
std::size_t wakes(FleetWorld& world, Duration span) {
  std::size_t count = 0;
  world.received = [&](const Event& event) { count += std::holds_alternative<event::Wake>(event) ? 1U : 0U; };
  world.advance(span);
  world.received = nullptr;
  return count;
}

struct Brake {
  std::string reason;  ///< what holds target 0
  Fleet fleet{};
  std::function<Duration(FleetWorld&)> hold;  ///< before target 0 fails: when that is over, in mono time
  std::vector<Maintenance> windows{};
  bool at_start = false;
};

Duration into_window(FleetWorld& world, Duration length) {
  const Duration begins = World::kStart.mono + minutes{20};
  world.advance(begins + seconds{20} - world.now.mono);
  return begins + length;
}

std::vector<Brake> brakes() {
  const auto paused = [](auto command) {
    return [command](FleetWorld& world) {
      pause(world, command(world), seconds{28});
      return world.now.mono + seconds{28};
    };
  };
  return {
      {.reason = "doubt: healer has just started",
       .hold = [](FleetWorld&) { return World::kStart.mono + kCycle; },
       .at_start = true},
      {.reason = "doubt: the system clock was set",
       .hold =
           [](FleetWorld& world) {
             world.now.wall += minutes{2};
             world.handle(event::Wake{});
             return world.now.mono + kCycle;
           }},
      {.reason = "doubt: healer's own event loop was late",
       .hold =
           [](FleetWorld& world) {
             const Duration late = *world.engine->next_deadline() + seconds{2};
             world.now.wall += late - world.now.mono;
             world.now.mono = late;
             world.handle(event::Wake{});
             return world.now.mono + kCycle;
           }},
      {.reason = "doubt: sentinel, which must be healthy, is paused",
       .fleet = {.sentinel = true},
       .hold = paused([](FleetWorld& world) { return event::Command{.services = {world.id("sentinel")}}; })},
      {.reason = "pause: n0 was paused by anna",
       .hold = paused([](FleetWorld& world) { return event::Command{.services = {world.id("n0")}}; })},
      {.reason = "pause: n0 was paused with group nodes by anna",
       .hold = paused([](FleetWorld&) { return event::Command{.groups = {"nodes"}}; })},
      {.reason = "pause: n0 was paused with everything by anna",
       .hold = paused([](FleetWorld&) { return event::Command{.everything = true}; })},
      {.reason = "pause: maintenance of n0",
       .hold = [](FleetWorld& world) { return into_window(world, minutes{5}); },
       .windows = {window(minutes{5})}},
      {.reason = "pause: maintenance of n0",
       .hold = [](FleetWorld& world) { return into_window(world, seconds{40}); },
       .windows = {window(seconds{40}, "NODES"), window(minutes{5}, "others")}},
      {.reason = "pause while: 4 of 4 in group nodes are not well",
       .fleet = {.targets = 4},
       .hold =
           [](FleetWorld& world) {
             pause(world, {.services = {world.id("n1"), world.id("n2"), world.id("n3")}}, minutes{25});
             return world.now.mono + minutes{25};
           }},
      {.reason = "storm: ", .fleet = {.targets = 2}, .hold = [](FleetWorld& world) { return world.now.mono + kCycle; }},
      {.reason = "limit reached: ",
       .fleet = {.targets = 2, .limits = {{.number = 1, .within = hours{1}}}},
       .hold = [](FleetWorld& world) { return heal(world, 1, true) + hours{1}; }},
      {.reason = "cooldown: ",
       .hold =
           [](FleetWorld& world) {
             heal(world, 0, true);
             REQUIRE(world.engine->healings().idle());
             return world.engine->healings().memory().targets.front().cooldown.mono;
           }},
      {.reason = "again: ",
       .hold =
           [](FleetWorld& world) {
             heal(world, 0, false);
             return only(world).not_before()->mono;
           }},
      {.reason = "again: ",
       .hold =
           [](FleetWorld& world) {
             fail(world, 0);
             world.wait_for("guard");
             world.end_program(1);
             return world.now.mono + minutes{10};
           }},
      {.reason = "approval: ",
       .fleet = {.approval = Approval{.within = minutes{15}, .else_run = true}},
       .hold = [](FleetWorld& world) { return world.now.mono + minutes{15}; }},
  };
}

}  // namespace

TEST_CASE("A healing held back by a time limit continues when the time has come, and not before", "[healing]") {
  for (const Brake& brake : brakes()) {
    CAPTURE(brake.reason);
    RuleSet rules = rare(brake.fleet);
    rules.settings.maintenance = brake.windows;
    FleetWorld world = world_of(std::move(rules), brake.fleet.targets);
    world.advance(brake.at_start ? seconds{1} : kCycle + minutes{1});
    const Duration over = brake.hold(world);
    fail(world, 0);
    world.advance(kSoon);
    const std::string reason = only(world).reason();
    CHECK(reason.substr(0, brake.reason.size()) == brake.reason);
    const std::size_t guards = world.programs("guard");
    const Duration left = over - world.now.mono;
    const std::size_t woken = wakes(world, left - milliseconds{1});
    CHECK(world.programs("guard") == guards);
    CHECK(woken <= static_cast<std::size_t>(left / kCycle) + 2);
    world.advance(kSoon);
    CHECK(world.programs("guard") == guards + 1);
  }
}

TEST_CASE("A healing held back forever wakes the engine at most once per cycle", "[healing]") {
  FleetWorld world = world_of(rare({}), 1);
  world.advance(kCycle + minutes{1});
  world.handle(event::Command{.id = CommandId{78},
                              .kind = Kind::Pause,
                              .services = {world.id("n0")},
                              .by = ByPerson{"anna"},
                              .reason = "moving"});
  fail(world, 0);
  world.advance(kSoon);
  REQUIRE(only(world).reason() == "pause: n0 was paused by anna: moving");
  CHECK(wakes(world, hours{40}) <= 40 * 6 + 2 * 40 / 4);
  CHECK(world.programs("guard") == 0);
  world.handle(
      event::Command{.id = CommandId{78}, .kind = Kind::Resume, .services = {world.id("n0")}, .by = ByPerson{"anna"}});
  world.advance(kSoon);
  CHECK(world.programs("guard") == 1);
}

TEST_CASE("people are told in time of what is held back for long", "[healing]") {
  FleetWorld world = world_of(rare({}, hours{1}), 1);
  fail(world, 0);
  world.advance(minutes{10} - milliseconds{1});
  CHECK(world.alerts_of("Healing held back") == 0);
  world.advance(kSoon);
  CHECK(world.alerts_of("Healing held back") == 1);
}

TEST_CASE("a healing goes on as soon as the journal is well again", "[healing]") {
  FleetWorld world = world_of(rare({}), 1);
  world.advance(kCycle + minutes{1});
  world.commits = false;
  world.handle(event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "disk full"});
  fail(world, 0);
  world.advance(kSoon);
  REQUIRE(only(world).reason() == "doubt: the state cannot be written");
  world.commits = true;
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  world.advance(kSoon);
  CHECK(world.programs("guard") == 1);
}

TEST_CASE("an alert that maintenance holds is sent when its window is over, if what it tells of still fails",
          "[pauses]") {
  RuleSet rules = rare({.targets = 3});
  rules.settings.maintenance = {window(seconds{40}), window(minutes{3}, "others")};
  for (auto& service : rules.services) {
    auto block = std::make_shared<ServiceBlock>(*service);
    block->rules.front()->action = {};
    service = block;
  }
  const auto graph = make_graph(std::move(rules));
  FleetWorld first(graph, {}, {false, false, false}, World::kStart);
  first.advance(seconds{1});
  const Duration over = into_window(first, seconds{40});
  fail(first, 0);
  fail(first, 1);
  first.heal(1);  // nobody has seen that yet
  REQUIRE(first.count(RecordKind::ActionHeld) == 2);
  const auto notified_in_time = [&](FleetWorld& world) {
    CHECK(wakes(world, over - milliseconds{1} - world.now.mono) <= 2);
    CHECK(world.alerts_of("Status failed") == 0);
    CHECK(wakes(world, kSoon) <= 2);
    CHECK(world.alerts_of("Status failed") == 1);
    CHECK(world.alerts_of("Status succeeded") == 0);
    CHECK(wakes(world, hours{3}) <= 2);
    CHECK(world.alerts_of("Status failed") == 1);
  };
  SECTION("in one go") { notified_in_time(first); }
  SECTION("over a restart of healer") {
    FleetWorld next(graph, first.saved, first.failed, first.now);
    notified_in_time(next);
  }
  SECTION("and at once where the rules have no window any more") {
    RuleSet without = rare({.targets = 3});
    for (auto& service : without.services) {
      auto block = std::make_shared<ServiceBlock>(*service);
      block->rules.front()->action = {};
      service = block;
    }
    first.handle(event::Swap{plan_swap(*graph, std::move(without))});
    first.advance(kSoon);
    CHECK(first.alerts_of("Status failed") == 1);
  }
}

TEST_CASE("a maintenance window ends to the second", "[pauses]") {
  RuleSet rules = rare({});
  rules.settings.maintenance = {window(seconds{50})};
  rules.settings.maintenance.front().begin.minutes = ~0ULL;
  FleetWorld world = world_of(std::move(rules), 1);
  const ServiceId id = world.id("n0");
  for (int second = 0; second < 180; ++second) {
    CHECK(world.engine->maintenance().in_force(id, world.now) == (second % 60 < 50));
    world.advance(seconds{1});
  }
}

}  // namespace healing_wakes_test
