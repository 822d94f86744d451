// SPDX-License-Identifier: MIT
// Lock and place are asked for before a healing begins, and what becomes of the answer.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_claims_test {

using namespace healer;
using namespace healer::test;
using Stage = Healing::Stage;

namespace {

std::unique_ptr<FleetWorld> shared(const Fleet& fleet, SavedState left = {}, Instant at = World::kStart) {
  return std::make_unique<FleetWorld>(make_graph(fleet_rules(fleet)), std::move(left),
                                      std::vector<bool>(static_cast<std::size_t>(fleet.targets)), at, false);
}

/// Lets time pass until a healing claims its lock and its place.
effect::Claim wait_for_claim(FleetWorld& world) {
  const std::size_t before = world.claims.size();
  for (int i = 0; i < 18'000 && world.claims.size() == before; ++i) world.advance(milliseconds{100});
  REQUIRE(world.claims.size() > before);
  return world.claims.back();
}

void grant(FleetWorld& world, const effect::Claim& claim) { world.handle(event::Claimed{claim.healing, claim.claim}); }
void deny(FleetWorld& world, const effect::Claim& claim) {
  world.handle(event::Denied{claim.healing, claim.claim, Brake::OneAtATime, "it is being healed by web2"});
}
/// The try of n0 that is claimed next begins, and fails at its last program.
void fail_a_try(FleetWorld& world) {
  grant(world, wait_for_claim(world));
  for (const char* const program : {"guard", "shutdown"}) {
    REQUIRE(world.wait_for(program) == "n0");
    world.end_program(0);
  }
  REQUIRE(world.wait_for("rebuild") == "n0");
  world.end_program(1);
}
void say(FleetWorld& world, event::Command::Kind kind, JobId job = {}) {
  event::Command command{.id = CommandId{9}, .kind = kind, .services = {world.id("n0")}, .by = ByPerson{"anna"}};
  command.job = job;
  world.handle(command);
}

}  // namespace

TEST_CASE("nothing of a healing begins before its claim is granted", "[healing][claims]") {
  const auto world = shared({.targets = 1});
  world->fail(0);
  const effect::Claim claim = wait_for_claim(*world);
  CHECK(claim.target == "n0");
  CHECK(claim.workflow == "rebuild");
  CHECK(only(*world).stage() == Stage::Claiming);
  CHECK(only(*world).locks());
  CHECK(only(*world).has_place());
  world->advance(minutes{5});
  CHECK(world->execs.empty());
  CHECK(world->claims.size() == 1);
  grant(*world, claim);
  CHECK(only(*world).stage() == Stage::Guarding);
  CHECK(world->wait_for("guard") == "n0");
}

TEST_CASE("one that claims counts against the limits from then on", "[healing][claims]") {
  const auto world = shared({.targets = 4, .limits = {{.number = 1}}});
  world->fail(0);
  wait_for_claim(*world);
  world->fail(1);
  world->advance(minutes{5});
  CHECK(world->claims.size() == 1);
  CHECK(healing_of(*world, "n1").reason() == "limit reached: 1 of 1 running");
}

TEST_CASE("one that is denied waits with that reason, and asks again after a cycle", "[healing][claims]") {
  const auto world = shared({.targets = 1});
  world->fail(0);
  const effect::Claim claim = wait_for_claim(*world);
  deny(*world, claim);
  CHECK(only(*world).stage() == Stage::Held);
  CHECK(only(*world).reason() == "one at a time: it is being healed by web2");
  CHECK(world->claims.size() == 1);
  const effect::Claim again = wait_for_claim(*world);
  CHECK(again.claim != claim.claim);
  SECTION("the answer to the first claim counts no more") {
    grant(*world, claim);
    CHECK(only(*world).stage() == Stage::Claiming);
    grant(*world, again);
  }
  SECTION("each is answered once") {
    grant(*world, again);
    deny(*world, again);
  }
  CHECK(only(*world).stage() == Stage::Guarding);
}

TEST_CASE("an approval outlasts that others were first", "[healing][claims]") {
  const auto world = shared({.targets = 1, .mode = HealingMode::Approval});
  world->fail(0);
  for (int i = 0; i < 100 && (world->engine->healings().idle() || only(*world).stage() != Stage::Approval); ++i)
    world->advance(milliseconds{100});
  say(*world, event::Command::Kind::Approve, JobId{only(*world).id.number()});
  deny(*world, wait_for_claim(*world));
  grant(*world, wait_for_claim(*world));
  CHECK(only(*world).approved_by == "anna");
  CHECK(world->wait_for("guard") == "n0");
}

TEST_CASE("what comes between a claim and its answer holds the healing back", "[healing][claims]") {
  const auto world = shared({.targets = 1});
  world->fail(0);
  const effect::Claim claim = wait_for_claim(*world);
  SECTION("a person's pause") {
    say(*world, event::Command::Kind::Pause);
    grant(*world, claim);
    CHECK(only(*world).reason() == "pause: n0 was paused by anna");
  }
  SECTION("its target is well again") {
    world->heal(0);
    world->advance(seconds{3});
    grant(*world, claim);
    world->advance(seconds{3});
    CHECK(world->engine->healings().idle());
  }
  SECTION("a person's word") {
    say(*world, event::Command::Kind::Cancel, JobId{claim.healing.number()});
    CHECK(world->engine->healings().idle());
    grant(*world, claim);
    CHECK(world->engine->healings().idle());
  }
  SECTION("other rules") {
    Fleet other{.targets = 1};
    other.over_all = HealingMode::Approval;
    world->handle(event::Swap{plan_swap(*world->engine->graph(), fleet_rules(other))});
    grant(*world, claim);
    world->advance(seconds{3});
    CHECK(only(*world).stage() == Stage::Approval);
  }
  world->advance(seconds{3});
  CHECK(world->execs.empty());
}

TEST_CASE("a daemon that comes back asks again", "[healing][claims]") {
  const Fleet fleet{.targets = 1};
  auto world = shared(fleet);
  world->fail(0);
  const effect::Claim claim = wait_for_claim(*world);
  const Instant now = world->now;
  const SavedState saved = world->saved;
  REQUIRE(saved.healings.size() == 1);
  world = shared(fleet, saved, now);
  world->fail(0);
  CHECK(only(*world).stage() == Stage::Held);  // the rules may be others: it is judged anew
  const effect::Claim again = wait_for_claim(*world);
  CHECK(again.healing == claim.healing);
  CHECK(again.identity == claim.identity);
  grant(*world, again);
  CHECK(world->wait_for("guard") == "n0");
}

TEST_CASE("a later try, and what undoes one, is claimed, too", "[healing][claims]") {
  const auto world = shared({.targets = 1, .tries = 2});
  world->fail(0);
  fail_a_try(*world);
  REQUIRE(only(*world).stage() == Stage::Between);
  SECTION("the next try") {
    deny(*world, wait_for_claim(*world));
    CHECK(only(*world).stage() == Stage::Between);
    grant(*world, wait_for_claim(*world));
    CHECK(world->wait_for("guard") == "n0");
  }
  SECTION("on cancel") {
    say(*world, event::Command::Kind::Cancel, JobId{only(*world).id.number()});
    REQUIRE(world->claims.size() == 2);
    CHECK(only(*world).stage() == Stage::Claiming);
    deny(*world, world->claims.back());
    CHECK(only(*world).stage() == Stage::Between);
    grant(*world, wait_for_claim(*world));
    CHECK(world->wait_for("undo") == "n0");
  }
}

TEST_CASE("a daemon that comes back asks again for what is to be undone", "[healing][claims]") {
  const Fleet fleet{.targets = 1, .tries = 2};
  auto world = shared(fleet);
  world->fail(0);
  fail_a_try(*world);
  say(*world, event::Command::Kind::Cancel, JobId{only(*world).id.number()});
  const effect::Claim claim = world->claims.back();
  const Instant now = world->now;
  const SavedState saved = world->saved;
  world = shared(fleet, saved, now);
  REQUIRE(world->claims.size() == 1);
  CHECK(world->claims.front().identity == claim.identity);
  grant(*world, world->claims.front());
  CHECK(world->wait_for("undo") == "n0");
}

TEST_CASE("what is claimed to undo a healing is no try within a time", "[healing][claims]") {
  const auto world = shared({.targets = 2, .tries = 2, .limits = {{.number = 3}, {.number = 2, .within = hours{1}}}});
  world->fail(0);
  fail_a_try(*world);
  say(*world, event::Command::Kind::Cancel, JobId{only(*world).id.number()});
  REQUIRE(only(*world).stage() == Stage::Claiming);  // one try has begun within the hour, and this is none
  world->fail(1);
  CHECK(wait_for_claim(*world).target == "n1");
}

TEST_CASE("that a claim is denied again for the same reason is recorded once", "[healing][claims]") {
  const auto world = shared({.targets = 1});
  world->fail(0);
  for (int i = 0; i < 5; ++i) deny(*world, wait_for_claim(*world));
  CHECK(std::ranges::count_if(world->records, [](const Record& record) {
          return record.text.find("is held back: one at a time: it is being healed by web2") != std::string::npos;
        }) == 1);
}

TEST_CASE("what does nothing to its target claims nothing", "[healing][claims]") {
  const auto world = shared({.targets = 1, .mode = HealingMode::DryRun});
  world->fail(0);
  world->advance(minutes{5});
  CHECK(world->claims.empty());
}

}  // namespace healing_claims_test
