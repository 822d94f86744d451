// SPDX-License-Identifier: MIT
// What people are told of healings: by mail, one at the beginning, one where another plan takes over, one at the end,
// and of what is held back.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/healing/healing_report.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"

namespace healing_report_test {

using namespace healer;
using namespace healer::test;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The mails of healing, by what they say has happened.
std::vector<std::string> events(const World& world) {
  std::vector<std::string> all;
  for (const effect::Alert& alert : world.alerts)
    if (alert.cause->action_text == "heal" && alert.cause->event == EventKind::Action)
      all.push_back(alert.cause->event_text);
  return all;
}

std::string last_mail(const World& world, std::string_view event) {
  for (auto alert = world.alerts.rbegin(); alert != world.alerts.rend(); ++alert)
    if (alert->cause->event_text == event) return alert->cause->description;
  return {};
}

void fail_try(FleetWorld& world) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(7);
  }
  world.advance(seconds{1});
}

event::Command command(const World& world, event::Command::Kind kind, const std::string& name) {
  return {.id = CommandId{9}, .kind = kind, .services = {world.id(name)}, .by = ByPerson{"anna"}};
}

}  // namespace

TEST_CASE("a healing that another plan takes over sends a mail at its beginning, there, and at its end", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 2, .escalate = true});
  world.fail(0);
  for (int round = 0; round < 2; ++round) {
    world.pass("guard");
    fail_try(world);
  }
  world.pass("redeploy-guard");
  world.wait_for("redeploy");
  CHECK(events(world) == std::vector<std::string>{"Healing begun", "Healing escalated"});
  const std::string begun = last_mail(world, "Healing begun");
  INFO(begun);
  CHECK(has(begun, "healing of n0 with rebuild begins, try 1 of 2: "));
  CHECK(has(begun,
            "Its steps are \"shutdown\", \"rebuild\" and \"verify\", tried up to 2 times; if that fails, redeploy "
            "comes next."));
  const std::string escalated = last_mail(world, "Healing escalated");
  INFO(escalated);
  CHECK(has(escalated, "healing of n0 with rebuild failed: step \"shutdown\" exited with status 7"));
  CHECK(has(escalated, "It goes on with redeploy. Its steps are \"redeploy\" and \"verify\"."));
  world.end_program(1);
  world.advance(seconds{1});
  CHECK(events(world) == std::vector<std::string>{"Healing begun", "Healing escalated", "Healing failed"});
  CHECK(has(last_mail(world, "Healing failed"),
            "Rules heal n0 again only after it has recovered; `healerctl heal n0` does at once."));
}

TEST_CASE("the last mail of a healing that has called a person says that it has", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1, .tries = 1, .escalate = true});
  auto person = std::make_shared<Workflow>(*rules.workflows[1]);
  person->guard.reset();
  person->steps = {{.name = "call", .what = step::Tell{.text = "${TARGET} needs a person"}}};
  rules.workflows[1] = person;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.pass("guard");
  fail_try(world);
  CHECK(events(world) == std::vector<std::string>{"Healing begun", "Healing escalated", "Healing", "Healing ended"});
  CHECK(has(last_mail(world, "Healing ended"),
            "healing of n0 with redeploy ended: a person was called. rebuild failed: step \"shutdown\""));
  CHECK(world.records.back().text == "healing of n0 with redeploy ended: a person was called");
  CHECK(world.records.back().kind == RecordKind::HealingEnded);
  CHECK(world.records.back().severity == Severity::Warning);
  CHECK(world.count(RecordKind::HealingFailed) == 0);
  const auto report = healing_report_of(world.records.back(), *world.engine->graph());
  REQUIRE(report);
  CHECK(report->turn == HealingTurn::Called);
  CHECK(to_string(report->turn) == "called");
  REQUIRE(world.engine->healings().memory().targets.size() == 1);
  CHECK(world.engine->healings().memory().targets.front().end == HealingEnd::Called);
  CHECK(world.engine->healings().memory().targets.front().in_vain());
}

TEST_CASE("a note is a record of its healing, with its values, mails nobody, and is done at once", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1});
  auto noting = std::make_shared<Workflow>(*rules.workflows[0]);
  noting->steps.insert(noting->steps.begin(),
                       {.name = "say", .what = step::Note{.text = "${TARGET} is ill on ${HOST}"}});
  rules.workflows[0] = noting;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.wait_for("guard");
  const Healing before = world.engine->healings().all().begin()->second;
  CHECK(lines_of_plan(before, "box").at(1) == "step \"say\": note n0 is ill on box");
  Healing edited = before;
  auto other = std::make_shared<Workflow>(*noting);
  other->steps.front().what = step::Note{.text = "${TARGET} is well"};
  edited.plan = other;
  CHECK(hash_of_plan(edited) != hash_of_plan(before));

  world.end_program(0);
  CHECK(world.wait_for("shutdown") == "n0");
  const auto note = std::ranges::find_if(world.records, [](const Record& one) { return has(one.text, "noted"); });
  REQUIRE(note != world.records.end());
  CHECK(note->text == "healing of n0 with rebuild, step \"say\": noted: n0 is ill on box");
  CHECK(note->kind == RecordKind::HealingStep);
  CHECK(note->severity == Severity::Info);
  CHECK(note->service == "n0");
  const auto report = healing_report_of(*note, *world.engine->graph());
  REQUIRE(report);
  CHECK(report->step == "say");
  CHECK(events(world) == std::vector<std::string>{"Healing begun"});
}

TEST_CASE(
    "a breaker that is open names whose healings have opened it, however long ago, and never one that was abandoned",
    "[healing]") {
  FleetWorld world({.targets = 5, .tries = 1, .breaker = Breaker{.failed = 2, .within = hours{1}}});
  const auto memory = [&]() -> const WorkflowMemory& {
    return *std::ranges::find(world.engine->healings().memory().workflows, "rebuild", &WorkflowMemory::workflow);
  };
  world.fail(3);
  world.wait_for("guard");
  world.handle(command(world, event::Command::Kind::Unmonitor, "n3"));
  world.end_program(0);
  CHECK(memory().counts.abandoned == 1);
  CHECK(memory().failed.empty());
  for (const int round : {0, 1}) {
    world.fail(0);
    world.pass("guard");
    fail_try(world);
    world.heal(0);
    world.advance(minutes{10 + round});
  }
  CHECK(memory().open);
  CHECK(memory().failures.size() == 2);
  CHECK(memory().failed_targets() == std::vector<std::string>{"n0"});
  CHECK(has(last_mail(world, "Healing stopped"), "2 of its healings have failed within 1 h (of n0); "));
  world.fail(1);
  world.advance(minutes{1});
  CHECK(has(last_mail(world, "Healing held back"), "too many healings with rebuild have failed (of n0); "));
}

TEST_CASE("a list is called as the rules write it, wherever healing speaks of it", "[healing]") {
  FleetWorld world({.targets = 6, .listed = true});
  for (int i = 0; i < 4; ++i) world.fail(i);
  world.advance(minutes{1});
  CHECK(std::ranges::any_of(world.records, [](const Record& record) {
    return record.text == "workflow rebuild is paused: 4 of 6 in list NODE are not well, more than 50 %";
  }));
  REQUIRE(world.engine->healings().memory().closed.size() == 2);              // the machines are a group, too
  CHECK(world.engine->healings().memory().closed.back().group == "${node}");  // what is saved is in one case
  CHECK(world.engine->healings().targets().written("${Node}") == "${NODE}");
  CHECK(world.engine->healings().targets().written("${other}") == "${other}");
}

TEST_CASE("a breaker that opens names its targets, and the next target learns at once that it is not healed",
          "[healing]") {
  FleetWorld world({.targets = 4, .tries = 1, .breaker = Breaker{.failed = 2, .within = hours{1}}});
  for (const int target : {0, 1}) {
    world.fail(target);
    world.pass("guard");
    fail_try(world);
    world.heal(target);
    world.advance(minutes{1});
  }
  CHECK(has(last_mail(world, "Healing stopped"), "2 of its healings have failed within 1 h (of n0, n1); "));
  world.fail(2);
  world.advance(seconds{30});
  CHECK(world.alerts_of("Healing held back") == 1);
  const std::string held = last_mail(world, "Healing held back");
  INFO(held);
  CHECK(has(held, "healing of n2 with rebuild is held back: breaker: "));
  CHECK(has(held, "`healerctl healing reset rebuild`"));
  world.advance(hours{1});
  CHECK(world.alerts_of("Healing held back") == 1);
}

TEST_CASE("A healing held back by a limit is reported after ten minutes, with its earliest start", "[healing]") {
  FleetWorld world({.targets = 6, .limits = {{.number = 1}, {.number = 1, .within = hours{1}}}});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.heal(0);
  world.pass("rebuild");
  world.advance(minutes{1});
  world.fail(1);
  world.advance(minutes{9});
  CHECK(world.alerts_of("Healing held back") == 0);
  world.advance(minutes{2});
  CHECK(world.alerts_of("Healing held back") == 1);
  const std::string held = last_mail(world, "Healing held back");
  INFO(held);
  CHECK(has(held, "healing of n1 with rebuild has been held back for 10 m"));
  CHECK(has(held, ": limit reached: 1 of 1 started within 1 h; it can begin in 4"));
  CHECK(has(held, "`healerctl heal n1 --override limit` heals it none the less"));
}

TEST_CASE("a pause of a storm names what it holds, and the way out; one that is overridden says so", "[healing]") {
  FleetWorld world({.targets = 6});
  for (int i = 0; i < 4; ++i) world.fail(i);
  world.advance(minutes{1});
  const std::string paused = last_mail(world, "Healing paused");
  INFO(paused);
  CHECK(has(paused, "4 of 6 in group nodes are not well"));
  CHECK(has(paused, "; held back: n0, n1, n2, n3; `healerctl heal NAME --override pause` heals one"));
  event::Command heal = command(world, event::Command::Kind::Heal, "n2");
  heal.overrides.pause = true;
  world.handle(heal);
  CHECK(world.wait_for("guard") == "n2");
  world.end_program(0);
  world.wait_for("shutdown");
  CHECK(has(last_mail(world, "Healing begun"), "overriding pause (by anna): "));
}

TEST_CASE("a fleet that is a list and a group at once is paused and resumed by one mail each", "[healing]") {
  FleetWorld world({.targets = 6, .listed = true, .written = true});
  for (int i = 0; i < 4; ++i) world.fail(i);
  world.advance(minutes{1});
  CHECK(world.engine->healings().memory().closed.size() == 2);
  CHECK(world.alerts_of("Healing paused") == 1);
  for (int i = 0; i < 4; ++i) world.heal(i);
  world.advance(minutes{1});
  CHECK(world.engine->healings().memory().closed.empty());
  CHECK(world.alerts_of("Healing resumed") == 1);
}

TEST_CASE("of two groups of one workflow that are paused each is told, where neither has all of the other",
          "[healing]") {
  RuleSet rules = fleet_rules({.targets = 12});
  for (std::size_t i = 0; i < 12; ++i) {
    auto block = std::make_shared<ServiceBlock>(*rules.services[i]);
    block->groups = {i < 6 ? "left" : "right"};
    rules.services[i] = std::move(block);
  }
  FleetWorld world(make_graph(std::move(rules)), {}, std::vector<bool>(12), World::kStart);
  for (int i = 0; i < 4; ++i) world.fail(i);
  world.advance(minutes{1});
  CHECK(world.alerts_of("Healing paused") == 1);
  for (int i = 6; i < 10; ++i) world.fail(i);
  world.advance(minutes{1});
  CHECK(world.alerts_of("Healing paused") == 2);
  CHECK(has(last_mail(world, "Healing paused"), "4 of 6 in group right are not well"));
  for (int i = 0; i < 4; ++i) world.heal(i);
  world.advance(minutes{1});
  CHECK(world.alerts_of("Healing resumed") == 1);
}

TEST_CASE("People who paused most of a group are not notified of it", "[healing]") {
  FleetWorld world({.targets = 6});
  world.advance(minutes{1});
  for (int i = 1; i < 6; ++i) world.handle(command(world, event::Command::Kind::Pause, "n" + std::to_string(i)));
  world.fail(0);
  world.advance(minutes{5});
  CHECK(world.programs("guard") == 0);
  for (int i = 1; i < 6; ++i) world.handle(command(world, event::Command::Kind::Resume, "n" + std::to_string(i)));
  CHECK(world.wait_for("guard") == "n0");
  CHECK(world.alerts_of("Healing paused") == 0);
  CHECK(world.alerts_of("Healing resumed") == 0);
}

TEST_CASE("A healing that lacks a secret is refused before its guard, uses no try, and is retried", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 1, .tries = 1, .escalate = true});
  auto plan = std::make_shared<Workflow>(*rules.workflows[0]);
  std::get<step::Program>(plan->steps[1].what).environment = {{"TOKEN", "${secret:x}"}};
  rules.workflows[0] = plan;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.secret_trouble = "secret x: others may read it";
  world.fail(0);
  world.advance(minutes{25});
  CHECK(world.execs.empty());
  CHECK(events(world) == std::vector<std::string>{"Healing refused"});
  CHECK(last_mail(world, "Healing refused") == "healing of n0 with rebuild refused: secret x: others may read it");
  CHECK(world.count(RecordKind::HealingFailed) == 0);
  for (const WorkflowMemory& memory : world.engine->healings().memory().workflows) CHECK(memory.counts.failed == 0);
  world.secret_trouble.clear();
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("the mail of a rule whose action is held back says so", "[engine]") {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Exec};
  rule->action.command = Command{.arguments = {"/bin/fix"}};
  auto block = service("web", {rule});
  *block->recipients = {Recipient{.address = "ops@example"}};
  RuleSet rules = rule_set({block});
  rules.settings.dry_run = true;
  World world(std::move(rules));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{2});
  REQUIRE(world.alerts.size() == 1);
  CHECK(world.alerts[0].cause->action_text == "exec (held back: dry run)");
}

}  // namespace healing_report_test
