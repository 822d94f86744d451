// SPDX-License-Identifier: MIT
// What people say of services: pauses of everything and of groups, acknowledgements; and maintenance windows.
#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"

namespace pauses_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;

/// Services "n0", "n1" ... of group "nodes" that alert, with reminders each second run.
RuleSet watched(int targets) {
  RuleSet rules = fleet_rules({.targets = targets});
  for (auto& service : rules.services) {
    auto block = std::make_shared<ServiceBlock>(*service);
    block->rules.front()->action = {};
    block->recipients->front().reminder = 2;
    service = block;
  }
  return rules;
}

FleetWorld watching(RuleSet rules, int targets) {
  return FleetWorld(make_graph(std::move(rules)), {}, std::vector<bool>(static_cast<std::size_t>(targets)),
                    World::kStart);
}

std::string say(FleetWorld& world, event::Command command) {
  command.id = CommandId{77};
  command.by = ByPerson{"anna"};
  if (command.everything || !command.groups.empty()) command.services = world.engine->graph()->order;
  world.handle(command);
  return world.replies.back().text;
}

std::size_t alerts(const FleetWorld& world) { return world.alerts_of("Status failed"); }

}  // namespace

TEST_CASE("a pause of everything, or of a group, holds what comes later, too", "[pauses]") {
  const bool group = GENERATE(true, false);
  FleetWorld world({.targets = 1});
  const event::Command pause{.kind = Kind::Pause,
                             .reason = "moving",
                             .everything = !group,
                             .groups = group ? std::vector<std::string>{"NODES"} : std::vector<std::string>{}};
  CHECK(say(world, pause) == (group ? "group NODES paused" : "everything paused"));
  CHECK(world.saved.wide_pauses.size() == 1);
  CHECK(std::ranges::any_of(world.effects, [](const Effect& one) {
    const auto* const commit = std::get_if<effect::Commit>(&one);
    return commit != nullptr && commit->wide_pauses && commit->durability() == effect::Durability::Synced;
  }));
  world.handle(event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2}))});
  world.failed.push_back(true);
  world.advance(minutes{2});
  CHECK(world.execs.empty());
  CHECK(world.engine->pauses().in_force(world.id("n1"), world.now));

  // Over a restart, and until it is resumed.
  FleetWorld next(world.engine->graph(), world.saved, world.failed, world.now);
  next.advance(minutes{1});
  CHECK(next.execs.empty());
  CHECK(say(next, {.kind = Kind::Resume, .services = {next.id("n1")}}) ==
        (group ? "n1 is still paused with group NODES, by anna: `healerctl resume --group NODES` ends that"
               : "n1 is still paused with everything, by anna: `healerctl resume all` ends that"));
  CHECK(say(next, {.kind = Kind::Resume, .everything = !group, .groups = pause.groups}) ==
        (group ? "group NODES resumed" : "everything resumed"));
  CHECK(next.saved.wide_pauses.empty());
  CHECK(next.wait_for("guard") == "n1");
}

TEST_CASE("a pause of a group ends when its time has come, and the narrowest is told of", "[pauses]") {
  FleetWorld world({.targets = 1});
  say(world, {.kind = Kind::Pause, .until = world.now.wall + minutes{1}, .everything = true});
  say(world, {.kind = Kind::Pause, .until = world.now.wall + minutes{2}, .groups = {"nodes"}});
  CHECK(world.engine->pauses().of(world.id("n0"), world.now)->with() == " with group nodes");
  world.advance(seconds{90});
  CHECK(world.engine->pauses().wide(world.now).size() == 1);
  world.advance(seconds{40});
  CHECK_FALSE(world.engine->pauses().in_force(world.id("n0"), world.now));
  CHECK(say(world, {.kind = Kind::Resume, .everything = true}) == "n0 is not paused");
  CHECK(world.saved.wide_pauses.empty());
}

TEST_CASE("what is acknowledged is not reminded of until it has recovered", "[pauses]") {
  FleetWorld world = watching(watched(2), 2);
  CHECK(say(world, {.kind = Kind::Acknowledge, .services = {world.id("n0")}}) == "n0 is not failed");
  CHECK_FALSE(world.replies.back().ok);
  world.fail(0);
  world.advance(seconds{5});
  const std::size_t before = alerts(world);
  CHECK(before >= 2);
  CHECK(say(world, {.kind = Kind::Acknowledge, .services = {world.id("n0"), world.id("n1")}, .reason = "known"}) ==
        "n0 acknowledged: no reminders until it has recovered; n1 is not failed");
  world.advance(seconds{10});
  CHECK(alerts(world) == before);
  CHECK(world.saved.services.at("n0").acknowledged->by == Origin(ByPerson{"anna"}));

  FleetWorld next(world.engine->graph(), world.saved, world.failed, world.now);
  const std::size_t again = alerts(next);  // the mailer has not said that it has them
  next.advance(seconds{10});
  CHECK(alerts(next) == again);
  next.heal(0);
  next.advance(seconds{3});
  CHECK_FALSE(next.saved.services.at("n0").acknowledged);
  CHECK(next.alerts_of("Status succeeded") == 1);
  next.fail(0);
  next.advance(seconds{5});
  CHECK(alerts(next) >= again + 2);  // and its reminders
}

TEST_CASE("alerts wait for the end of a maintenance window, and what has recovered in it is not told", "[pauses]") {
  RuleSet rules = watched(3);
  // A window of two minutes, from the next full minute on.
  const int minute = utc_civil(World::kStart.wall + minutes{1}).minute;
  rules.settings.maintenance = {Maintenance{
      .begin = {.minutes = 1ULL << minute, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
      .length = minutes{2}}};
  FleetWorld world = watching(std::move(rules), 3);
  world.fail(2);
  world.advance(seconds{30});  // before it
  const std::size_t before = alerts(world);
  CHECK(before > 0);
  world.advance(seconds{40});
  world.fail(0);
  world.fail(1);
  world.advance(seconds{20});
  CHECK(world.engine->maintenance().in_force(world.id("n0"), world.now));
  const std::size_t during = alerts(world);
  world.heal(1);
  world.heal(2);
  world.advance(seconds{20});
  CHECK(world.alerts_of("Status succeeded") == 1);  // people had been told of n2
  CHECK(alerts(world) == during);
  world.advance(seconds{75});
  CHECK_FALSE(world.engine->maintenance().in_force(world.id("n0"), world.now));
  CHECK(alerts(world) > during);
  for (const effect::Alert& alert : world.alerts) CHECK(alert.cause->service != "n1");
}

}  // namespace pauses_test
