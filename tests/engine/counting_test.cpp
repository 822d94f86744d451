// SPDX-License-Identifier: MIT
// The engine's counting against a model of Monit's, which was found by experiment on the real one: a list of outcomes
// in, the runs at which actions fire out.
#include <random>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/counting_model.hpp"
#include "support/engine_world.hpp"
#include "support/rounds.hpp"

namespace counting_test {

using namespace healer;
using namespace healer::test;

namespace {

std::string judged(const Course& plan, bool crashes) {
  Rule rule = status_rule(Comparison::NotEqual, 0, plan.fail, static_cast<std::uint16_t>(plan.repeat));
  if (plan.recovery) rule->recovery->tolerance = *plan.recovery;
  rule->newer_counting = plan.newer;
  rule->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/recovered"}}};
  const RuleSet rules = rule_set({service("s", {rule})});
  auto world = std::make_unique<World>(rules);
  world->start();
  std::string fired;
  for (std::size_t run = 1; run <= plan.bad.size(); ++run) {
    world->advance(run == 1 ? Duration{0} : Duration{seconds{1}});
    REQUIRE(world->open.size() == 1);
    world->observe(world->id("s"), plan.bad[run - 1] ? 1 : 0);
    for (const effect::Exec& exec : std::exchange(world->execs, {})) {
      fired += (exec.recovery ? "c" : "r") + std::to_string(run) + " ";
      world->handle(event::ActionEnded{.action = exec.action});
    }
    if (!crashes || run % 3 != 0) continue;
    // Cut off and begun again: what was saved must be all that counts.
    const Instant at{world->now.boot, world->now.mono + milliseconds{10}, world->now.wall + milliseconds{10}};
    world = std::make_unique<World>(make_graph(rules), world->saved, at);
    world->start();
    REQUIRE(world->execs.empty());
    world->advance(Duration{0});
    if (run == plan.bad.size()) break;
    ++run;
    REQUIRE(world->open.size() == 1);
    world->observe(world->id("s"), plan.bad[run - 1] ? 1 : 0);
    for (const effect::Exec& exec : std::exchange(world->execs, {})) {
      fired += (exec.recovery ? "c" : "r") + std::to_string(run) + " ";
      world->handle(event::ActionEnded{.action = exec.action});
    }
  }
  return fired;
}

/// The same with all that must not count put between the runs: wake-ups, commands, runs that people ask for, reloads
/// that change nothing or something else.
std::string judged_amid_noise(const Course& plan, std::mt19937& random) {
  Rule rule = status_rule(Comparison::NotEqual, 0, plan.fail, static_cast<std::uint16_t>(plan.repeat));
  rule->recovery->tolerance = plan.recovery.value_or(Tolerance{});
  rule->newer_counting = plan.newer;
  rule->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/recovered"}}};
  Rule other = status_rule(Comparison::Equal, 77, {5, 9, Duration{0}});
  Rule another = status_rule(Comparison::Equal, 78, {5, 9, Duration{0}});
  const auto rules = [&](std::uint32_t kind) {
    std::vector<Rule> of_s{rule};
    if (kind % 2 == 1) of_s.insert(of_s.begin(), other);
    if (kind % 3 == 1) of_s.push_back(another);
    std::vector<std::shared_ptr<ServiceBlock>> services{service("s", of_s)};
    if (kind % 5 == 1) services.insert(services.begin(), service("t", {other}));
    return rule_set(std::move(services));
  };
  const bool peeks = !rule->tolerance.immediate() && !rule->recovery->tolerance.immediate();
  World world(rules(0));
  world.start();
  std::string fired;
  std::uint64_t command = 0;
  for (std::size_t run = 1; run <= plan.bad.size(); ++run) {
    world.advance(run == 1 ? Duration{0} : world.engine->times(world.id("s")).due.value() - world.now.mono);
    world.observe(world.id("s"), plan.bad[run - 1] ? 1 : 0);
    for (const effect::Exec& exec : std::exchange(world.execs, {})) {
      fired += (exec.recovery ? "c" : "r") + std::to_string(run) + " ";
      world.handle(event::ActionEnded{.action = exec.action});
    }
    for (auto noise = random() % 4; noise > 0; --noise) {
      const auto tell = [&](event::Command::Kind kind) {
        world.handle(event::Command{CommandId{++command}, kind, {world.id("s")}, ByPerson{"somebody"}});
      };
      switch (random() % 6) {
        case 0: world.handle(event::Wake{}); break;
        case 1: tell(event::Command::Kind::Monitor); break;
        case 2: tell(event::Command::Kind::Accept); break;
        case 3:
          if (!peeks) break;
          tell(event::Command::Kind::Validate);
          world.observe(world.id("s"), static_cast<std::int64_t>(random() % 2));
          break;
        case 4:
          world.handle(event::Swap{plan_swap(*world.engine->graph(), rules(static_cast<std::uint32_t>(random())))});
          break;
        default: world.advance(milliseconds{random() % 40}); break;
      }
    }
  }
  return fired;
}

}  // namespace

TEST_CASE("wake-ups, commands and reloads of other rules never move a counter", "[engine][property]") {
  std::mt19937 random(17);
  for (int i = 0; i < healer::test::rounds(2000); ++i) {
    const Course plan = random_course(random, 40);
    REQUIRE(judged_amid_noise(plan, random) == model(plan));
  }
}

TEST_CASE("the engine counts as Monit does", "[engine][property]") {
  std::mt19937 random(20261121);
  for (int i = 0; i < healer::test::rounds(5000); ++i) {
    const Course plan = random_course(random, 60);
    REQUIRE(judged(plan, false) == model(plan));
  }
}

TEST_CASE("a crash after any run changes nothing of the counting", "[engine][property]") {
  std::mt19937 random(5);
  for (int i = 0; i < healer::test::rounds(2000); ++i) {
    const Course plan = random_course(random, 40);
    REQUIRE(judged(plan, true) == model(plan));
  }
}

}  // namespace counting_test
