// SPDX-License-Identifier: MIT
// When a healing may go on: the order among those that wait, what has changed meanwhile, and what a name means.
#include <algorithm>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_start_test {

using namespace healer;
using namespace healer::test;

namespace {

void say(FleetWorld& world, event::Command::Kind kind) {
  world.handle(event::Command{.id = CommandId{77}, .kind = kind, .services = {world.id("n0")}, .by = ByPerson{"anna"}});
}

/// Fails target 0 until its first plan has failed, and another is to take over.
void fail_first_plan(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
}

}  // namespace

TEST_CASE("The healing requested first goes first among several that are checked once more", "[healing]") {
  FleetWorld world({.targets = 6});
  world.answer = nullptr;
  world.fail(1);
  world.fail(4);
  const auto answer_all = [&](bool also_first) {
    for (const effect::Measure& run : std::vector(world.open))
      if (also_first || run.service != world.id("n1")) world.observe(run.service, world.failed[run.service.index()]);
  };
  // Until both are held back, and then the first is checked once more, and has no answer.
  for (int i = 0; i < 100 && world.engine->healings().all().size() < 2; ++i) {
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
  HealOrder order = *second->rules.front()->action.heal;
  order.target = "N0";
  second->rules.front()->action.heal = std::make_shared<const HealOrder>(order);
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
  CHECK(world.engine->healings().idle());
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
    CHECK(only(world).stage() == Healing::Stage::Held);
    CHECK(only(world).reason() == "pause: n0 was paused by anna");
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
    CHECK(world.engine->healings().idle());
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
    CHECK(only(next).reason() == "doubt: healer has just started");
    CHECK(next.wait_for("guard") == "n0");
    next.end_program(0);
    CHECK(next.wait_for("shutdown") == "n0");
  }
}

TEST_CASE("whoever asks is told that rules leave alone a target whose healing did not help", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1});
  fail_first_plan(world);
  world.end_program(1);
  world.advance(hours{1});
  CHECK(world.engine->healings().idle());
  const auto verdicts = world.engine->healing().preview_brakes(world.id("n0"), {.workflow = "rebuild"}, world.now);
  const auto recovery = std::ranges::find(verdicts, Brake::Recovery, &BrakeVerdict::brake);
  REQUIRE(recovery != verdicts.end());
  CHECK_FALSE(recovery->lets);
  CHECK(recovery->text.ends_with("`healerctl heal n0` heals it before that"));
}

TEST_CASE("what a guard lets go is held all the same where too much has failed meanwhile", "[healing]") {
  FleetWorld world({.targets = 3, .limits = {{.number = 3}}});
  world.fail(0);
  world.wait_for("guard");
  world.fail(1);
  world.fail(2);
  world.advance(seconds{3});
  world.end_program(0);
  world.advance(seconds{3});
  CHECK(world.programs("shutdown") == 0);
  for (const auto& [id, healing] : world.engine->healings().all()) CHECK(healing.held_by() == Brake::PauseWhile);
  // It is asked again when the others are well.
  world.heal(1);
  world.heal(2);
  CHECK(world.wait_for("guard") == "n0");
  world.end_program(0);
  CHECK(world.wait_for("shutdown") == "n0");
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
  other->programs.edit().start = engine::Command{.arguments = {"/bin/start-other"}};
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

namespace {

void answer_person(FleetWorld& world, event::Command::Kind kind, HealingId healing) {
  world.handle(event::Command{
      .id = CommandId{78}, .kind = kind, .services = {}, .by = ByPerson{"anna"}, .job = JobId{healing.number()}});
}

/// The first try of target 0 fails.
HealingId fail_first_try(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  REQUIRE(only(world).stage() == Healing::Stage::Between);
  return only(world).id;
}

}  // namespace

TEST_CASE("`on cancel` of what is cancelled between its tries waits for a place", "[healing]") {
  FleetWorld world({.targets = 2});
  const HealingId first = fail_first_try(world);
  world.fail(1);
  CHECK(world.wait_for("guard") == "n1");
  answer_person(world, event::Command::Kind::Cancel, first);
  world.advance(seconds{1});
  CHECK(world.programs("undo") == 0);
  CHECK(world.engine->healings().all().at(first).reason() == "limit reached: 1 of 1 running");
  SECTION("which the other gives back") {
    world.end_program(1);  // its guard refuses
    CHECK(world.wait_for("undo") == "n0");
  }
  SECTION("over a death of the daemon, too") {
    FleetWorld next(make_graph(fleet_rules({.targets = 2})), world.saved, world.failed, world.now);
    for (const effect::Exec& exec : world.execs)
      if (exec.command.arguments.front() == "/bin/guard")
        next.handle(event::ActionEnded{.action = exec.action, .status = 1, .elapsed = seconds{1}});
    CHECK(next.wait_for("undo") == "n0");
  }
}

TEST_CASE("`on cancel` runs when a healing is cancelled during the guard of a later try", "[healing]") {
  FleetWorld world({.targets = 1});
  const HealingId healing = fail_first_try(world);
  CHECK(world.wait_for("guard") == "n0");
  answer_person(world, event::Command::Kind::Cancel, healing);
  world.end_program(0);
  CHECK(world.wait_for("undo") == "n0");
}

TEST_CASE("a healing that has begun keeps its lock while its next try waits for approval", "[healing]") {
  FleetWorld world({.targets = 1});
  const HealingId healing = fail_first_try(world);
  world.handle(
      event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 1, .over_all = HealingMode::Approval}))});
  world.advance(minutes{30});
  REQUIRE(only(world).stage() == Healing::Stage::Approval);
  CHECK(only(world).locks());
  CHECK(world.engine->held_back().of(world.id("n0"), world.engine->graph()->at(world.id("n0")).rules[0], {},
                                     ActionKind::Restart, world.now) != Hold::None);
  answer_person(world, event::Command::Kind::Approve, healing);
  CHECK(world.wait_for("guard") == "n0");
  world.pass("shutdown");
  CHECK(only(world).round == 2);
}

TEST_CASE("a pause of everything holds a target that is no longer in the rules, too", "[healing]") {
  FleetWorld world({.targets = 2, .listed = true});
  fail_first_try(world);
  world.handle(
      event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2, .listed = true, .absent = {0}}))});
  world.handle(event::Command{.id = CommandId{77},
                              .kind = event::Command::Kind::Pause,
                              .services = {world.id("n1")},
                              .by = ByPerson{"anna"},
                              .everything = true});
  world.advance(hours{1});
  CHECK(world.programs("guard") == 1);
  CHECK(only(world).reason() == "pause: everything was paused by anna");
}

TEST_CASE("a doubted list holds its rows that are gone from the rules, too", "[healing]") {
  FleetWorld world({.targets = 2, .listed = true});
  fail_first_try(world);
  world.handle(
      event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2, .listed = true, .absent = {0}}))});
  world.handle(event::ListsDoubted{.names = {"node"}});
  world.advance(hours{1});
  CHECK(world.programs("guard") == 1);
  CHECK(only(world).reason().starts_with("list: it is not certain yet that the list NODE is right"));
  world.handle(event::ListsDoubted{});
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("a row that failed only after it was missing from its list is not healed", "[healing]") {
  FleetWorld world({.targets = 2, .listed = true});
  world.handle(event::ListsDoubted{.names = {}, .missing = {{.list = "node", .name = "n0"}}});
  world.fail(0);
  world.advance(minutes{10});
  CHECK(world.programs("guard") == 0);
  CHECK(only(world).reason() == "list: n0 is missing from the list NODE, and was so before it failed");
  world.fail(1);
  CHECK(world.wait_for("guard") == "n1");
}

TEST_CASE("a target that fails when its recovery is awaited is not taken for well, whatever its rules last counted",
          "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.heal(0);
  world.advance(seconds{5});
  REQUIRE(world.engine->composites().health(world.id("n0")) == Health::Ok);
  world.fail(0);
  world.end_program(0);
  world.advance(minutes{6});
  CHECK(only(world).stage() == Healing::Stage::Between);
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("A requested healing is dropped when its service is removed from the rules", "[healing]") {
  FleetWorld world({.targets = 2});
  world.advance(seconds{2});
  say(world, event::Command::Kind::Pause);
  say(world, event::Command::Kind::Heal);
  REQUIRE(only(world).stage() == Healing::Stage::Held);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2, .absent = {0}}))});
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing dropped") == 1);
}

TEST_CASE("a guard's refusal is recorded as its healing's", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.end_program(1);
  const auto refused = std::ranges::find_if(world.records, [](const Record& record) {
    return record.text.find(" refused by its guard") != std::string::npos;
  });
  REQUIRE(refused != world.records.end());
  CHECK(refused->subject == only(world).id.number());
}

TEST_CASE("a reload with equal rules changes nothing of what waits", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world(fleet);
  const auto reload = [&](Hash128 key) {
    RuleSet rules = fleet_rules(fleet);
    Workflow plan = *rules.workflows[0];
    plan.key = key;
    rules.workflows[0] = std::make_shared<const Workflow>(std::move(plan));
    world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(rules))});
  };
  world.fail(0);
  world.wait_for("guard");
  reload(hash128("another"));  // while the guard of the plan before is asked
  world.end_program(1);
  const Healing waits = only(world);
  CHECK(waits.plan->key == hash128("another"));
  reload(hash128("another"));
  CHECK(only(world).stage() == waits.stage());
  CHECK(only(world).plan == waits.plan);
}

}  // namespace healing_start_test
