// SPDX-License-Identifier: MIT
// WHAT of a service: the rule that fails first, and the words for it.
#include <catch2/catch.hpp>

#include "control/daemon_world.hpp"
#include "control/service_words.hpp"
#include "control/views.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"

namespace service_words_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

Rule compares(Metric metric, double value, std::string text) {
  Rule rule;
  rule->condition = RuleCondition{{Compare{metric, Comparison::Greater, value}}};
  rule->action = {.kind = ActionKind::Alert, .command = {}};
  rule->event = EventKind::Resource;
  rule->text = std::move(text);
  return rule;
}

RuleSet machine() {
  auto here = service("here", {compares(Metric::Load1, 10, "if loadavg(1min) > 10 then alert"),
                               compares(Metric::SystemMemory, 90, "if memory > 90% then alert"),
                               compares(Metric::SystemCpu, 95, "if cpu > 95% for 2 cycles then alert")});
  here->rules[2]->tolerance = {2, 2, Duration{0}};
  here->kind = kind_named("system");
  return rule_set({here});
}

void check(World& world, double load, double memory, double cpu) {
  Facts facts;
  facts.metrics.set(Metric::Load1, load);
  facts.metrics.set(Metric::SystemMemory, memory);
  facts.metrics.set(Metric::SystemCpu, cpu);
  world.advance(seconds{1});
  const effect::Measure run = world.open.back();
  world.open.clear();
  world.handle(event::measured(
      run.service, run.run,
      {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)}));
}

std::string what(const World& world, const std::string& name) {
  return summarise(*world.engine, world.id(name), world.now).text;
}

}  // namespace

TEST_CASE("WHAT of a machine names the rule that it fails, and the value that this compares", "[control]") {
  World world(machine());
  world.start();
  check(world, 0.2, 50, 12);
  CHECK(what(world, "here") == "loadavg(1min) 0.20, cpu 12.0%, memory 50.0%");
  check(world, 0.2, 95.5, 12);
  CHECK(what(world, "here") == "memory > 90%: memory 95.5%");
  const ServiceSummary summary = summarise(*world.engine, world.id("here"), world.now);
  CHECK(summary.state == "failed");
  CHECK(summary.rule == "if memory > 90% then alert");
  check(world, 12, 96, 97);
  CHECK(what(world, "here") == "loadavg(1min) > 10: loadavg(1min) 12.00 (and 1 more rule)");
  check(world, 0.2, 50, 12);
  check(world, 0.2, 50, 97);
  CHECK(what(world, "here") == "cpu > 95%: cpu 97.0% (1 of the last 2 runs failed, 2 in a row are needed)");
}

TEST_CASE("WHAT of a service that is about to recover says what is missing to that", "[control]") {
  Rule slow = status_rule(Comparison::NotEqual, 0);
  slow->recovery->tolerance = {2, 2, Duration{0}};
  slow->text = "if status != 0 then exec \"/bin/heal for then\" else if succeeded for 2 cycles then alert";
  World world(rule_set({service("web", {slow})}));
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("web"), 1, Outcome::Exited, "no route\n");
  CHECK(what(world, "web") == "status != 0: exit status 1 in 5 ms: no route");
  world.advance(seconds{1});
  world.observe(world.id("web"), 0);
  CHECK(what(world, "web") == "status != 0: exit status 0 in 5 ms; 1 of the last 2 runs passed, 2 are needed");
}

TEST_CASE("WHAT of a process that could not be started has the last words of its start program", "[control]") {
  ProcessWorld world(rule_set({process("shop")}, minutes{1}));
  world.doings["start shop"] = {.hangs = true};
  world.start();
  world.run(seconds{1});
  REQUIRE(world.execs.size() == 1);
  CHECK(what(world, "shop").starts_with("restart shop: step 2 of 2, start shop"));
  world.handle(event::ActionEnded{
      .action = world.execs.front().action, .status = 3, .output = "reading shop.conf\nport 80 is in use\n"});
  world.settle();
  world.run(milliseconds{900});
  CHECK(what(world, "shop") == "process is not running; failed to start (exit status 3): port 80 is in use");
}

TEST_CASE("what is measured of a path is shown, with its size", "[control]") {
  auto block = service("file", {compares(Metric::Size, 1e9, "if size > 1 GB then alert")});
  block->kind = kind_named("file");
  block->path = "/a";
  World world(rule_set({block}));
  world.start();
  world.advance(seconds{1});
  Facts facts;
  facts.path = PathFacts{.has_size = true, .size = 2048, .accessed = 90, .modified = 40, .changed = 70, .seen = 100};
  world.handle(event::measured(
      world.open.back().service, world.open.back().run,
      {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)}));
  std::string shown;
  for (const auto& one : view_status(*world.engine, world.id("file"), {}, world.now).measured)
    shown += one.name + " " + one.text + ", ";
  CHECK(shown == "access time 10 s, modification time 1 m, change time 30 s, timestamp 30 s, size 2 kB, ");
  CHECK(what(world, "file") == "size 2 kB");
}

TEST_CASE("the condition of a rule is what stands before its tolerance and its action", "[control]") {
  CHECK(condition_of_text("if status != 0 for 3 cycles then alert") == "status != 0");
  CHECK(condition_of_text("if cpu > 90% for 5 times within 8 cycles then exec \"a for b\"") == "cpu > 90%");
  CHECK(condition_of_text("if content = \"x for y then z\" then alert") == "content = \"x for y then z\"");
  CHECK(condition_of_text("if 5 restarts within 10 cycles then unmonitor") == "5 restarts within 10 cycles");
}

}  // namespace service_words_test
