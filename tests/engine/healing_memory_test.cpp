// SPDX-License-Identifier: MIT
// What is remembered of a target, a workflow and a pause, and for how long.
#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"

namespace healing_memory_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;

std::string say(FleetWorld& world, event::Command command) {
  command.id = CommandId{77};
  command.by = ByPerson{"anna"};
  world.handle(command);
  return world.replies.back().text;
}

/// Fails target 0 until a step of the first try has failed.
void fail_first_try(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
}

FleetWorld world_of(RuleSet rules, std::size_t targets) {
  return FleetWorld(make_graph(std::move(rules)), {}, std::vector<bool>(targets), World::kStart);
}

/// The machine is restarted, and its clock has gone on by so much meanwhile.
Instant after_boot(const FleetWorld& world, Duration clock) {
  return {.boot = world.now.boot + 1, .mono = minutes{1}, .wall = world.now.wall + clock};
}

}  // namespace

TEST_CASE("a target whose healing did not help, that recovers in its cooldown and fails again, is healed after it",
          "[healing]") {
  const Fleet fleet{.targets = 1, .tries = 1};
  FleetWorld world(fleet);
  fail_first_try(world);
  REQUIRE(world.engine->healings().idle());
  CHECK(world.engine->healings().memory().targets.at(0).in_vain());
  world.heal(0);
  world.advance(seconds{3});
  CHECK_FALSE(world.engine->healings().memory().targets.at(0).in_vain());
  CHECK(world.engine->healings().rests("n0", world.now));  // its cooldown
  world.fail(0);
  const bool dies = GENERATE(false, true);
  if (dies) {  // and the daemon is killed meanwhile
    world.advance(seconds{3});
    FleetWorld next(make_graph(fleet_rules(fleet)), world.saved, world.failed, world.now);
    CHECK(next.wait_for("guard") == "n0");
  } else {
    CHECK(world.wait_for("guard") == "n0");
  }
}

TEST_CASE("an alert that stands beside it does not keep a target from having recovered", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1, .tries = 1});
  auto block = std::make_shared<ServiceBlock>(*rules.services.front());
  const auto kind = GENERATE(ActionKind::Alert, ActionKind::Unmonitor);
  Rule rule = status_rule(Comparison::NotEqual, 99);  // it always stands
  rule->action = {.kind = kind};
  if (kind == ActionKind::Unmonitor) rule->tolerance = {.count = 30, .window = 30};
  block->rules.push_back(rule);
  rules.services.front() = block;
  FleetWorld world = world_of(std::move(rules), 1);
  fail_first_try(world);
  if (kind == ActionKind::Unmonitor) {
    world.advance(minutes{1});  // it has fired, and waits because the healing did not help
    REQUIRE(world.engine->rules(world.id("n0"))[1].status == RuleStatus::Failed);
  }
  world.heal(0);
  world.advance(minutes{11});
  world.fail(0);
  if (kind == ActionKind::Alert) {
    CHECK(world.wait_for("guard") == "n0");
  } else {
    world.advance(minutes{30});
    CHECK(world.programs("guard") == 1);
  }
}

TEST_CASE("a service that nobody monitors has no say between two tries", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2, .of_rows = true});
  auto other = std::make_shared<ServiceBlock>(*rules.services[1]);
  other->row = rules.services[0]->row;  // two services of one target
  rules.services[1] = other;
  FleetWorld world = world_of(std::move(rules), 2);
  fail_first_try(world);
  REQUIRE(world.engine->healings().all().begin()->second.stage() == Healing::Stage::Between);
  say(world, {.kind = Kind::Unmonitor, .services = {world.id("n1")}});
  world.heal(0);
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
  world.advance(minutes{11});
  CHECK(world.programs("guard") == 1);
}

TEST_CASE("maintenance of everything holds a target that is gone from the rules, too", "[healing]") {
  const int minute = utc_civil(World::kStart.wall + minutes{1}).minute;
  const auto rules = [&](const Fleet& fleet) {
    RuleSet all = fleet_rules(fleet);
    all.settings.maintenance = {Maintenance{
        .begin = {.minutes = 1ULL << minute, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
        .length = minutes{50}}};
    return all;
  };
  FleetWorld world = world_of(rules({.targets = 2, .listed = true}), 2);
  fail_first_try(world);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rules({.targets = 2, .listed = true, .absent = {0}}))});
  world.advance(minutes{40});
  CHECK(world.programs("guard") == 1);
  REQUIRE(world.engine->healings().all().size() == 1);
  CHECK(world.engine->healings().all().begin()->second.reason() == "pause: maintenance of everything");
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("after a boot no more of a time is over than the daemon before has seen", "[healing]") {
  const Instant begun{.boot = 1, .mono = hours{5}, .wall = World::kStart.wall};
  const Deadline deadline = Deadline::in(minutes{10}, begun);
  const auto left = [&](std::uint64_t boot, Duration seen, Duration clock) {
    const Instant now{.boot = boot, .mono = boot == 1 ? begun.mono + clock : seconds{20}, .wall = begun.wall + clock};
    return deadline.carried_on(begun.wall + seen, now).left(now);
  };
  CHECK(left(2, minutes{4}, days{2}) == minutes{6});     // the clock is ahead
  CHECK(left(2, minutes{4}, minutes{5}) == minutes{6});  // it was away for a minute
  CHECK(left(2, minutes{4}, -days{2}) == minutes{10});   // the clock is behind: the full length
  CHECK(left(2, minutes{12}, days{2}) == Duration{0});   // it was over
  CHECK(left(2, -days{3}, days{2}) == minutes{10});      // nothing was recorded for long
  CHECK(left(1, minutes{4}, minutes{9}) == minutes{1});  // no boot: the monotonic clock says
}

TEST_CASE("cooldown, limit and pause are not over earlier where the clock is ahead after a boot", "[healing]") {
  const Fleet fleet{.targets = 2, .limits = {{.number = 1}, {.number = 1, .within = hours{1}}}};
  FleetWorld world(fleet);
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.heal(0);
  world.pass("rebuild");
  world.advance(seconds{3});
  REQUIRE(world.engine->healings().idle());
  say(world, {.kind = Kind::Pause, .services = {world.id("n1")}, .until = world.now.wall + minutes{30}});
  say(world, {.kind = Kind::Pause, .until = world.now.wall + minutes{20}, .everything = true});

  FleetWorld next(make_graph(fleet_rules(fleet)), world.saved, world.failed, after_boot(world, days{2}));
  CHECK(next.engine->healings().rests("n0", next.now));
  CHECK(next.engine->pauses().wide(next.now).size() == 1);
  next.advance(minutes{25});
  CHECK_FALSE(next.engine->healings().rests("n0", next.now));
  CHECK(next.engine->pauses().wide(next.now).empty());
  CHECK(next.engine->pauses().in_force(next.id("n1"), next.now));
  next.fail(1);
  next.advance(minutes{30});
  CHECK_FALSE(next.engine->pauses().in_force(next.id("n1"), next.now));
  CHECK(next.programs("guard") == 0);  // the limit
  CHECK(next.wait_for("guard") == "n1");

  // Another start in the same boot changes nothing of it.
  FleetWorld third(make_graph(fleet_rules(fleet)), next.saved, next.failed, next.now);
  CHECK(third.engine->healings().memory().workflows == next.engine->healings().memory().workflows);
}

TEST_CASE("the groups of lists are called so", "[healing]") {
  CHECK(engine::group_text("nodes") == "group nodes");
  CHECK(engine::group_text("${NODE}") == "list NODE");
  CHECK(engine::list_of("${NODE}") == "NODE");
  CHECK(engine::list_of("nodes").empty());
}

}  // namespace healing_memory_test
