// SPDX-License-Identifier: MIT
// When a healing may go on: the order among those that wait, what has changed meanwhile, and what a name means.
#include <algorithm>

#include <catch2/catch.hpp>

#include "engine/diff.hpp"
#include "support/fleet_world.hpp"

namespace healing_start_test {

using namespace healer;
using namespace healer::test;

namespace {

const Healing& only(const FleetWorld& world) {
  REQUIRE(world.engine.healings().all().size() == 1);
  return world.engine.healings().all().begin()->second;
}

void say(FleetWorld& world, event::Command::Kind kind) {
  world.handle(event::Command{.id = CommandId{77}, .kind = kind, .services = {world.id("n0")}, .by = "anna"});
}

/// Fails target 0 until its first plan has failed, and another is to take over.
void fail_first_plan(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
}

}  // namespace

TEST_CASE("of several that are looked at once more the one that was asked for first goes first", "[healing]") {
  FleetWorld world({.targets = 6});
  world.answer = nullptr;
  world.fail(1);
  world.fail(4);
  const auto answer_all = [&](bool also_first) {
    for (const effect::Measure& run : std::vector(world.open))
      if (also_first || run.service != world.id("n1")) world.observe(run.service, world.failed[run.service.index()]);
  };
  // Until both are held back, and then the first is looked at once more, and has no answer.
  for (int i = 0; i < 100 && world.engine.healings().all().size() < 2; ++i) {
    answer_all(true);
    world.advance(milliseconds{500});
  }
  for (int i = 0; i < 20; ++i) {
    answer_all(false);
    world.advance(milliseconds{500});
  }
  CHECK(world.programs("guard") == 0);
  answer_all(true);
  world.advance(milliseconds{500});
  answer_all(true);
  CHECK(world.wait_for("guard") == "n1");
}

TEST_CASE("`heal NAME` means the target of the service of that name", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2, .limits = {{.number = 2}}});
  const auto row = std::make_shared<Row>(Row{.target = "web1", .variables = {}, .lists = {}});
  auto first = std::make_shared<ServiceBlock>(*rules.services[0]);
  first->row = row;
  rules.services[0] = first;
  auto second = std::make_shared<ServiceBlock>(*rules.services[1]);
  HealOrder order = *second->rules.front().action.heal;
  order.target = "N0";
  second->rules.front().action.heal = std::make_shared<const HealOrder>(order);
  rules.services[1] = second;
  FleetWorld world(make_graph(std::move(rules)), {}, {true, true}, World::kStart);
  world.advance(minutes{2});
  CHECK(world.programs("guard") == 1);
  CHECK(only(world).target == "web1");
  CHECK(only(world).also.size() == 1);
}

TEST_CASE("another plan does not take over where the target has become well meanwhile", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1, .escalate = true});
  fail_first_plan(world);
  say(world, event::Command::Kind::Pause);
  world.end_program(1);
  world.advance(minutes{1});
  CHECK(only(world).escalated);
  world.heal(0);
  world.advance(minutes{1});
  say(world, event::Command::Kind::Resume);
  world.advance(minutes{1});
  CHECK(world.engine.healings().idle());
  CHECK(world.programs("redeploy-guard") == 0);
}

TEST_CASE("a guard's word is for now: what was paused, or became well, while it was asked is not healed", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world(fleet);
  world.fail(0);
  world.wait_for("guard");
  SECTION("paused") {
    say(world, event::Command::Kind::Pause);
    world.end_program(0);
    CHECK(only(world).stage == Healing::Stage::Held);
    CHECK(only(world).reason == "pause: n0 was paused by anna");
    world.advance(minutes{5});
    CHECK(world.programs("shutdown") == 0);
    say(world, event::Command::Kind::Resume);
    CHECK(world.wait_for("guard") == "n0");  // asked again
    world.end_program(0);
    CHECK(world.wait_for("shutdown") == "n0");
  }
  SECTION("well again") {
    world.heal(0);
    world.advance(minutes{1});
    world.end_program(0);
    world.advance(minutes{1});
    CHECK(world.engine.healings().idle());
    CHECK(world.programs("shutdown") == 0);
  }
  SECTION("healer was away for long") {
    Instant later = world.now;
    later.mono += hours{3};
    later.wall += hours{3};
    FleetWorld next(make_graph(fleet_rules(fleet)), world.saved, world.failed, later);
    next.handle(event::ActionEnded{
        .action = world.execs.back().action, .outcome = Outcome::Exited, .status = 0, .elapsed = seconds{1}});
    CHECK(next.execs.empty());
    CHECK(only(next).reason == "doubt: healer has just started");
    CHECK(next.wait_for("guard") == "n0");
    next.end_program(0);
    CHECK(next.wait_for("shutdown") == "n0");
  }
}

TEST_CASE("whoever asks is told that rules leave alone what was healed in vain", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1});
  fail_first_plan(world);
  world.end_program(1);
  world.advance(hours{1});
  CHECK(world.engine.healings().idle());
  const auto said = world.engine.would_say(world.id("n0"), {.workflow = "rebuild"}, world.now);
  const auto recovery = std::ranges::find(said, "recovery", &BrakeVerdict::brake);
  REQUIRE(recovery != said.end());
  CHECK_FALSE(recovery->lets);
  CHECK(recovery->text.ends_with("has not healed it: nothing more starts by itself until it has recovered"));
}

TEST_CASE("a step waits for the journal until that has just this step", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.commits = false;
  const Sequence before = world.saved.last_sequence;
  world.end_program(0);
  world.handle(
      event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "the disk is full"});
  CHECK(world.programs("shutdown") == 0);
  // What was written so far is not the step that waits.
  world.handle(event::Committed{.up_to = before});
  CHECK(world.programs("shutdown") == 0);
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(world.programs("shutdown") == 1);
}

TEST_CASE("what a step starts waits for the journal, too", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1});
  auto other = std::make_shared<ServiceBlock>(*service("other", {}));
  other->start = engine::Command{.arguments = {"/bin/start-other"}};
  rules.services.push_back(other);
  Workflow bring = *rules.workflows[0];
  bring.steps = {{.name = "start", .what = step::Bring{.what = Bringing::Start, .service = "other"}}};
  rules.workflows[0] = std::make_shared<const Workflow>(std::move(bring));
  FleetWorld world(make_graph(std::move(rules)), {}, {false, false}, World::kStart);
  world.fail(0);
  world.wait_for("guard");
  world.commits = false;
  world.end_program(0);
  world.handle(
      event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "the disk is full"});
  world.advance(seconds{1});
  world.handle(
      event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "the disk is full"});
  CHECK(world.programs("start-other") == 0);
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  world.advance(seconds{1});
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(world.programs("start-other") == 1);
}

}  // namespace healing_start_test
