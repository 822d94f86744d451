// SPDX-License-Identifier: MIT
// Ways in which a healing could be lost, done twice, or got past a brake: each was possible once.
#include <algorithm>
#include <functional>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_faults_test {

using namespace healer;
using namespace healer::test;

namespace {

/// The rules of a fleet with one of its workflows changed.
RuleSet changed(const Fleet& fleet, std::string_view workflow, const std::function<void(Workflow&)>& change) {
  RuleSet rules = fleet_rules(fleet);
  for (auto& known : rules.workflows) {
    if (known->name != workflow) continue;
    Workflow other = *known;
    change(other);
    other.key = hash128(other.name + " changed");
    known = std::make_shared<const Workflow>(std::move(other));
  }
  return rules;
}

FleetWorld world_of(RuleSet rules, int targets) {
  return FleetWorld(make_graph(std::move(rules)), {}, std::vector<bool>(static_cast<std::size_t>(targets)),
                    World::kStart);
}

/// The daemon dies, and another begins where it was.
std::unique_ptr<FleetWorld> restarted(const FleetWorld& world, const Fleet& fleet) {
  return std::make_unique<FleetWorld>(make_graph(fleet_rules(fleet)), world.saved, world.failed, world.now);
}

void reload(FleetWorld& world, RuleSet rules) {
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(rules))});
}

void say(FleetWorld& world, event::Command::Kind kind, std::uint64_t healing = 0) {
  world.handle(event::Command{.id = CommandId{77},
                              .kind = kind,
                              .services = {world.id("n0")},
                              .by = ByPerson{"anna"},
                              .job = JobId{healing},
                              .workflow = "rebuild"});
}

/// Fails target 0, and lets all steps before the verification be done.
void rebuild(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.pass("rebuild");
}

}  // namespace

TEST_CASE("a target is seen to recover by the daemon after a restart, too", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world(fleet);
  rebuild(world);
  const auto next = restarted(world, fleet);
  next->heal(0);
  next->advance(seconds{5});
  CHECK(next->engine->healings().idle());
  CHECK(next->engine->healings().memory().workflows.front().counts.recovered == 1);
}

TEST_CASE("a target is seen to recover over a reload that replaces its service", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world(fleet);
  rebuild(world);
  RuleSet rules = fleet_rules(fleet);
  auto block = std::make_shared<ServiceBlock>(*rules.services.front());
  block->program->command.arguments = {"/bin/other"};
  block->key = hash128("other");
  rules.services.front() = block;
  reload(world, std::move(rules));
  world.heal(0);
  world.advance(seconds{5});
  CHECK(world.engine->healings().idle());
  CHECK(world.engine->healings().memory().workflows.front().counts.recovered == 1);
}

TEST_CASE("what was handed on to another plan has failed, and the breaker counts it", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1, .breaker = Breaker{.failed = 1, .within = hours{1}}, .escalate = true});
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");
  for (int i = 0; i < 3; ++i) {
    world.end_program(1);
    if (i < 2) world.wait_for("shutdown");
  }
  CHECK(world.alerts_of("Healing escalated") == 1);
  CHECK(world.alerts_of("Healing stopped") == 1);
  for (const WorkflowMemory& memory : world.engine->healings().memory().workflows)
    if (memory.workflow == "rebuild") CHECK(memory.open);
}

TEST_CASE("people are told of a step that was to end and has not, and what a failed one has left", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1});
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");
  const ActionId action = only(world).under_way().front().action;
  const auto reported = [&](std::string_view words) {
    return std::ranges::any_of(world.records,
                               [&](const Record& record) { return record.text.find(words) != std::string::npos; });
  };
  SECTION("it has not ended") {
    world.handle(event::ActionWaits{action, "process 7 (qemu)", true});
    CHECK(world.alerts_of("Healing held up") == 1);
    CHECK(reported("process 7 (qemu) was told to end over a minute ago and has not: nothing else is done to n0"));
  }
  SECTION("it has left something") {
    world.handle(event::ActionEnded{.action = action, .status = 3, .left = 8, .left_command = "qemu -name n0"});
    CHECK(
        reported("step \"shutdown\": exited with status 3; process 8 (qemu -name n0) that it has started still runs"));
  }
}

TEST_CASE("an escalation to a plan that is to be rehearsed is a rehearsal", "[healing]") {
  const Fleet fleet{.targets = 1, .tries = 1, .escalate = true};
  const auto mode = GENERATE(HealingMode::DryRun, HealingMode::Shadow, HealingMode::Approval);
  FleetWorld world = world_of(changed(fleet, "redeploy", [&](Workflow& plan) { plan.mode = mode; }), 1);
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  world.advance(seconds{1});
  if (world.last_program() == "redeploy-guard") world.end_program(0);
  world.advance(minutes{2});
  CHECK(world.programs("redeploy") == 0);
  CHECK(world.engine->healings().idle() == (mode != HealingMode::Approval));
}

TEST_CASE("where healer only watches, or rehearses, nobody's word makes it heal", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1});
  const bool shadow = GENERATE(true, false);
  (shadow ? rules.settings.shadow : rules.settings.dry_run) = true;
  FleetWorld world = world_of(std::move(rules), 1);
  world.advance(seconds{3});
  say(world, event::Command::Kind::Heal);
  world.advance(seconds{3});
  if (!shadow) world.pass("guard");
  world.advance(minutes{1});
  CHECK(world.programs("shutdown") == 0);
  CHECK(world.engine->healings().idle());
}

TEST_CASE("what is held back is not begun where the rules that are loaded then only watch", "[healing]") {
  FleetWorld world({.targets = 1});
  say(world, event::Command::Kind::Pause);
  world.fail(0);
  world.advance(seconds{5});
  RuleSet rules = fleet_rules({.targets = 1});
  rules.settings.shadow = true;
  reload(world, std::move(rules));
  say(world, event::Command::Kind::Resume);
  world.advance(minutes{1});
  CHECK(world.execs.empty());
  CHECK(world.engine->healings().idle());
}

TEST_CASE("a target that nobody watches is not taken for well between two tries", "[healing]") {
  FleetWorld world({.targets = 1});
  world.advance(seconds{3});
  say(world, event::Command::Kind::Unmonitor);
  say(world, event::Command::Kind::Heal);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  CHECK(only(world).stage() == Healing::Stage::Between);
  world.advance(minutes{11});
  CHECK(world.programs("rebuild") == 1);
  CHECK(world.wait_for("guard") == "n0");  // of its second try
}

TEST_CASE("a brake that has closed stays closed for healings that follow the previous plan", "[healing]") {
  const Fleet fleet{.targets = 4};
  FleetWorld world(fleet);
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  for (int i = 1; i < 4; ++i) world.fail(i);
  world.advance(seconds{3});
  reload(world, changed(fleet, "rebuild", [](Workflow& plan) { plan.pauses.front().above = 90; }));
  const std::size_t alerted = world.alerts.size();
  world.advance(minutes{12});
  CHECK(world.programs("guard") == 1);
  CHECK(world.alerts_of("Healing resumed") == 0);
  CHECK(world.alerts.size() <= alerted + 5);
}

TEST_CASE("an approval is for one plan: a reload while the target is looked at makes it void", "[healing]") {
  Fleet fleet{.targets = 1, .mode = HealingMode::Approval};
  FleetWorld world(fleet);
  world.fail(0);
  world.advance(seconds{3});
  const std::uint64_t id = only(world).id.number();
  world.answer = nullptr;  // its program runs long
  say(world, event::Command::Kind::Approve, id);
  REQUIRE(only(world).stage() == Healing::Stage::Confirming);
  reload(world, changed(fleet, "rebuild", [](Workflow& plan) { plan.steps.front().timeout = minutes{3}; }));
  CHECK(only(world).approved_by.empty());
  world.answer = [](ServiceId) { return 1; };
  for (const effect::Measure& run : std::exchange(world.open, {})) world.observe(run.service, 1);
  world.advance(minutes{1});
  CHECK(world.execs.empty());
  CHECK(only(world).stage() == Healing::Stage::Approval);
}

TEST_CASE("a rule that asks for no healing any more has what waits dropped, with an alert", "[healing]") {
  FleetWorld world({.targets = 1});
  say(world, event::Command::Kind::Pause);
  world.fail(0);
  world.advance(seconds{5});
  RuleSet rules = fleet_rules({.targets = 1});
  auto block = std::make_shared<ServiceBlock>(*rules.services.front());
  block->rules.front()->action = {};
  block->key = hash128("other");
  rules.services.front() = block;
  reload(world, std::move(rules));
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing dropped") == 1);
}

TEST_CASE("one who is unmonitored while it is to be looked at holds nothing up for ever", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.advance(milliseconds{900});
  world.answer = nullptr;
  world.advance(seconds{2});
  REQUIRE(only(world).stage() == Healing::Stage::Confirming);
  say(world, event::Command::Kind::Unmonitor);
  world.advance(minutes{1});
  CHECK(world.engine->healings().idle());
}

TEST_CASE("a second rule that asks for the same keeps it where the first has recovered", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2});
  auto http = std::make_shared<ServiceBlock>(*rules.services[1]);
  Rule rule = http->rules.front();
  rule->action.heal = std::make_shared<const HealOrder>(HealOrder{.workflow = "rebuild", .target = "n0"});
  http->rules = {rule};
  rules.services[1] = http;
  FleetWorld world = world_of(std::move(rules), 2);
  say(world, event::Command::Kind::Pause);
  world.fail(0);
  world.advance(seconds{3});
  world.fail(1);
  world.advance(seconds{3});
  REQUIRE(only(world).also.size() == 1);
  world.heal(0);
  world.advance(seconds{5});
  CHECK(only(world).stage() == Healing::Stage::Held);
  say(world, event::Command::Kind::Resume);
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("a rehearsal takes nobody's healing for itself", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1});
  auto block = std::make_shared<ServiceBlock>(*rules.services.front());
  block->rules.front()->action.heal =
      std::make_shared<const HealOrder>(HealOrder{.workflow = "rebuild", .dry_run = true});
  rules.services.front() = block;
  FleetWorld world = world_of(std::move(rules), 1);
  say(world, event::Command::Kind::Pause);
  world.fail(0);
  world.advance(seconds{3});
  say(world, event::Command::Kind::Heal);
  CHECK(world.engine->healings().all().size() == 2);
}

TEST_CASE("the pause of the service whose rule asks holds back the healing of another target", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2});
  auto monitor = std::make_shared<ServiceBlock>(*rules.services[0]);
  monitor->rules.front()->action.heal =
      std::make_shared<const HealOrder>(HealOrder{.workflow = "rebuild", .target = "n1"});
  rules.services[0] = monitor;
  FleetWorld world = world_of(std::move(rules), 2);
  say(world, event::Command::Kind::Pause);  // n0, whose rule it is
  world.fail(0);
  world.advance(minutes{2});
  CHECK(world.execs.empty());
  CHECK(only(world).target == "n1");
}

TEST_CASE("what was not healed is left alone by rules until it has recovered", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  REQUIRE(world.engine->healings().idle());
  world.advance(minutes{30});  // its cooldown is over
  CHECK(world.engine->healings().rests("n0", world.now));
  CHECK(world.programs("guard") == 1);
  world.heal(0);
  world.advance(seconds{3});
  CHECK_FALSE(world.engine->healings().rests("n0", world.now));
  world.fail(0);
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("a person's healing that the guard refuses has ended", "[healing]") {
  FleetWorld world({.targets = 1});
  world.advance(seconds{3});
  say(world, event::Command::Kind::Heal);
  world.wait_for("guard");
  world.end_program(1);
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing refused") == 1);
}

TEST_CASE("the time for an approval that has passed while healer was down is none to run in", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world =
      world_of(changed(fleet, "rebuild",
                       [](Workflow& plan) { plan.approval = Approval{.within = minutes{10}, .else_run = true}; }),
               1);
  world.fail(0);
  world.advance(seconds{5});
  REQUIRE(only(world).stage() == Healing::Stage::Approval);
  Instant later = world.now;
  later.mono += minutes{20};
  later.wall += minutes{20};
  FleetWorld next(world.engine->graph(), world.saved, world.failed, later);
  CHECK(next.engine->healings().idle());
  next.advance(minutes{15});
  CHECK(next.execs.empty());
}

TEST_CASE("who cancels between two tries has `on cancel` done", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  world.end_program(1);
  say(world, event::Command::Kind::Cancel, only(world).id.number());
  CHECK(world.wait_for("undo") == "n0");
}

TEST_CASE("a program that was told to end is told so again after a restart, and never started", "[healing]") {
  const Fleet fleet{.targets = 1};
  FleetWorld world(fleet);
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");
  say(world, event::Command::Kind::Cancel, only(world).id.number());
  const ActionId program = world.execs.back().action;
  const bool began = GENERATE(true, false);
  SavedState saved = world.saved;
  for (PendingExec& pending : saved.execs) pending.started = began;
  FleetWorld next(make_graph(fleet_rules(fleet)), saved, world.failed, world.now);
  bool adopted = false;
  bool ended = false;
  for (const Effect& effect : next.effects) {
    if (const auto* adopt = std::get_if<effect::Adopt>(&effect)) adopted = adopted || adopt->action == program;
    if (const auto* end = std::get_if<effect::EndAction>(&effect)) ended = ended || end->action == program;
  }
  // Where nobody has noted that it began, it may have begun all the same.
  CHECK(adopted);
  CHECK(ended);
  CHECK(next.programs("shutdown") == 0);
  CHECK(next.engine->healings().all().size() == 1);  // its lock stays until the program is gone
}

TEST_CASE("a program in doubt that is not repeatable is not run again, whatever `retry` says", "[healing]") {
  const Fleet fleet{.targets = 1, .tries = 1};
  FleetWorld world(fleet);
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");  // with `retry 2 times`
  SECTION("its end was missed by the daemon that found it again") {
    world.handle(event::ActionEnded{.action = world.execs.back().action, .unseen = true});
    world.advance(minutes{2});
    CHECK(world.programs("shutdown") == 1);
    CHECK(world.engine->healings().idle());
  }
  SECTION("nothing is known of it after a restart") {
    SavedState saved = world.saved;
    saved.execs.clear();
    FleetWorld next(make_graph(fleet_rules(fleet)), saved, world.failed, world.now);
    next.advance(minutes{2});
    CHECK(next.programs("shutdown") == 0);
    CHECK(next.engine->healings().idle());
  }
}

TEST_CASE("a program of which nobody ever sees the end is not run again and again", "[healing]") {
  const Fleet fleet{.targets = 1, .tries = 1};
  RuleSet rules = fleet_rules(fleet);
  Workflow workflow = *rules.workflows.front();
  workflow.steps.front().repeatable = true;
  rules.workflows.front() = std::make_shared<const Workflow>(std::move(workflow));
  FleetWorld world(make_graph(std::move(rules)), {}, {true}, World::kStart);
  const auto lose_each = [&] {
    for (std::size_t before = 0; before != world.execs.size() && before < 100;) {
      before = world.execs.size();
      world.handle(event::ActionEnded{.action = world.execs.back().action, .unseen = true});
    }
  };
  SECTION("a guard has refused then") {
    world.wait_for("guard");
    lose_each();
    CHECK(world.programs("guard") == 1 + StepRun::kMostDoubts);
    CHECK(world.alerts_of("Healing refused") == 1);
  }
  SECTION("the attempt of a step has failed then") {
    world.pass("guard");
    world.wait_for("shutdown");  // with `retry 2 times`
    for (std::size_t attempt = 1; attempt <= 3; ++attempt) {
      lose_each();
      CHECK(world.programs("shutdown") == attempt * (1 + StepRun::kMostDoubts));
      world.advance(seconds{1});
    }
    CHECK(world.programs("shutdown") == 3 * (1 + StepRun::kMostDoubts));
    CHECK(world.engine->healings().idle());
  }
}

TEST_CASE("a healing whose journal is damaged is told as interrupted, and its target rests", "[healing]") {
  const Fleet fleet{.targets = 1};
  SavedState saved;
  saved.damaged_healings = {{.id = HealingId{5}, .target = "n0"}};
  saved.damaged_targets = {{"n0", true}};
  FleetWorld world(make_graph(fleet_rules(fleet)), saved, {true}, World::kStart);
  CHECK(world.alerts_of("Healing interrupted") == 1);
  world.advance(minutes{20});
  CHECK(world.execs.empty());
  world.heal(0);  // by hand
  world.advance(seconds{5});
  world.fail(0);
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("of a lost healing what is left tells its target, its number and its cooldown", "[healing]") {
  const Fleet fleet{.targets = 2};
  const Duration cooldown{7'000};
  RuleSet rules = changed(fleet, "rebuild", [&](Workflow& plan) { plan.cooldown = cooldown; });
  SavedState saved;
  SECTION("its workflow") { saved.damaged_healings = {{.id = HealingId{5}, .target = "n0", .workflow = "rebuild"}}; }
  SECTION("its last record") {
    saved.damaged_healings = {
        {.id = HealingId{5}, .last_record = "healing of n0 with rebuild, step \"shutdown\": begins"}};
  }
  SECTION("the service whose rule it was") { saved.damaged_healings = {{.id = HealingId{5}, .service = "n0"}}; }
  SECTION("the rules of its target") { saved.damaged_healings = {{.id = HealingId{5}, .target = "n0"}}; }
  const FleetWorld world(make_graph(std::move(rules)), saved, {false, false}, World::kStart);
  CHECK(world.alerts_of("Healing interrupted") == 1);
  const auto& targets = world.engine->healings().memory().targets;
  REQUIRE(targets.size() == 1);
  CHECK(targets[0].target == "n0");
  CHECK(targets[0].healing == HealingId{5});
  CHECK(targets[0].end == HealingEnd::Interrupted);
  CHECK(targets[0].cooldown.left(World::kStart) == cooldown);
}

TEST_CASE("that healings may have been lost is told, where there are any", "[healing]") {
  SavedState saved;
  saved.damaged_healings = {{}};
  RuleSet rules = fleet_rules({.targets = 1});
  const bool heals = GENERATE(true, false);
  if (!heals) rules.workflows.clear();
  const FleetWorld world(make_graph(std::move(rules)), saved, {false}, World::kStart);
  CHECK(world.alerts_of("Healing interrupted") == (heals ? 1 : 0));
  CHECK(world.engine->healings().memory().targets.empty());
}

TEST_CASE("while a program of a lost healing runs, no healing of its target begins", "[healing]") {
  const Fleet fleet{.targets = 1};
  SavedState saved;
  PendingExec stale{.exec = {.action = ActionId{3}, .healing = HealingId{5}}, .started = true};
  stale.exec.command.arguments = {"/bin/rebuild"};
  stale.exec.cause = std::make_shared<const effect::Cause>(effect::Cause{.service = "n0", .when = World::kStart.wall});
  saved.execs.push_back(std::move(stale));
  FleetWorld world(make_graph(fleet_rules(fleet)), saved, {false}, World::kStart);
  world.fail(0);
  world.advance(minutes{20});
  CHECK(world.programs("guard") == 0);
  REQUIRE(world.engine->healings().all().size() == 1);
  CHECK(only(world).reason().find("program /bin/rebuild of an earlier healing (5) is under way") != std::string::npos);
  world.handle(event::ActionEnded{.action = ActionId{3}, .unseen = true});
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("equal steps of two plans have keys of their own", "[healing]") {
  const Fleet fleet{.targets = 1, .tries = 1, .escalate = true};
  FleetWorld world = world_of(changed(fleet, "redeploy",
                                      [](Workflow& plan) {
                                        plan.guard.reset();
                                        plan.steps.front().name = "rebuild";
                                      }),
                              1);
  const auto key_of = [&] {
    for (const auto& [name, value] : world.execs.back().place->environment)
      if (name == "HEALER_STEP") {
        std::string text;
        for (const auto& part : value) text += part.text;
        return text;
      }
    return std::string();
  };
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  const std::string first = key_of();
  world.end_program(1);
  world.wait_for("redeploy");
  CHECK(first != key_of());
}

TEST_CASE("on failure, and to the plan that takes over, the reason is why the healing has failed", "[healing]") {
  const auto fail_all_attempts = [](FleetWorld& world) {
    world.fail(0);
    world.pass("guard");
    for (int attempt = 0; attempt < 3; ++attempt) {
      world.wait_for("shutdown");
      world.end_program(7);
    }
    world.advance(seconds{1});
  };
  FleetWorld alerted({.targets = 1, .tries = 1, .tell = "${TARGET}: ${REASON}"});
  fail_all_attempts(alerted);
  const auto record = std::ranges::find_if(alerted.records, [](const Record& one) {
    return one.text.find("told: n0: step \"shutdown\" exited with status 7") != std::string::npos;
  });
  CHECK(record != alerted.records.end());
  CHECK(alerted.alerts_of("Healing failed") == 1);  // at the end

  FleetWorld escalated({.targets = 1, .tries = 1, .escalate = true});
  fail_all_attempts(escalated);
  CHECK_THAT(only(escalated).cause->description, Catch::StartsWith("rebuild failed: step \"shutdown\" exited"));
}

TEST_CASE("what a person wants done to a target that is well has failed where its try has", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 2, .tell = "${REASON}"});
  world.advance(seconds{2});
  say(world, event::Command::Kind::Heal);
  world.pass("guard");
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(7);
  }
  world.advance(seconds{1});
  CHECK(world.engine->healings().idle());
  CHECK(world.count(RecordKind::HealingFailed) == 1);
  CHECK(world.alerts_of("Healing failed") == 1);
  CHECK(world.alerts_of("Healing done") == 0);
  CHECK(world.alerts_of("Healing") == 1);  // on failure
}

}  // namespace healing_faults_test
