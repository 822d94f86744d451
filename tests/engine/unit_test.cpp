// SPDX-License-Identifier: MIT
// Units of systemd: how they stand, when they are looked at, and whose it is to start them.
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/unit.hpp"
#include "support/engine_world.hpp"

namespace unit_test {

using namespace healer;
using namespace healer::test;

namespace {

Rule standing_rule(std::string_view beginning, ActionKind action, Tolerance tolerance = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0, tolerance);
  rule->condition =
      RuleCondition{{Worded{.what = Attribute::UnitStanding, .is_pattern = true, .text = std::string(beginning)}}};
  rule->condition->hash = hash128(beginning);
  rule->action = {.kind = action};
  rule->text = "if " + std::string(beginning) + " " + std::to_string(tolerance.count);
  return rule;
}

Rule failed(ActionKind action = ActionKind::Restart, Tolerance tolerance = {}) {
  return standing_rule(kStandsFailed, action, tolerance);
}

/// As the compiler makes it of `check unit NAME with name "NAME.service"`.
std::shared_ptr<ServiceBlock> unit(std::string name, std::vector<Rule> rules) {
  const std::string full = name + ".service";
  auto block = service(std::move(name), std::move(rules));
  block->kind = kind_named("unit");
  block->program = {};
  block->other.edit().unit = full;
  block->programs.edit().start = unit_command(UnitVerb::Start, full);
  block->programs.edit().stop = unit_command(UnitVerb::Stop, full);
  block->programs.edit().restart = unit_command(UnitVerb::Restart, full);
  return block;
}

void begin(World& world) {
  world.start();
  while (world.open.empty()) world.advance(milliseconds{100});
}

void answer(World& world, const effect::Measure& run, const UnitFacts& facts) {
  Evidence seen;
  seen.output = std::make_shared<const std::string>();
  auto found = std::make_shared<Facts>();
  found->attributes.edit() = {{Attribute::UnitState, facts.active},
                              {Attribute::UnitSubstate, facts.sub},
                              {Attribute::UnitStanding, standing_of(facts)}};
  seen.facts = std::move(found);
  world.handle(event::measured(run.service, run.run, std::move(seen)));
}

/// The run that is open, or comes soon, finds this.
void find(World& world, const UnitFacts& facts) {
  for (int i = 0; i < 20 && world.open.empty(); ++i) world.advance(milliseconds{100});
  REQUIRE(world.open.size() == 1);
  const effect::Measure run = world.open.front();
  world.open.clear();
  answer(world, run, facts);
}

const UnitFacts kRunning{.load = "loaded", .active = "active", .sub = "running"};
const UnitFacts kFailed{.load = "loaded", .active = "failed", .sub = "failed", .result = "exit-code"};
const UnitFacts kRestarting{.load = "loaded", .active = "activating", .sub = "auto-restart"};

/// The jobs that systemd was asked for, in order.
std::string asked(const World& world) {
  std::string all;
  for (const effect::Exec& exec : world.execs) {
    const auto order = unit_order(exec.command);
    REQUIRE(order);
    all += std::string(all.empty() ? "" : ", ") + std::string(to_string(order->verb)) + " " + order->unit;
  }
  return all;
}

void end_job(World& world, std::string failure = {}) {
  const ActionId action = world.execs.back().action;
  world.handle(event::ActionStarted{.action = action});
  world.handle(event::ActionEnded{.action = action, .status = failure.empty() ? 0 : 1, .output = std::move(failure)});
}

std::string last_of(const World& world, RecordKind kind) {
  std::string text;
  for (const Record& record : world.records)
    if (record.kind == kind) text = record.text;
  return text;
}

void change(World& world) { world.handle(event::ProcessDied{.service = world.id("web")}); }

}  // namespace

TEST_CASE("a unit stands as systemd says", "[engine][unit]") {
  const auto standing = [](std::string load, std::string active, std::string sub, std::string result = {}) {
    return standing_of({std::move(load), std::move(active), std::move(sub), std::move(result)});
  };
  CHECK(standing("loaded", "active", "running", "success") == "active (running)");
  CHECK(standing("loaded", "reloading", "reload") == "active (reloading)");
  CHECK(standing("loaded", "inactive", "dead") == "inactive (dead)");
  CHECK(standing("masked", "inactive", "dead") == "inactive (masked)");
  CHECK(standing("not-found", "inactive", "dead") == "failed (no such unit)");
  CHECK(standing("loaded", "failed", "failed", "exit-code") == "failed (exit-code)");
  CHECK(standing("loaded", "failed", "failed", "success") == "failed (failed)");
  CHECK(standing("masked", "failed", "failed", "signal") == "failed (signal)");
  CHECK(standing("loaded", "failed", "failed-before-auto-restart") == "activating (failed-before-auto-restart)");
  CHECK(standing("loaded", "activating", "auto-restart", "exit-code") == "activating (auto-restart)");
}

TEST_CASE("the name of a unit has a type, and is no template", "[engine][unit]") {
  for (const char* good : {"nginx.service", "getty@tty1.service", "dev-sda1.device", "-.mount", "a\\x2db.timer"})
    CHECK(unit_name_problem(good).empty());
  for (const std::string& bad :
       {std::string(), std::string("nginx"), std::string(".service"), std::string("getty@.service"),
        std::string("@tty1.service"), std::string("a b.service"), std::string(300, 'a') + ".service"})
    CHECK_FALSE(unit_name_problem(bad).empty());
}

TEST_CASE("a job of systemd is told from a program", "[engine][unit]") {
  const auto order = unit_order(unit_command(UnitVerb::Restart, "a.service"));
  REQUIRE(order);
  CHECK(order->verb == UnitVerb::Restart);
  CHECK(order->unit == "a.service");
  for (std::vector<std::string> words : std::vector<std::vector<std::string>>{
           {"/usr/bin/systemctl", "start", "a.service"}, {"systemd", "reload", "a.service"}, {"systemd", "start"}})
    CHECK_FALSE(unit_order(Command{.arguments = std::move(words)}));
}

TEST_CASE("a change that systemd tells is looked at at once, and counts once a cycle", "[engine][unit]") {
  World world(rule_set({unit("web", {failed(ActionKind::Alert, {2, 2, Duration{0}})})}, minutes{1}));
  begin(world);
  find(world, kRunning);
  world.advance(seconds{10});
  CHECK(world.open.empty());
  change(world);
  find(world, kFailed);
  CHECK(world.count(RecordKind::RuleFailed) == 0);
  change(world);  // the same cycle: looked at, not counted
  find(world, kFailed);
  CHECK(world.count(RecordKind::RuleFailed) == 0);
  world.advance(minutes{1});
  REQUIRE(!world.open.empty());
  find(world, kFailed);
  world.advance(minutes{1});
  if (!world.open.empty()) find(world, kFailed);
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  CHECK(last_of(world, RecordKind::RuleFailed) == "unit is failed (exit-code)");
}

TEST_CASE("a rule restarts a unit by one job of systemd", "[engine][unit]") {
  World world(rule_set({unit("web", {failed()})}, minutes{1}));
  begin(world);
  find(world, kFailed);
  CHECK(asked(world) == "restart web.service");
  change(world);  // its own doing
  CHECK(world.open.empty());
  end_job(world);
  CHECK(world.count(RecordKind::JobEnded) == 1);
  find(world, kRunning);  // it is looked at after that
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
}

TEST_CASE("what systemd refuses is told in its words, and tried again later", "[engine][unit]") {
  World world(rule_set({unit("web", {failed(ActionKind::Start)})}, minutes{1}));
  begin(world);
  find(world, kFailed);
  CHECK(asked(world) == "start web.service");
  end_job(world, "Unit web.service is masked.");
  CHECK(last_of(world, RecordKind::JobFailed) == "start failed: failed to start: Unit web.service is masked.");
  while (world.execs.size() == 1) {
    world.advance(seconds{1});
    if (!world.open.empty()) find(world, kFailed);
  }
  CHECK(asked(world) == "start web.service, start web.service");
}

TEST_CASE("a unit that soon fails again is restarted more and more rarely", "[engine][unit]") {
  World world(rule_set({unit("web", {failed()})}, minutes{10}));
  begin(world);
  std::vector<Duration> restarts;
  Duration last = world.now.mono;
  for (int i = 0; i < 4; ++i) {
    if (world.open.empty()) change(world);
    while (world.execs.size() == restarts.size()) {
      world.advance(milliseconds{100});
      if (!world.open.empty()) find(world, kFailed);
    }
    restarts.push_back(world.now.mono - last);
    last = world.now.mono;
    end_job(world);
  }
  CHECK(restarts[1] >= milliseconds{800});
  CHECK(restarts[2] >= milliseconds{1'600});
  CHECK(restarts[3] >= milliseconds{3'200});
}

TEST_CASE("a stop that systemd does not do has failed", "[engine][unit]") {
  World world(rule_set({unit("web", {failed()})}, minutes{1}));
  begin(world);
  find(world, kRunning);
  world.handle(event::Command{.id = CommandId{5},
                              .kind = event::Command::Kind::Stop,
                              .services = {world.id("web")},
                              .by = ByPerson{.name = "root", .via = Via::Socket}});
  CHECK(asked(world) == "stop web.service");
  end_job(world, "Interactive authentication required.");
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies.front().ok);
  CHECK(world.replies.front().text.find("failed to stop: Interactive authentication required.") != std::string::npos);
}

TEST_CASE("a job that systemd does not end in time is cancelled and has failed", "[engine][unit]") {
  World world(rule_set({unit("web", {failed()})}, minutes{30}));
  begin(world);
  find(world, kFailed);
  world.handle(event::ActionStarted{.action = world.execs.back().action});
  world.advance(kUnitJobTimeout - seconds{1});
  CHECK(world.count(RecordKind::JobFailed) == 0);
  world.advance(seconds{2});
  CHECK(last_of(world, RecordKind::JobFailed) ==
        "restart failed: failed to restart: systemd has not done it within 10 m");
  bool is_ended = false;
  for (const Effect& effect : world.effects) is_ended = is_ended || std::holds_alternative<effect::EndAction>(effect);
  CHECK(is_ended);
}

TEST_CASE("what systemd restarts by itself is left to it until it has given up", "[engine][unit]") {
  World world(rule_set({unit("web", {standing_rule("^(activating|failed)", ActionKind::Restart)})}, seconds{10}));
  begin(world);
  find(world, kRestarting);
  CHECK(world.execs.empty());
  CHECK(last_of(world, RecordKind::JobHeld) == "restart waits: systemd restarts it by itself (auto-restart)");
  for (int i = 0; i < 3; ++i) {
    world.advance(seconds{10});
    find(world, kRestarting);
  }
  CHECK(world.execs.empty());
  CHECK(world.count(RecordKind::JobHeld) == 1);
  world.advance(seconds{10});
  find(world, kFailed);
  CHECK(asked(world) == "restart web.service");
}

TEST_CASE("a person may restart what systemd is about to restart", "[engine][unit]") {
  World world(rule_set({unit("web", {failed()})}, minutes{1}));
  begin(world);
  find(world, kRestarting);
  world.handle(event::Command{.id = CommandId{5},
                              .kind = event::Command::Kind::Restart,
                              .services = {world.id("web")},
                              .by = ByPerson{.name = "root", .via = Via::Socket}});
  CHECK(asked(world) == "restart web.service");
}

TEST_CASE("what depends on a unit is stopped before it and started after it", "[engine][unit]") {
  auto app = unit("app", {});
  app->depends.push_back("web");
  World world(rule_set({unit("web", {failed()}), std::move(app)}, minutes{1}));
  world.start();
  while (world.execs.empty()) {
    world.advance(seconds{1});
    for (const effect::Measure& run : std::exchange(world.open, {}))
      answer(world, run, run.service == world.id("web") ? kFailed : kRunning);
  }
  for (int i = 0; i < 3 && world.count(RecordKind::JobEnded) == 0; ++i) end_job(world);
  CHECK(asked(world) == "stop app.service, restart web.service, start app.service");
}

}  // namespace unit_test
