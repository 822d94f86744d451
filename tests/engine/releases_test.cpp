// SPDX-License-Identifier: MIT
// When acts leave, and what never leaves since it was to end before.
#include <algorithm>
#include <catch2/catch.hpp>

#include "support/fleet_world.hpp"

namespace releases_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

void cancel(FleetWorld& world) {
  REQUIRE(world.engine->healings().all().size() == 1);
  const HealingId id = world.engine->healings().all().begin()->first;
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Cancel,
                              .services = {},
                              .by = ByPerson{"anna"},
                              .job = JobId{id.number()}});
}

std::size_t ends(const FleetWorld& world) {
  return static_cast<std::size_t>(std::ranges::count_if(
      world.effects, [](const Effect& effect) { return std::holds_alternative<effect::EndAction>(effect); }));
}

}  // namespace

TEST_CASE("a program that is to end before its commit is on disk never leaves", "[releases]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.commits = false;
  const std::size_t before = world.execs.size();
  const Sequence known = world.saved.last_sequence;
  world.end_program(0);  // the first step begins, and waits
  SECTION("while the journal is written") {}
  SECTION("while it cannot be written") {
    world.handle(event::Committed{.up_to = known, .unjournalled = true, .reason = "the disk is full"});
    world.handle(
        event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "the disk is full"});
  }
  CHECK(world.execs.size() == before);
  cancel(world);
  CHECK(ends(world) == 0);
  world.commits = true;
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  world.advance(minutes{1});
  CHECK(world.programs("shutdown") == 0);
  CHECK(std::ranges::none_of(world.saved.execs, [](const PendingExec& pending) {
    return pending.exec.command.arguments.front() == "/bin/shutdown";
  }));
  CHECK(std::ranges::count(world.records, "program /bin/shutdown could not be started: it was cancelled before",
                           &Record::text) == 1);
  CHECK(world.programs("undo") == 1);
}

TEST_CASE("what ends a program waits for no disk", "[releases]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  world.end_program(0);
  REQUIRE(world.wait_for("shutdown") == "n0");
  world.commits = false;
  cancel(world);
  CHECK(ends(world) == 1);
  world.commits = true;
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(ends(world) == 1);
}

}  // namespace releases_test
