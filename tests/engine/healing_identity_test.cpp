// SPDX-License-Identifier: MIT
// The identity of a healing: made at its birth, and told to its programs as HEALING.
#include <catch2/catch.hpp>

#include "engine/healing/variables.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_identity_test {

using namespace healer;
using namespace healer::test;

namespace {

constexpr Hash128 kWord{.high = 7, .low = 8};

SavedState with_word(const Hash128& word) {
  SavedState left;
  left.word = word;
  return left;
}

FleetWorld world_of(const Hash128& word, const Fleet& fleet = {}) {
  return {make_graph(fleet_rules(fleet)), with_word(word), std::vector<bool>(static_cast<std::size_t>(fleet.targets)),
          World::kStart};
}

/// What the program that was started last is told.
std::string told(const FleetWorld& world, std::string_view name) {
  for (const auto& [variable, parts] : world.execs.back().place->environment)
    if (variable == name) return parts.at(0).text;
  return {};
}

}  // namespace

TEST_CASE("two daemons give the same healing two identities", "[healing]") {
  FleetWorld one = world_of(kWord);
  FleetWorld other = world_of({.high = 7, .low = 9});
  FleetWorld same = world_of(kWord);
  for (FleetWorld* const world : {&one, &other, &same}) {
    world->fail(0);
    REQUIRE(world->wait_for("guard") == "n0");
  }
  REQUIRE(only(one).id == only(other).id);
  REQUIRE(only(one).asked == only(other).asked);
  REQUIRE(only(one).target == only(other).target);
  CHECK(only(one).identity != only(other).identity);
  CHECK(told(one, "HEALER_HEALING") == uuid_of(only(one).identity));
  CHECK(told(one, "HEALER_HEALING") != told(other, "HEALER_HEALING"));
  CHECK(told(one, "HEALER_STEP") != told(other, "HEALER_STEP"));
  CHECK(told(one, "HEALER_HEALING") == told(same, "HEALER_HEALING"));
}

TEST_CASE("number, time and target each make another identity, and without a word it is as it was before",
          "[healing]") {
  Healing healing{.id = HealingId{12}, .target = "N0", .asked = WallTime{milliseconds{1'795'235'040'000}}};
  CHECK(identity_of(healing, {}) == hash128("12 1795235040000 n0"));
  const Hash128 identity = identity_of(healing, kWord);
  CHECK(identity != identity_of(healing, {}));
  healing.target = "n0";
  CHECK(identity_of(healing, kWord) == identity);
  SECTION("number") { healing.id = HealingId{13}; }
  SECTION("time") { healing.asked += milliseconds{1}; }
  SECTION("target") { healing.target = "n1"; }
  CHECK(identity_of(healing, kWord) != identity);
}

TEST_CASE("a healing keeps its identity over a restart, whatever word is told then", "[healing]") {
  FleetWorld world = world_of(kWord);
  world.fail(0);
  world.pass("guard");
  world.wait_for("shutdown");
  const std::string healing = told(world, "HEALER_HEALING");
  const std::string step = told(world, "HEALER_STEP");
  SavedState left = world.saved;
  REQUIRE(left.healings.size() == 1);
  CHECK(uuid_of(left.healings[0].identity) == healing);
  if (GENERATE(false, true)) left.word = {.high = 1, .low = 1};
  FleetWorld next(make_graph(fleet_rules({})), left, world.failed, world.now);
  next.handle(event::ActionEnded{
      .action = world.execs.back().action, .outcome = Outcome::Exited, .status = 7, .elapsed = seconds{1}});
  REQUIRE(next.wait_for("shutdown") == "n0");
  CHECK(told(next, "HEALER_HEALING") == healing);
  CHECK(told(next, "HEALER_STEP") == step);
  next.end_program(0);
  REQUIRE(next.wait_for("rebuild") == "n0");
  CHECK(told(next, "HEALER_HEALING") == healing);
  CHECK(told(next, "HEALER_STEP") != step);
}

TEST_CASE("a healing that takes another's place has an identity of its own", "[healing]") {
  const Fleet fleet{.approval = Approval{.within = minutes{10}}};
  FleetWorld world = world_of(kWord, fleet);
  world.fail(0);
  world.advance(seconds{5});
  const Healing before = only(world);
  REQUIRE(before.stage() == Healing::Stage::Approval);
  RuleSet rules = fleet_rules(fleet);
  Workflow plan = *rules.workflows.front();
  plan.steps.erase(plan.steps.begin());
  plan.key = hash128("another");
  rules.workflows.front() = std::make_shared<const Workflow>(std::move(plan));
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(rules))});
  world.advance(seconds{5});
  const Healing& after = only(world);
  CHECK(after.id != before.id);
  CHECK(after.identity != before.identity);
  CHECK(after.identity == identity_of(after, kWord));
}

}  // namespace healing_identity_test
