// SPDX-License-Identifier: MIT
// A firing while the program of the one before still runs: it waits for that, and is done only if it is still wanted.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace queue_test {

using namespace healer;
using namespace healer::test;

namespace {

/// A check whose rule heals at once, and at each second failure again.
Rule healing() {
  Rule rule = status_rule(Comparison::NotEqual, 0, {}, 1);
  rule->text = "if status != 0 then exec \"/bin/heal\" repeat every 1 cycle";
  return rule;
}

/// The same with an `else` branch that runs a program, too.
Rule with_else() {
  Rule rule = healing();
  rule->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/tell"}}};
  return rule;
}

void end(World& world, ActionId action, std::int64_t status = 0) {
  world.handle(event::ActionEnded{.action = action, .status = status, .elapsed = seconds{3}});
}

void command(World& world, event::Command::Kind kind, std::optional<WallTime> until = {}) {
  world.handle(event::Command{CommandId{9}, kind, {world.id("s")}, ByPerson{"root"}, until});
}

const Record& last(const World& world, RecordKind kind) {
  const auto found = std::ranges::find(world.records.rbegin(), world.records.rend(), kind, &Record::kind);
  REQUIRE(found != world.records.rend());
  return *found;
}

/// One program runs, and a firing waits for its end.
void fire_twice(World& world) {
  world.start();
  world.advance(seconds{0});
  REQUIRE(world.execs.size() == 1);
  world.handle(event::ActionStarted{world.execs[0].action, 44});
  world.advance(seconds{1});
  REQUIRE(world.execs.size() == 1);
  REQUIRE(world.engine->programs().queued_of("s").size() == 1);
}

}  // namespace

TEST_CASE("A queued exec runs while its rule stands failed", "[queue]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire_twice(world);
  end(world, world.execs[0].action);
  REQUIRE(world.execs.size() == 2);
  CHECK(world.engine->programs().queued().empty());
}

TEST_CASE("A queued exec is dropped when its rule recovers", "[queue]") {
  std::int64_t status = 1;
  World world(rule_set({service("s", {healing()})}));
  world.answer = [&](ServiceId) { return status; };
  fire_twice(world);
  status = 0;
  world.advance(seconds{1});
  end(world, world.execs[0].action);
  CHECK(world.execs.size() == 1);
  CHECK(last(world, RecordKind::ActionHeld).text == "exec /bin/heal was queued and is not run: its rule has recovered");
  CHECK(world.saved.execs.empty());
  status = 1;  // what comes later is not lost by it
  world.advance(seconds{1});
  CHECK(world.execs.size() == 2);
}

TEST_CASE("A queued exec of the else branch is dropped when its rule fails again", "[queue]") {
  std::int64_t status = 1;
  World world(rule_set({service("s", {with_else()})}));
  world.answer = [&](ServiceId) { return status; };
  const auto turn_to = [&](std::int64_t next) {
    status = next;
    world.advance(seconds{1});
  };
  world.start();
  world.advance(seconds{0});
  turn_to(0);
  REQUIRE(world.execs.size() == 2);  // /bin/heal, /bin/tell
  turn_to(1);
  turn_to(0);  // both wait
  REQUIRE(world.engine->programs().queued_of("s").size() == 2);
  turn_to(1);
  end(world, world.execs[1].action);
  CHECK(world.execs.size() == 2);
  CHECK(last(world, RecordKind::ActionHeld).text ==
        "exec /bin/tell was queued and is not run: its rule has failed again");
  end(world, world.execs[0].action);
  CHECK(world.execs.size() == 3);
}

TEST_CASE("A queued exec is dropped when its service is unmonitored or paused", "[queue]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire_twice(world);
  SECTION("unmonitored") {
    command(world, event::Command::Kind::Unmonitor);
    end(world, world.execs[0].action);
    CHECK(last(world, RecordKind::ActionHeld).text ==
          "exec /bin/heal was queued and is not run: it is no longer monitored");
  }
  SECTION("unmonitored, and monitored anew") {
    command(world, event::Command::Kind::Unmonitor);
    world.answer = [](ServiceId) { return 0; };
    command(world, event::Command::Kind::Monitor);
    world.advance(seconds{1});
    end(world, world.execs[0].action);
    CHECK(last(world, RecordKind::ActionHeld).text ==
          "exec /bin/heal was queued and is not run: its rule has recovered");
  }
  SECTION("paused") {
    command(world, event::Command::Kind::Pause);
    end(world, world.execs[0].action);
    CHECK(last(world, RecordKind::ActionHeld).text == "exec /bin/heal was queued and is not run: paused");
  }
  CHECK(world.execs.size() == 1);
  CHECK(world.saved.execs.empty());
}

TEST_CASE("A queued exec of a content rule depends on no state", "[queue]") {
  Rule rule = healing();
  rule->mode = Mode::EachMatch;
  rule->action.repeat = 0;
  std::int64_t status = 1;
  World world(rule_set({service("s", {rule})}));
  world.answer = [&](ServiceId) { return status; };
  fire_twice(world);
  status = 0;
  world.advance(seconds{1});
  end(world, world.execs[0].action);
  CHECK(world.execs.size() == 2);
}

TEST_CASE("A queued exec stays queued under the next daemon", "[queue]") {
  std::int64_t status = 1;
  World world(rule_set({service("s", {healing()})}));
  world.answer = [&](ServiceId) { return status; };
  fire_twice(world);
  World next(make_graph(rule_set({service("s", {healing()})})), world.saved, world.now);
  next.answer = world.answer;
  next.start();
  CHECK(next.execs.empty());
  REQUIRE(next.engine->programs().queued_of("s").size() == 1);
  SECTION("until it is run") {
    end(next, world.execs[0].action);
    CHECK(next.execs.size() == 1);
  }
  SECTION("until it is wanted no more") {
    status = 0;
    next.advance(seconds{1});
    end(next, world.execs[0].action);
    CHECK(next.execs.empty());
    CHECK(next.saved.execs.empty());
  }
}

TEST_CASE("A queued exec can be cancelled alone", "[queue]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire_twice(world);
  event::Command cancel{
      .id = CommandId{7}, .kind = event::Command::Kind::Cancel, .services = {}, .by = ByPerson{"root"}};
  cancel.job = JobId{world.engine->programs().queued_of("s").front().exec.action.number()};
  world.handle(cancel);
  CHECK(world.replies.back().text == "exec /bin/heal cancelled");
  CHECK(world.engine->programs().queued().empty());
  CHECK(world.engine->programs().all().size() == 1);
  CHECK(world.saved.execs.size() == 1);
}

TEST_CASE("how the last program of an action failed is known until one ends well or the rule recovers", "[queue]") {
  std::int64_t status = 1;
  World world(rule_set({service("s", {healing()})}));
  world.answer = [&](ServiceId) { return status; };
  const auto failure = [&]() -> std::string {
    const auto& kept = world.engine->service(world.id("s")).trouble->action_failure;
    return kept ? kept->text : std::string();
  };
  world.start();
  world.advance(seconds{0});
  end(world, world.execs[0].action, 2);
  CHECK(failure() == "exec /bin/heal exited with status 2 after 3 s");
  const auto notes = explain(*world.engine, world.id("s"), world.now).notes;
  CHECK(std::ranges::find(notes, "Its last action failed 0 ms ago: exec /bin/heal exited with status 2 after 3 s.") !=
        notes.end());
  World next(make_graph(rule_set({service("s", {healing()})})), world.saved, world.now);
  CHECK(next.engine->service(next.id("s")).trouble->action_failure.has_value());
  SECTION("one has ended well") {
    world.advance(seconds{1});
    end(world, world.execs[1].action);
  }
  SECTION("it has recovered") {
    status = 0;
    world.advance(seconds{1});
  }
  SECTION("it was monitored anew") {
    command(world, event::Command::Kind::Unmonitor);
    command(world, event::Command::Kind::Monitor);
  }
  CHECK(failure().empty());
}

TEST_CASE("what a program has written after its time is shown with its last run", "[queue]") {
  World world(rule_set({service("s", {healing()})}));
  world.start();
  world.advance(seconds{0});
  const effect::Measure run = world.open.front();
  world.observe(run.service, 9, Outcome::TimedOut, "begins\n");
  const auto all = std::make_shared<const std::string>("begins\nis told to end\n");
  world.handle(event::RunWrote{run.service, run.run, all});
  CHECK(*world.engine->service(run.service).last->output == *all);
  CHECK(last(world, RecordKind::RunTimedOut).output == *all);
  world.advance(seconds{1});
  world.observe(run.service, 0);
  world.handle(event::RunWrote{run.service, run.run, all});  // of a former run
  CHECK(world.engine->service(run.service).last->output->empty());
}

}  // namespace queue_test
