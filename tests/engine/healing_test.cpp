// SPDX-License-Identifier: MIT
// Healings on the engine in virtual time: guards, steps, tries, brakes, people.
#include <catch2/catch.hpp>

#include "engine/healing/variables.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"

using namespace healer;
using namespace healer::test;

namespace {

/// A person has it healed.
void want(FleetWorld& world, const std::string& name, Overrides overrides = {}) {
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Heal,
                              .services = {world.id(name)},
                              .by = ByPerson{"anna"},
                              .workflow = "rebuild",
                              .overrides = overrides});
}

}  // namespace

TEST_CASE("a healing asks its guard, does its steps, sees the target recover, and leaves it alone for a while",
          "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  CHECK(world.wait_for("guard") == "n0");
  CHECK(world.engine->healings().rests("n0", world.now));
  world.end_program(0);
  CHECK(world.wait_for("shutdown") == "n0");
  world.end_program(0);
  CHECK(world.wait_for("rebuild") == "n0");
  world.heal(0);
  world.end_program(0);
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
  CHECK(world.count(RecordKind::HealingEnded) == 1);
  CHECK(world.engine->rules(world.id("n0"))[0].status == RuleStatus::Ok);
  CHECK(world.engine->healings().rests("n0", world.now));  // its cooldown
  world.advance(minutes{10});
  CHECK_FALSE(world.engine->healings().rests("n0", world.now));
}

TEST_CASE("a guard that refuses lets nothing begin, uses no try, and is asked again after the cooldown", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.end_program(1);
  CHECK_FALSE(world.engine->healings().rests("n0", world.now));
  CHECK(world.engine->healings().all().size() == 1);
  const std::size_t programs = world.execs.size();
  world.advance(minutes{9});
  CHECK(world.execs.size() == programs);
  world.advance(minutes{2});
  CHECK(world.last_program() == "guard");
  CHECK(world.alerts_of("Healing refused") == 1);
  world.end_program(1);
  world.advance(minutes{11});
  CHECK(world.alerts_of("Healing refused") == 1);  // once
}

TEST_CASE("a healing that waits is dropped where its target is well again", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.end_program(1);
  world.heal(0);
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
}

TEST_CASE("a step is tried again as often as it says; then the try has failed", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.pass("guard");
  for (int attempt = 0; attempt < 3; ++attempt) {  // retry 2 times
    world.wait_for("shutdown");
    world.end_program(7);
    world.advance(seconds{1});
  }
  CHECK(world.programs("shutdown") == 3);
  CHECK(world.programs("rebuild") == 0);
  CHECK(world.alerts_of("Healing failed") == 0);  // that is told with what comes of it
  CHECK(world.engine->healings().all().begin()->second.stage() == Healing::Stage::Between);
  CHECK(world.engine->healings().rests("n0", world.now));
  world.advance(minutes{11});
  CHECK(world.last_program() == "guard");  // the second try
}

TEST_CASE("after the last try on failure is done, and another plan takes over through its own guard", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1, .escalate = true});
  world.fail(0);
  world.pass("guard");
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(7);
    world.advance(seconds{1});
  }
  CHECK(world.alerts_of("Healing failed") == 0);
  CHECK(world.alerts_of("Healing escalated") == 1);
  world.pass("redeploy-guard");
  world.wait_for("redeploy");
  world.heal(0);
  world.end_program(0);
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing recovered") == 1);
}

TEST_CASE("what a step tells people is in the record of the step", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1, .tell = "${TARGET} needs a person"});
  world.fail(0);
  world.pass("guard");
  for (int attempt = 0; attempt < 3; ++attempt) {
    world.wait_for("shutdown");
    world.end_program(1);
  }
  world.advance(seconds{1});
  const auto record = std::ranges::find(
      world.records, "healing of n0 with rebuild, step \"tell\": told: n0 needs a person", &Record::text);
  CHECK(record != world.records.end());
}

TEST_CASE("A healing whose target has not recovered in time is no success", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.pass("rebuild");
  world.advance(minutes{5} + seconds{2});
  CHECK(world.engine->healings().idle());
  CHECK(world.count(RecordKind::HealingFailed) == 1);
  CHECK(world.engine->rules(world.id("n0"))[0].status == RuleStatus::Failed);
  world.advance(hours{1});
  CHECK(world.programs("guard") == 1);  // nothing more starts by rule until it recovers
}

TEST_CASE("two of six that fail at once are healed one after the other", "[healing]") {
  FleetWorld world({.targets = 6});
  world.fail(1);
  world.fail(4);
  CHECK(world.wait_for("guard") == "n1");
  world.advance(minutes{1});
  CHECK(world.programs("guard") == 1);
  world.end_program(0);
  world.pass("shutdown");
  world.heal(1);
  world.pass("rebuild");
  CHECK(world.wait_for("guard") == "n4");
}

TEST_CASE("where more than half of a group fails nothing is healed, and people are told once", "[healing]") {
  FleetWorld world({.targets = 6});
  for (int i = 0; i < 4; ++i) world.fail(i);
  world.advance(minutes{30});
  CHECK(world.programs("guard") == 0);
  CHECK(world.alerts_of("Healing paused") == 1);
  CHECK(world.alerts_of("Healing held back") == 4);
  for (int i = 0; i < 3; ++i) world.heal(i);
  world.advance(seconds{3});
  CHECK(world.alerts_of("Healing resumed") == 1);
  CHECK(world.wait_for("guard") == "n3");
}

TEST_CASE("no more begin within a time than the limit says", "[healing]") {
  FleetWorld world({.targets = 6, .limits = {{.number = 1}, {.number = 2, .within = hours{1}}}});
  world.fail(0);
  for (const int target : {0, 1}) {
    world.pass("guard");
    world.pass("shutdown");
    world.heal(target);
    world.pass("rebuild");
    world.advance(seconds{2});
    world.fail(target + 1);
  }
  world.advance(minutes{30});
  CHECK(world.programs("guard") == 2);
  world.advance(minutes{31});
  CHECK(world.programs("guard") == 3);
}

TEST_CASE("the target's rules to restart wait while it is healed; alerts go", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  const Rule& rule = world.engine->graph()->at(world.id("n0")).rules[0];
  CHECK(world.engine->held_back().of(world.id("n0"), rule, {}, ActionKind::Restart, world.now) == Hold::Healing);
  CHECK(world.engine->held_back().of(world.id("n0"), rule, {}, ActionKind::Unmonitor, world.now) == Hold::Healing);
  CHECK(world.engine->held_back().of(world.id("n0"), rule, {}, ActionKind::Alert, world.now) == Hold::None);
  CHECK(world.engine->held_back().of(world.id("n0"), rule, {}, ActionKind::Exec, world.now) == Hold::None);
}

TEST_CASE("nothing is healed while it is paused, and then it is, where it still fails", "[healing]") {
  FleetWorld world({.targets = 1});
  world.handle(event::Command{
      .id = CommandId{1}, .kind = event::Command::Kind::Pause, .services = {world.id("n0")}, .by = ByPerson{"anna"}});
  world.fail(0);
  world.advance(minutes{5});
  CHECK(world.programs("guard") == 0);
  CHECK(world.engine->healings().all().begin()->second.reason() == "pause: n0 was paused by anna");
  world.handle(event::Command{
      .id = CommandId{2}, .kind = event::Command::Kind::Resume, .services = {world.id("n0")}, .by = ByPerson{"anna"}});
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("a person may cancel: the program is ended, on cancel is done, the lock stays until then", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");
  const HealingId id = world.engine->healings().all().begin()->first;
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Cancel,
                              .services = {},
                              .by = ByPerson{"anna"},
                              .job = JobId{id.number()}});
  CHECK(world.replies.back().ok);
  CHECK(world.engine->healings().rests("n0", world.now));
  world.end_program(-15);
  CHECK(world.wait_for("undo") == "n0");
  world.end_program(0);
  CHECK(world.engine->healings().idle());
  CHECK(world.programs("rebuild") == 0);
}

TEST_CASE("a person's word heals without a rule, and may override brakes but never the guard", "[healing]") {
  FleetWorld world({.targets = 1});
  world.advance(seconds{2});
  want(world, "n0", {.limit = true, .cooldown = true, .pause = true});
  CHECK(world.wait_for("guard") == "n0");
  world.end_program(1);
  CHECK(world.programs("shutdown") == 0);
}

TEST_CASE("A rule that joins the healing of a person is no other rule's", "[healing]") {
  FleetWorld world({.targets = 1});
  world.advance(seconds{2});
  want(world, "n0");
  world.fail(0);
  world.advance(seconds{3});
  CHECK(std::ranges::any_of(world.records, [](const Record& record) {
    return record.text.find("; requested by a rule, too") != std::string::npos;
  }));
}

TEST_CASE("Two healings that a person wants of targets that are well do not hold back each other for ever",
          "[healing]") {
  FleetWorld world({.targets = 3});
  world.advance(seconds{2});
  for (const char* const name : {"n0", "n1"}) want(world, name, {.limit = true});
  world.wait_for("guard");
  world.advance(seconds{3});
  CHECK(world.programs("guard") == 2);
  for (const effect::Exec& guard : std::vector(world.execs))
    world.handle(event::ActionEnded{.action = guard.action, .status = 0, .elapsed = seconds{1}});
  world.advance(seconds{3});
  CHECK(world.programs("shutdown") == 2);
}

TEST_CASE("A guard that lets go begins nothing where too many are not well by then", "[healing]") {
  FleetWorld world({.targets = 3});
  world.fail(0);
  REQUIRE(world.wait_for("guard") == "n0");
  // They are paused: there is nothing else that waits, for which the brake would close.
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Pause,
                              .services = {world.id("n1"), world.id("n2")},
                              .by = ByPerson{"anna"}});
  world.end_program(0);
  CHECK(world.programs("shutdown") == 0);
  CHECK(world.engine->healings().all().begin()->second.reason() ==
        "pause while: 3 of 3 in group nodes are not well (2 of them are paused, which counts as not well); goes on at "
        "no more than 50 %");
}

TEST_CASE("A healing that needs approval waits for it and is approved once", "[healing]") {
  FleetWorld world({.targets = 1, .mode = HealingMode::Approval});
  world.fail(0);
  world.advance(minutes{1});
  CHECK(world.programs("guard") == 0);
  const HealingId id = world.engine->healings().all().begin()->first;
  CHECK(world.alerts_of("Healing needs approval") == 1);
  const event::Command approve{.id = CommandId{1},
                               .kind = event::Command::Kind::Approve,
                               .services = {},
                               .by = ByPerson{"anna"},
                               .job = JobId{id.number()}};
  world.handle(approve);
  CHECK(world.replies.back().ok);
  CHECK(world.wait_for("guard") == "n0");
  world.handle(approve);
  CHECK_FALSE(world.replies.back().ok);
}

TEST_CASE("an approval that nobody gives ends in nothing", "[healing]") {
  FleetWorld world({.targets = 1, .mode = HealingMode::Approval});
  world.fail(0);
  world.advance(hours{1} + minutes{1});
  CHECK(world.programs("guard") == 0);
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing not approved") == 1);
}

TEST_CASE("a dry run runs the guard and does nothing else", "[healing]") {
  FleetWorld world({.targets = 1, .mode = HealingMode::DryRun});
  world.fail(0);
  CHECK(world.wait_for("guard") == "n0");
  CHECK_FALSE(world.engine->healings().rests("n0", world.now));
  world.end_program(0);
  world.advance(minutes{1});
  CHECK(world.programs("shutdown") == 0);
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing would have run") == 1);
}

TEST_CASE("a breaker opens when too many have failed, and a person closes it", "[healing]") {
  FleetWorld world({.targets = 4, .tries = 1, .breaker = Breaker{.failed = 2, .within = hours{1}}});
  for (const int target : {0, 1}) {
    world.fail(target);
    world.pass("guard");
    world.pass("shutdown");
    world.wait_for("rebuild");
    world.end_program(2);
    world.heal(target);
    world.advance(minutes{1});
  }
  CHECK(world.alerts_of("Healing stopped") == 1);
  world.fail(2);
  world.advance(minutes{30});
  CHECK(world.programs("guard") == 2);
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::ResetHealing,
                              .services = {},
                              .by = ByPerson{"anna"},
                              .workflow = "rebuild"});
  CHECK(world.wait_for("guard") == "n2");
}

TEST_CASE("A failure during probation is not healed the same way", "[healing]") {
  FleetWorld world({.targets = 1, .probation = minutes{30}, .escalate = true});
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.heal(0);
  world.pass("rebuild");
  world.advance(minutes{2});
  CHECK(world.alerts_of("Healing recovered") == 1);
  world.fail(0);
  world.advance(minutes{15});  // the cooldown delays the answer
  CHECK(world.programs("guard") == 1);
  CHECK(world.last_program() == "redeploy-guard");
}

TEST_CASE("only what a rule says is a secret, never a value that is filled in", "[healing]") {
  using Part = engine::effect::Place::Part;
  const engine::Variables variables{{"VM", "${secret:other}"}};
  engine::step::Program program;
  program.environment = {{"TOKEN", "x ${secret:key} ${VM}"}, {"PLAIN", "$${secret:key}"}};
  const engine::FilledProgram filled = engine::fill(program, variables, {});
  const auto place = engine::place_of(filled.program, variables, {});
  CHECK(filled.missing.empty());
  REQUIRE(place->environment.size() == 3);
  CHECK(place->environment[0].second == std::vector<Part>{{.text = "${secret:other}"}});  // HEALER_VM
  CHECK(place->environment[1].second ==
        std::vector<Part>{{.text = "x "}, {.text = "key", .secret = true}, {.text = " ${secret:other}"}});
  CHECK(place->environment[2].second == std::vector<Part>{{.text = "${secret:key}"}});
  CHECK(place->has_secrets());
  CHECK_FALSE(engine::place_of({}, variables, {})->has_secrets());
  CHECK(engine::place_of({}, variables, {{"K", "saved"}})->hidden == std::vector<std::string>{"saved"});
}

TEST_CASE("no value with control characters comes into what a program is told", "[healing]") {
  const engine::Variables variables{{"A", std::string("n0\0HOME=/", 9)}, {"B", "two\nlines"}, {"C", "plain"}};
  const auto refused = [&](const auto& change) {
    engine::step::Program program;
    program.command.arguments = {"/bin/act", "${C}"};
    change(program);
    const engine::FilledProgram filled = engine::fill(program, variables, {{"T", "a\tb"}});
    CHECK(engine::why_not_filled(filled.missing, filled.refused).empty() == filled.refused.empty());
    return filled.refused;
  };
  CHECK(refused([](auto&) {}).empty());
  CHECK(refused([](auto& program) { program.command.arguments.emplace_back("x=${A}"); }) == "A");
  CHECK(refused([](auto& program) { program.directory = "/srv/${B}"; }) == "B");
  CHECK(refused([](auto& program) { program.environment = {{"X", "${B}"}}; }) == "B");
  CHECK(refused([](auto& program) { program.environment = {{"X", "${T}"}}; }) == "T");
  CHECK(refused([](auto& program) { program.environment = {{"X", "a\nb ${C}"}}; }).empty());  // the rule's own
  CHECK(engine::why_not_filled("", "B") == "cannot use the value of ${B}: it contains control characters");
}

TEST_CASE("a program that is released again after the daemon died is told the name of the machine", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.commits = false;
  world.end_program(0);
  world.commits = true;
  FleetWorld next(make_graph(fleet_rules({.targets = 1})), world.saved, world.failed, world.now);
  REQUIRE(next.wait_for("shutdown") == "n0");
  const auto& environment = next.execs.back().place->environment;
  const auto host = std::ranges::find(environment, "HEALER_HOST", [](const auto& entry) { return entry.first; });
  REQUIRE(host != environment.end());
  CHECK(host->second.at(0).text == "box");
}
