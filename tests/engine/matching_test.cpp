// SPDX-License-Identifier: MIT
// Starts of services that are found by their command line: their start programs are found by it, too.
#include <algorithm>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace matching_test {

using namespace healer;
using namespace healer::test;
using Programs = std::vector<std::string>;

namespace {

constexpr std::int64_t kProgram = ProcessWorld::kProgramPid;

std::shared_ptr<ServiceBlock> matching(std::string name) {
  auto block = process(std::move(name));
  *block->process = {.pid_file = {}, .pattern = "daemon"};
  return block;
}

}  // namespace

TEST_CASE("what a pattern finds is not the service as long as it is its start program, or a child of that") {
  ProcessWorld world(rule_set({matching("db"), process("app", {missing_rule()}, {"db"})}, seconds{5}));
  world.doings["start db"] = {.takes = seconds{2}};
  std::int64_t found = kProgram;
  SECTION("the program itself") {}
  SECTION("a child") {
    found = 4001;
    world.parents["db"] = kProgram;
  }
  const bool fails = GENERATE(false, true);
  if (fails) world.doings["start db"].status = 1;
  world.start();
  world.run(milliseconds{10});
  world.bring_up("db", found);
  world.run(milliseconds{1980});
  CHECK(world.programs == Programs{"start db"});
  CHECK_FALSE(has_record(world, RecordKind::JobStep, "started"));
  world.hidden_death("db");
  world.parents.clear();
  if (fails) {
    world.run(milliseconds{500});
    CHECK(has_record(world, RecordKind::JobFailed, "failed to start (exit status 1)"));
    CHECK(world.programs == Programs{"start db"});
    return;
  }
  world.run(seconds{1});
  CHECK(has_record(world, RecordKind::JobStep, "started with pid " + std::to_string(world.pid("db"))));
  CHECK(world.programs == Programs{"start db", "start app"});
}

TEST_CASE("what a pattern finds counts at once where it is another process, or the program has ended") {
  ProcessWorld world(rule_set({matching("db")}, seconds{5}));
  SECTION("another") {
    world.doings["start db"] = {.hangs = true};
    world.start();
    world.run(milliseconds{10});
    world.bring_up("db");
  }
  SECTION("its child that has outlived it") {
    world.doings["start db"] = {.takes = milliseconds{50}};
    world.parents["db"] = kProgram;
    world.start();
  }
  world.run(seconds{1});
  CHECK(has_record(world, RecordKind::JobStep, "started with pid " + std::to_string(world.pid("db"))));
  CHECK(world.engine->jobs().empty());
}

TEST_CASE("a start program that stays is the service when the time of its start is over") {
  ProcessWorld world(rule_set({matching("db")}, seconds{5}));
  world.doings["start db"] = {.hangs = true};
  world.start();
  world.run(milliseconds{10});
  world.bring_up("db", kProgram);
  SECTION("it stays") {
    world.run(milliseconds{29'900});
    CHECK(world.engine->jobs().size() == 1);
    world.run(minutes{2});
    CHECK(has_record(world, RecordKind::JobStep, "started with pid 4000"));
    CHECK(world.count(RecordKind::JobEnded) == 1);
    CHECK(world.ended.empty());
    CHECK(world.programs == Programs{"start db"});
  }
  SECTION("it stays, though healer is started anew") {
    world.crash(seconds{1});
    world.run(minutes{2});
    CHECK(world.count(RecordKind::JobEnded) == 1);
    CHECK(world.ended.empty());
    CHECK(world.programs == Programs{"start db"});
  }
}

TEST_CASE("the process that a pid file names is the service at once, whoever it is") {
  ProcessWorld world(rule_set({process("db")}, seconds{5}));
  world.doings["start db"] = {.hangs = true};
  world.start();
  world.run(milliseconds{10});
  world.bring_up("db", kProgram);
  world.run(seconds{1});
  CHECK(world.engine->jobs().empty());
  CHECK(world.count(RecordKind::JobEnded) == 1);
}

}  // namespace matching_test
