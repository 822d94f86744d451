// SPDX-License-Identifier: MIT
// Jobs in the order of dependencies: what has a restart program.
#include <algorithm>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace order_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// A process with these of the programs "start", "stop" and "restart".
std::shared_ptr<ServiceBlock> with_programs(const std::string& name, const Programs& verbs,
                                            std::vector<std::string> depends = {}) {
  auto block = process(name, {missing_rule()}, std::move(depends));
  const auto has = [&](const char* verb) { return std::ranges::find(verbs, verb) != verbs.end(); };
  if (!has("start")) block->programs.edit().start.reset();
  if (!has("stop")) block->programs.edit().stop.reset();
  if (has("restart")) block->programs.edit().restart = Command{.arguments = {"/restart", name}, .timeout = seconds{30}};
  return block;
}

void settle_up(ProcessWorld& world, const std::vector<std::string>& names) {
  for (const std::string& name : names) world.bring_up(name);
  world.start();
  world.run(seconds{6});
  REQUIRE(world.programs.empty());
}

void forget_programs(ProcessWorld& world) {
  REQUIRE(world.engine->jobs().empty());
  world.programs.clear();
}

}  // namespace

// ---- restart programs (the orders are those of Monit 5.33, measured) ------------------------------------------------

TEST_CASE("a restart of several keeps the order where a dependent has a restart program") {
  struct Case {
    Programs a;             // its programs
    Programs all, d, rule;  // what a restart of both runs, of d, and that of d by a rule, when it has died
  };
  const Case one =
      GENERATE(Case{{"start", "stop", "restart"},
                    {"stop a", "stop d", "start d", "start a"},
                    {"stop a", "stop d", "start d", "start a"},
                    {"stop a", "start d", "start a"}},
               Case{{"stop", "restart"},
                    {"stop a", "stop d", "start d", "restart a"},
                    {"stop a", "stop d", "start d", "restart a"},
                    {"stop a", "start d", "restart a"}},
               Case{{"start", "restart"}, {"stop d", "start d", "restart a"}, {"stop d", "start d"}, {"start d"}},
               Case{{"restart"}, {"stop d", "start d", "restart a"}, {"stop d", "start d"}, {"start d"}});
  ProcessWorld world(rule_set({with_programs("a", one.a, {"d"}), process("d")}, minutes{1}));
  settle_up(world, {"a", "d"});
  INFO("programs of a: " << Catch::StringMaker<Programs>::convert(one.a));
  world.command(Kind::Restart, {"a", "d"});
  world.run(seconds{5});
  CHECK(world.programs == one.all);
  forget_programs(world);
  world.command(Kind::Restart, {"d"});
  world.run(seconds{5});
  CHECK(world.programs == one.d);
  forget_programs(world);
  world.command(Kind::Restart, {"a"});
  world.run(seconds{5});
  CHECK(world.programs == Programs{"restart a"});
  forget_programs(world);
  world.run(seconds{10});
  world.die("d");
  world.run(seconds{5});
  CHECK(world.programs == one.rule);
  CHECK(world.is_up("a"));
  CHECK(world.is_up("d"));
  CHECK(std::ranges::all_of(world.replies, &effect::Reply::ok));
  CHECK(world.signals.empty());
  CHECK(world.early.empty());
}

TEST_CASE("the lowest of several is restarted by its restart program, and what needs it goes around that") {
  const auto d = with_programs("d", {"start", "stop", "restart"});
  SECTION("directly") {
    ProcessWorld world(rule_set({with_programs("a", {"start", "stop", "restart"}, {"d"}), d}, minutes{1}));
    settle_up(world, {"a", "d"});
    world.command(Kind::Restart, {"a", "d"});
    world.run(seconds{5});
    CHECK(world.programs == Programs{"stop a", "restart d", "start a"});
  }
  SECTION("through one that is left as it is") {
    ProcessWorld world(
        rule_set({with_programs("a", {"start", "stop", "restart"}, {"m"}), process("m", {}, {"d"}), d}, minutes{1}));
    settle_up(world, {"a", "m", "d"});
    world.command(Kind::Pause, {"m"});
    world.command(Kind::Restart, {"a", "d"});
    world.run(seconds{5});
    CHECK(world.programs == Programs{"stop a", "restart d", "start a"});
  }
  SECTION("which does not come up") {
    ProcessWorld world(rule_set({with_programs("a", {"restart"}, {"d"}), process("d", {})}, minutes{1}));
    settle_up(world, {"a", "d"});
    world.doings["start d"] = {.status = 3};
    world.command(Kind::Restart, {"a", "d"});
    world.run(seconds{5});
    CHECK(world.programs == Programs{"stop d", "start d"});
    CHECK(has_record(world, RecordKind::JobHeld, "not restarted: d failed to start (exit status 3)"));
    CHECK_FALSE(world.replies.back().ok);
  }
}

TEST_CASE("of what is no process and needs another, too, the restart program runs in its turn") {
  auto probe = service("probe", {});
  probe->depends = {"d"};
  probe->programs.edit().restart = Command{.arguments = {"/restart", "probe"}, .timeout = seconds{30}};
  const bool stops = GENERATE(false, true);
  if (stops) probe->programs.edit().stop = Command{.arguments = {"/stop", "probe"}, .timeout = seconds{30}};
  ProcessWorld world(rule_set({probe, process("d")}, minutes{1}));
  settle_up(world, {"d"});
  world.command(Kind::Restart, {"probe", "d"});
  world.run(seconds{5});
  Programs expected{"stop d", "start d", "restart probe"};
  if (stops) expected.insert(expected.begin(), "stop probe");
  CHECK(world.programs == expected);
  CHECK(world.replies.back().ok);
}

TEST_CASE("a process without a start program is started by its restart program") {
  ProcessWorld world(rule_set({with_programs("a", {"stop", "restart"})}, minutes{1}));
  settle_up(world, {"a"});
  world.command(Kind::Stop, {"a"});
  world.run(seconds{1});
  world.command(Kind::Start, {"a"});
  world.run(seconds{1});
  CHECK(world.programs == Programs{"stop a", "restart a"});
  CHECK(world.replies.back().text == "a started");
  CHECK(world.is_up("a"));
}

}  // namespace order_test
