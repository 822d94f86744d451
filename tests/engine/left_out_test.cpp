// SPDX-License-Identifier: MIT
// Services whose row, or list, is left out of the rules for now: what is known of them stays.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "engine/judging/rows.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"
#include "support/fleet_world.hpp"

namespace left_out_test {

using namespace healer;
using namespace healer::test;

namespace {

const Rule kTwice = status_rule(Comparison::NotEqual, 0, {2, 2, Duration{0}});

std::shared_ptr<ServiceBlock> of_row(const std::string& row) {
  auto block = service("ping_" + row, {kTwice});
  block->row = std::make_shared<const Row>(Row{.target = row, .variables = {{"NODE", row}}, .lists = {"NODE"}});
  return block;
}

RuleSet rules_of(std::vector<std::shared_ptr<ServiceBlock>> services, LeftOut left_out = {}) {
  RuleSet rules = rule_set(std::move(services));
  rules.left_out = std::move(left_out);
  return rules;
}

void swap(World& world, RuleSet next) { world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))}); }

bool has_failed(const World& world, const std::string& name) {
  return world.engine->rules(world.id(name))[0].status == RuleStatus::Failed;
}

const LeftOut kRow{.lists = {}, .rows = {{"node", "a"}}};
const LeftOut kList{.lists = {"node"}, .rows = {}};

}  // namespace

TEST_CASE("a service whose row is left out comes back as it was", "[engine][left out]") {
  const LeftOut how = GENERATE(kRow, kList);
  World world(rules_of({of_row("a"), service("s", {kTwice})}));
  world.answer = [&](ServiceId id) { return world.engine->graph()->at(id).name == "ping_a" ? 1 : 0; };
  world.start();
  world.advance(seconds{5});
  REQUIRE(has_failed(world, "ping_a"));
  const std::size_t before = world.execs.size();
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Pause,
                              .services = {world.id("ping_a")},
                              .by = ByPerson{"anna"}});
  swap(world, rules_of({service("s", {kTwice})}, how));
  CHECK_FALSE(world.engine->graph()->find("ping_a"));
  CHECK(world.saved.services.contains("ping_a"));
  CHECK(failed_rows(*world.engine, "NODE") == std::set<std::string>{"a"});

  SECTION("while healer runs") {
    swap(world, rules_of({of_row("a"), service("s", {kTwice})}));
    CHECK(has_failed(world, "ping_a"));
    CHECK(world.engine->pauses().of(world.id("ping_a"), world.now));
    world.advance(seconds{5});
    CHECK(world.execs.size() == before);  // it stood failed all the time
  }
  SECTION("over restarts without it") {
    World next(make_graph(rules_of({service("s", {kTwice})}, how)), world.saved, world.now);
    next.start();
    CHECK(next.saved.services.contains("ping_a"));
    World last(make_graph(rules_of({of_row("a"), service("s", {kTwice})})), next.saved, next.now);
    last.start();
    CHECK(has_failed(last, "ping_a"));
    CHECK(last.engine->pauses().of(last.id("ping_a"), last.now));
  }
  SECTION("a restart without it, and then it comes back") {
    World next(make_graph(rules_of({service("s", {kTwice})}, how)), world.saved, world.now);
    next.start();
    swap(next, rules_of({of_row("a"), service("s", {kTwice})}));
    CHECK(has_failed(next, "ping_a"));
    CHECK(next.engine->pauses().of(next.id("ping_a"), next.now));
  }
  SECTION("it is forgotten when its row leaves") {
    swap(world, rules_of({service("s", {kTwice})}));
    CHECK_FALSE(world.saved.services.contains("ping_a"));
    CHECK(failed_rows(*world.engine, "NODE").empty());
    swap(world, rules_of({of_row("a"), service("s", {kTwice})}));
    CHECK_FALSE(has_failed(world, "ping_a"));
  }
}

TEST_CASE("a service that is no row's is forgotten with its rules, whatever is left out", "[engine][left out]") {
  World world(rules_of({of_row("b"), service("s", {kTwice})}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{2});
  swap(world, rules_of({}, kRow));
  CHECK(world.saved.services.empty());
}

TEST_CASE("a healing that waits goes on waiting while its row is left out", "[healing][left out]") {
  FleetWorld world({.targets = 2, .listed = true});
  world.handle(event::ListsDoubted{.names = {}, .missing = {{.list = "node", .name = "n0"}}});
  world.fail(0);
  world.advance(minutes{1});
  REQUIRE(world.engine->healings().all().size() == 1);
  RuleSet without = fleet_rules({.targets = 2, .listed = true, .absent = {0}});
  without.left_out = {.lists = {}, .rows = {{"node", "n0"}}};
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(without))});
  world.handle(event::ListsDoubted{});
  world.advance(hours{1});
  REQUIRE(world.engine->healings().all().size() == 1);
  CHECK(
      world.engine->healings().all().begin()->second.reason().starts_with("list: n0 is left out of the rules for now"));
  CHECK(world.alerts_of("Healing dropped") == 0);
  CHECK(world.programs("guard") == 0);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2, .listed = true}))});
  CHECK(world.wait_for("guard") == "n0");
}

TEST_CASE("a healing under way goes on by its plan while its list is left out, and its target is not gone",
          "[healing][left out]") {
  FleetWorld world({.targets = 2, .listed = true});
  world.advance(seconds{2});
  world.fail(0);
  world.pass("guard");
  REQUIRE(world.wait_for("shutdown") == "n0");
  RuleSet without = fleet_rules({.targets = 2, .listed = true, .absent = {0, 1}});
  without.left_out = {.lists = {"node"}, .rows = {}};
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(without))});
  world.end_program(0);
  CHECK(world.wait_for("rebuild") == "n0");
  world.end_program(0);
  world.advance(seconds{10});
  REQUIRE(world.engine->healings().all().size() == 1);
  world.heal(0);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), fleet_rules({.targets = 2, .listed = true}))});
  world.advance(minutes{1});
  CHECK(world.engine->healings().idle());
  CHECK(world.engine->composites().health(world.id("n0")) == Health::Ok);
}

}  // namespace left_out_test
