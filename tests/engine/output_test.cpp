// SPDX-License-Identifier: MIT
// `content changed`, and rules whose action is `ignore`.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace output_test {

using namespace healer;
using namespace healer::test;

namespace {

Action exec(const std::string& program) {
  return {.kind = ActionKind::Exec, .command = Command{.arguments = {program}}};
}

/// `if content changed TOLERANCE then exec /failed else if succeeded RECOVERY then exec /back`
Rule changed(bool negated, Tolerance tolerance = {}, Tolerance recovery = {}) {
  Rule rule = status_rule(Comparison::Equal, 0, tolerance);
  rule->condition = RuleCondition{{OutputChanged{.negated = negated}}};
  rule->event = EventKind::Content;
  rule->each_run = true;
  rule->action = exec("/failed");
  rule->recovery->tolerance = recovery;
  rule->recovery->action = exec("/back");
  return rule;
}

void see(World& world, const std::string& output, Outcome outcome = Outcome::Exited) {
  const effect::Measure run = world.open.back();
  world.open.clear();
  Facts facts;
  if (outcome == Outcome::Exited) facts.attributes.push_back({Attribute::Output, output_value(output)});
  world.handle(event::measured(run.service, run.run,
                               {.outcome = outcome,
                                .output = std::make_shared<const std::string>(output),
                                .facts = std::make_shared<const Facts>(facts)}));
}

/// What was started in each run: '.' nothing, 'F' the action, 'b' that of the recovery.
std::string course(const Rule& rule, const std::string& outputs) {
  World world(rule_set({service("s", {rule})}));
  world.start();
  std::string sequence;
  for (const char output : outputs) {
    world.advance(sequence.empty() ? Duration{0} : Duration{seconds{1}});
    see(world, output == '!' ? "half" : std::string(1, output), output == '!' ? Outcome::TimedOut : Outcome::Exited);
    sequence += world.execs.empty() ? '.' : world.execs.front().recovery ? 'b' : 'F';
    for (const effect::Exec& one : std::exchange(world.execs, {}))
      world.handle(event::ActionEnded{.action = one.action});
  }
  return sequence;
}

}  // namespace

TEST_CASE("a changed output acts at every change, and the first run without one is the recovery") {
  CHECK(course(changed(false), "aabbbcdd") == "..Fb.FFb");
  CHECK(course(changed(true), "aabbbcdd") == ".FbFFb.F");
  CHECK(course(changed(false, {2, 2}), "aabbbcdefff") == "......FFFb.");
  CHECK(course(changed(false, {}, {2, 2}), "abbcccc") == ".F.F.b.");
}

TEST_CASE("what a program wrote before its timeout is not compared") {
  CHECK(course(changed(false), "aa!aab") == ".....F");
}

TEST_CASE("what a program wrote is known after a restart, and no other program's output") {
  const auto rules = [](const std::string& program) {
    auto block = service("s", {changed(false)});
    block->program->command.arguments = {program};
    return rule_set({block});
  };
  World first(rules("/one"));
  first.start();
  first.advance(Duration{0});
  see(first, "a");
  const auto begun = [&](const std::string& program) {
    World next(make_graph(rules(program)), first.saved, first.now);
    next.start();
    next.advance(Duration{0});
    see(next, "b");
    return next.execs.size();
  };
  CHECK(begun("/one") == 1);
  CHECK(begun("/other") == 0);
}

TEST_CASE("a change tells both texts") {
  World world(rule_set({service("s", {changed(false)})}));
  world.start();
  world.advance(Duration{0});
  see(world, "one\n");
  world.advance(seconds{1});
  see(world, "two\n");
  REQUIRE(world.execs.size() == 1);
  CHECK(
      world.execs[0].cause->description ==
      "content changed:\n<<<<<<< Begin previous\none\n======= End previous - Begin current\ntwo\n>>>>>>> End current");
  CHECK(world.execs[0].cause->event_text == "Content match");
}

TEST_CASE("An ignored failure notifies nobody and runs nothing") {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Ignore, .command = {}};
  rule->recovery->action = {.kind = ActionKind::Ignore, .command = {}};
  auto block = service("s", {rule});
  EventMask all;
  all.set();
  block->recipients->push_back({.address = "a@b", .events = all, .reminder = 1});
  World world(rule_set({block}));
  world.start();
  for (const int status : {0, 1, 1, 1, 0}) {
    world.advance(seconds{1});
    world.observe(world.id("s"), status);
  }
  CHECK(world.alerts.empty());
  CHECK(world.execs.empty());
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
  CHECK(world.count(RecordKind::RuleRepeated) == 0);
  CHECK(world.count(RecordKind::ActionHeld) == 0);
}

TEST_CASE("an ignored failure is told of by a recovery that is not") {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Ignore, .command = {}};
  rule->recovery->action = exec("/back");
  World world(rule_set({service("s", {rule})}));
  world.start();
  for (const int status : {1, 0}) {
    world.advance(seconds{1});
    world.observe(world.id("s"), status);
  }
  REQUIRE(world.execs.size() == 1);
  CHECK(world.execs[0].command.arguments == std::vector<std::string>{"/back"});
}

}  // namespace output_test
