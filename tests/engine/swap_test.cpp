// SPDX-License-Identifier: MIT
// From one generation to the next: what is kept, what starts over.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace swap_test {

using namespace healer;
using namespace healer::test;

namespace {

void swap(World& world, RuleSet next) { world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))}); }

const Rule kThree = status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}});
const Rule kTwo = status_rule(Comparison::Equal, 2, {2, 2, Duration{0}});

}  // namespace

TEST_CASE("swapping in an equal graph yields no effects", "[engine]") {
  const auto rules = [] { return rule_set({service("a", {kThree}), service("b", {kTwo, kThree})}); };
  World world(rules());
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{5});
  world.effects.clear();
  swap(world, rules());
  CHECK(world.effects.empty());
  CHECK(world.engine->graph()->generation == 2);
}

TEST_CASE("counters go on over a reload that moves and adds rules", "[engine]") {
  auto before = service("a", {kThree});
  auto after = service("a", {kThree, kTwo});
  World world(rule_set({before}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(milliseconds{1500});
  REQUIRE(world.execs.empty());
  swap(world, rule_set({after}));
  world.advance(milliseconds{1000});
  CHECK(world.execs.size() == 1);
}

TEST_CASE("a removed service is forgotten and its run cancelled; another keeps its slot and state", "[engine]") {
  World world(rule_set({service("a", {kThree}), service("b", {kThree})}));
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.open.size() == 2);
  const ServiceId b = world.id("b");
  swap(world, rule_set({service("b", {kThree}), service("c", {kThree})}));
  CHECK(world.id("b") == b);
  CHECK_FALSE(world.engine->graph()->find("a"));
  world.advance(Duration{0});
  CHECK(world.open.size() == 2);  // b's is still under way, c's has begun
  CHECK(world.saved.services.count("a") == 0);
}

TEST_CASE("a run under way is not judged for other connections, nor for another host", "[engine]") {
  const auto host = [](std::string address, std::size_t probes) {
    Rule rule = status_rule(Comparison::NotEqual, 0);
    rule->condition = RuleCondition{{Reached{.probe = 0, .wanted = false}}};
    auto block = service("shop", {rule});
    block->kind = kind_named("host");
    block->other.edit().host = std::move(address);
    block->probes.edit().resize(probes);
    return block;
  };
  const auto swap_to = [&](std::string address, std::size_t probes) {
    World world(rule_set({host("10.0.0.1", 2)}));
    world.start();
    world.advance(seconds{1});
    REQUIRE(world.open.size() == 1);
    const auto run = world.open.front().run;
    auto next = host(std::move(address), probes);
    next->key = hash128("other");
    swap(world, rule_set({next}));
    const bool cancelled = std::ranges::any_of(world.effects, [&](const Effect& effect) {
      const auto* cancel = std::get_if<effect::CancelRun>(&effect);
      return cancel != nullptr && cancel->run == run;
    });
    return cancelled;
  };
  CHECK(swap_to("10.0.0.1", 1));
  CHECK(swap_to("10.0.0.2", 2));
}

TEST_CASE("what replaced rules have left is cleared away, and each rule keeps its own test", "[engine]") {
  constexpr int kRules = 700;
  const auto many = [](int round) {
    std::vector<Rule> rules;
    for (int i = 0; i < kRules; ++i) rules.push_back(status_rule(Comparison::Equal, round * kRules + i + 1));
    return service("many", std::move(rules));
  };
  World world(rule_set({many(0), service("one", {status_rule(Comparison::NotEqual, 0)})}));
  int of_many = 0;
  int of_one = 0;
  world.answer = [&](ServiceId id) { return id == world.id("one") ? of_one : of_many; };
  world.start();
  world.advance(milliseconds{1500});
  for (int round = 1; round <= 4; ++round) {
    swap(world, rule_set({many(round), service("one", {status_rule(Comparison::NotEqual, 0)})}));
    world.advance(seconds{2});
    REQUIRE(world.execs.empty());
  }
  of_many = 4 * kRules + 17;
  world.advance(seconds{1});
  REQUIRE(world.execs.size() == 1);
  CHECK(world.execs.back().cause->service == "many");
  of_one = 1;
  world.advance(seconds{1});
  REQUIRE(world.execs.size() == 2);
  CHECK(world.execs.back().cause->service == "one");
}

TEST_CASE("a result of a cancelled run is ignored", "[engine]") {
  World world(rule_set({service("a", {status_rule(Comparison::NotEqual, 0)})}));
  world.start();
  world.advance(Duration{0});
  const auto run = world.open.front();
  auto changed = service("a", {status_rule(Comparison::NotEqual, 0)});
  changed->program->command.arguments = {"/bin/other"};
  changed->key = hash128("other");
  swap(world, rule_set({changed}));
  world.handle(event::measured(run.service, run.run, {.status = 1, .output = std::make_shared<const std::string>()}));
  CHECK(world.execs.empty());
}

TEST_CASE("an exec never overlaps itself, though its service is written in another case now", "[engine]") {
  World world(rule_set({service("web", {status_rule(Comparison::NotEqual, 0, {}, 1)})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(milliseconds{1500});
  REQUIRE(world.execs.size() == 1);
  world.handle(event::ActionStarted{world.execs[0].action, 44});
  auto renamed = std::make_shared<ServiceBlock>(world.engine->graph()->at(world.id("web")));
  renamed->name = "Web";
  swap(world, rule_set({renamed}));
  world.advance(seconds{3});
  CHECK(world.execs.size() == 1);
  world.handle(event::ActionEnded{.action = world.execs[0].action});
  CHECK(world.execs.size() == 2);
}

}  // namespace swap_test
