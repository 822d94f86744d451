// SPDX-License-Identifier: MIT
// What people are answered: whom a command has acted on, and what was done.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"

namespace answers_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;

namespace {

/// A process without programs of its own, and a system.
RuleSet with_bare() {
  auto bare = process("bare");
  bare->programs.edit().start.reset();
  bare->programs.edit().stop.reset();
  auto here = service("here", {});
  here->kind = kind_named("system");
  here->program = {};
  return rule_set({process("db"), process("web", {missing_rule()}, {"db"}), bare, here}, minutes{1});
}

struct Asked {
  ProcessWorld world{with_bare()};

  Asked() {
    for (const char* name : {"db", "web", "bare"}) world.bring_up(name);
    world.start();
    world.run(seconds{1});
  }
  std::string answer(Kind kind, const std::vector<std::string>& names) {
    world.command(kind, names);
    world.run(seconds{5});
    return world.replies.empty() ? "nothing" : world.replies.back().text;
  }
};

}  // namespace

TEST_CASE("start, stop and restart name the services that they have acted on", "[engine][answers]") {
  Asked asked;
  CHECK(asked.answer(Kind::Restart, {"db"}) == "db restarted; web restarted, too");
  CHECK(asked.answer(Kind::Restart, {"web", "db"}) == "web, db restarted");
  CHECK(asked.answer(Kind::Start, {"web"}) == "web runs already");
  CHECK(asked.answer(Kind::Stop, {"db"}) == "db stopped; web stopped, too");
  CHECK(asked.answer(Kind::Stop, {"web", "db"}) == "web, db did not run");
  CHECK(asked.answer(Kind::Start, {"web"}) == "web started; db started, too");
  CHECK(asked.answer(Kind::Stop, {"web"}) == "web stopped");
  CHECK(asked.answer(Kind::Restart, {"web"}) == "web started");  // it was down: nothing was stopped
}

TEST_CASE("Services without programs are reported as monitored only", "[engine][answers]") {
  Asked asked;
  CHECK(asked.answer(Kind::Restart, {"here", "bare"}) == "here, bare are monitored; they have no start program");
  CHECK(asked.answer(Kind::Restart, {"here", "bare", "web"}) ==
        "web restarted; here, bare are monitored; they have no start program");
  CHECK(asked.answer(Kind::Start, {"here"}) == "here is monitored; it has no start program");
  CHECK(asked.answer(Kind::Stop, {"bare"}) ==
        "bare is no longer monitored; it has no start and no stop program, and is left alone");
}

TEST_CASE("where one of several fails, what was done to the others is said, too", "[engine][answers]") {
  ProcessWorld world(rule_set({process("a"), process("b")}, minutes{1}));
  world.doings["start b"] = {.status = 3};
  world.start();
  for (const char* name : {"a", "b"})
    world.handle(event::Command{
        .id = CommandId{1}, .kind = Kind::Unmonitor, .services = {world.id(name)}, .by = ByPerson{"root"}});
  world.command(Kind::Start, {"a", "b"});
  world.run(seconds{40});
  CHECK(world.replies.back().text == "b: failed to start (exit status 3) -- no output\na started");
  CHECK_FALSE(world.replies.back().ok);
}

TEST_CASE("resume says where nothing is paused", "[engine][answers]") {
  Asked asked;
  CHECK(asked.answer(Kind::Resume, {"web"}) == "web is not paused");
  CHECK(asked.answer(Kind::Resume, {"web", "db"}) == "none of web, db is paused");
  CHECK(asked.answer(Kind::Resume, {"db", "web", "bare", "here"}) == "no service is paused");
  CHECK(asked.answer(Kind::Pause, {"web"}) == "web paused");
  CHECK(asked.answer(Kind::Resume, {"db", "web"}) == "web resumed");
  CHECK(asked.answer(Kind::Resume, {"web"}) == "web is not paused");
}

TEST_CASE("validate speaks of the services that it was asked for", "[engine][answers]") {
  Asked asked;
  CHECK(asked.answer(Kind::Validate, {"web"}) == "web is in order");
  CHECK(asked.answer(Kind::Validate, {"web", "db"}) == "web, db are in order");
  CHECK(asked.answer(Kind::Validate, {"db", "web", "bare", "here"}) == "all 4 services are in order");
}

}  // namespace answers_test
