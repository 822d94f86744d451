// SPDX-License-Identifier: MIT
// Heartbeats where nobody listens for a while: restarts, reboots, suspends, another clock, other rules.
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "simulation/script.hpp"
#include "simulation/simulator.hpp"
#include "support/engine_world.hpp"

namespace heartbeat_away_test {

using namespace healer;
using namespace healer::test;

namespace {

using What = HeartbeatIs::What;

Rule that_is(What what, Tolerance tolerance = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0, tolerance);
  const std::string words = what == What::Missed ? "missed" : "failed";
  rule->condition = RuleCondition{{HeartbeatIs{what}}};
  rule->condition->hash = hash128(words);
  rule->text = "if " + words + " " + std::to_string(tolerance.count) + "/" + std::to_string(tolerance.window);
  return rule;
}

/// Every ten minutes within eight, unless it is said otherwise.
RuleSet backup(std::vector<Rule> rules, Duration every = minutes{10}, Duration within = minutes{8}) {
  auto block = service("backup", std::move(rules));
  block->kind = kind_named("heartbeat");
  block->program = {};
  block->other.edit().heartbeat = {.every = every, .within = within};
  block->key = hash128(to_string(block->key) + std::to_string(every.count()) + " " + std::to_string(within.count()));
  return rule_set({block}, seconds{30});
}

void beat(World& world, BeatWord word = BeatWord::Good) {
  world.handle(event::arrived(world.id("backup"), std::string(to_string(word)), 0, {}, CommandId{1}));
}

const Heartbeat& known(const World& world) { return *world.engine->arrivals().find(world.id("backup")); }
Duration deadline(const World& world) { return world.engine->arrivals().deadline(world.id("backup")).value(); }
Health health(const World& world) { return world.engine->composites().health(world.id("backup")); }

void tell(World& world, event::Command::Kind kind) {
  world.handle(event::Command{CommandId{9}, kind, {world.id("backup")}, ByPerson{"root"}});
}

void swap(World& world, RuleSet next) { world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))}); }

/// The daemon is started again where the time has come to `at`.
World again(const World& before, RuleSet rules, Instant at) {
  World next(make_graph(std::move(rules)), before.saved, at);
  next.start();
  return next;
}

Instant after(const World& world, Duration time, Duration clock_set = Duration{0}) {
  Instant later = world.now;
  later.mono += time;
  later.wall += time + clock_set;
  return later;
}

Instant rebooted(const World& world, Duration time) {
  Instant later = after(world, time);
  later.mono = seconds{20};
  ++later.boot;
  return later;
}

}  // namespace

TEST_CASE("a heartbeat is judged over a reboot", "[engine][heartbeat]") {
  World before(backup({that_is(What::Failed)}));
  before.start();
  beat(before, BeatWord::Fail);
  REQUIRE(health(before) == Health::Failed);
  World world = again(before, backup({that_is(What::Failed)}), rebooted(before, minutes{1}));
  CHECK(health(world) == Health::Failed);
  CHECK(world.count(RecordKind::RuleFailed) == 0);  // it is known
}

TEST_CASE("the last beat stands when a heartbeat is judged again", "[engine][heartbeat]") {
  SECTION("as it is monitored again") {
    World world(backup({that_is(What::Failed), that_is(What::Failed, {2, 2, Duration{0}})}));
    world.start();
    beat(world, BeatWord::Fail);
    tell(world, event::Command::Kind::Unmonitor);
    tell(world, event::Command::Kind::Monitor);
    CHECK(world.count(RecordKind::RuleFailed) == 2);
    CHECK(health(world) == Health::Failed);
    beat(world, BeatWord::Fail);
    CHECK(world.count(RecordKind::RuleFailed) == 2);  // the same beat did not count again
    beat(world, BeatWord::Fail);
    CHECK(world.count(RecordKind::RuleFailed) == 3);
  }
  SECTION("by a rule that is new") {
    World world(backup({that_is(What::Missed)}));
    world.start();
    beat(world, BeatWord::Fail);
    CHECK(world.count(RecordKind::RuleFailed) == 0);
    swap(world, backup({that_is(What::Missed), that_is(What::Failed)}));
    CHECK(world.count(RecordKind::RuleFailed) == 1);
  }
  SECTION("after a restart with a rule that is new") {
    World before(backup({that_is(What::Missed)}));
    before.start();
    beat(before, BeatWord::Fail);
    World world = again(before, backup({that_is(What::Missed), that_is(What::Failed)}), after(before, seconds{5}));
    CHECK(world.count(RecordKind::RuleFailed) == 1);
  }
}

TEST_CASE("restarts do not put off a deadline without end", "[engine][heartbeat]") {
  const RuleSet rules = backup({that_is(What::Missed)});
  auto world = std::make_unique<World>(rules);
  world->start();
  beat(*world);
  const Instant heard = world->now;
  const bool reboots = GENERATE(false, true);
  std::size_t missed = 0;
  for (int i = 0; i < 7 && missed == 0; ++i) {
    world->advance(minutes{6});
    missed = world->count(RecordKind::RuleFailed);
    if (missed == 0)
      world = std::make_unique<World>(
          again(*world, rules, reboots ? rebooted(*world, seconds{10}) : after(*world, seconds{10})));
  }
  CHECK(missed == 1);
  CHECK(world->now.wall - heard.wall <= minutes{18 + 8 + 6});
}

TEST_CASE("only the time away is added to a deadline", "[engine][heartbeat]") {
  const RuleSet rules = backup({that_is(What::Missed)});
  World before(rules);
  before.start();
  beat(before);
  before.advance(minutes{17});
  before.handle(event::Command{CommandId{5}, event::Command::Kind::Pause, {before.id("backup")}, ByPerson{"root"}});
  World world = again(before, rules, after(before, seconds{20}));  // what it has recorded tells until when it was there
  CHECK(deadline(world) == world.now.mono + minutes{1});
  World last = again(world, rules, after(world, hours{3}));
  CHECK(deadline(last) <= last.now.mono + minutes{8});
  CHECK(deadline(last) <= before.now.mono + minutes{1 + 8});  // not more than once more
}

TEST_CASE("a heartbeat that was granted time has it after a restart, too", "[engine][heartbeat]") {
  const RuleSet rules = backup({that_is(What::Missed)});
  World before(rules);
  before.start();
  beat(before);
  World world = again(before, rules, after(before, days{3}));
  const Duration due = deadline(world);
  CHECK(due == world.now.mono + minutes{8});
  world.advance(minutes{2});
  World last = again(world, rules, after(world, seconds{10}));
  CHECK(deadline(last) == due);
  beat(last);
  CHECK(deadline(last) == last.now.mono + minutes{18});
}

TEST_CASE("a late look does not miss a beat that waits to be read", "[engine][heartbeat]") {
  World world(backup({that_is(What::Missed)}));
  world.start();
  beat(world);
  const Duration due = deadline(world);
  SECTION("which comes then") {
    world.now = after(world, hours{1});
    world.handle(event::Wake{});
    CHECK_FALSE(known(world).missed);
    CHECK(deadline(world) == world.now.mono + minutes{8});
    beat(world);
    CHECK(deadline(world) == world.now.mono + minutes{18});
  }
  SECTION("once") {
    world.now = after(world, hours{1});
    world.handle(event::Wake{});
    world.now = after(world, hours{1});
    world.handle(event::Wake{});
    CHECK(known(world).missed);
  }
  SECTION("but one that is little late misses it") {
    world.now = after(world, due - world.now.mono + milliseconds{900});
    world.handle(event::Wake{});
    CHECK(known(world).missed);
  }
}

TEST_CASE("a heartbeat that is not missed by its new rules is not", "[engine][heartbeat]") {
  World world(backup({that_is(What::Missed)}));
  world.start();
  beat(world);
  world.advance(minutes{20});
  REQUIRE(known(world).missed);
  SECTION("after a reload") {
    swap(world, backup({that_is(What::Missed)}, hours{1}));
    CHECK_FALSE(known(world).missed);
    CHECK_FALSE(world.saved.services.at("backup").heartbeat->missed);
    CHECK(world.count(RecordKind::RuleRecovered) == 1);
    CHECK(deadline(world) == world.now.mono + minutes{48});
  }
  SECTION("after a restart") {
    World next = again(world, backup({that_is(What::Missed)}, hours{1}), after(world, seconds{10}));
    CHECK_FALSE(known(next).missed);
    CHECK(next.count(RecordKind::RuleRecovered) == 1);
  }
}

TEST_CASE("deadlines do not go by a clock that is set", "[engine][heartbeat]") {
  const RuleSet rules = backup({that_is(What::Missed)});
  World before(rules);
  before.start();
  beat(before);
  beat(before, BeatWord::Start);
  before.advance(minutes{4});
  const Duration due = deadline(before);
  const Duration set = GENERATE(Duration(hours{48}), Duration(-hours{48}));

  SECTION("while healer runs") {
    before.now.wall += set;
    SECTION("and sees that at once") { before.handle(event::Wake{}); }
    SECTION("and sees that when it hears of another run") { beat(before, BeatWord::Start); }
    SECTION("and sees that when other rules come") {
      swap(before, backup({that_is(What::Missed)}, hours{1}));
      CHECK(deadline(before) == due + minutes{50});
      swap(before, rules);
    }
    const Duration running = before.now.wall - known(before).started.value();
    CHECK(known(before).since == before.now.wall - minutes{4});
    before.advance(minutes{1});
    World world = again(before, rules, after(before, seconds{10}));
    CHECK(deadline(world) == due);
    CHECK(world.now.wall - known(world).started.value() == running + minutes{1} + seconds{10});
  }
  SECTION("while healer is away") {
    World world = again(before, rules, after(before, seconds{10}, set));
    CHECK(deadline(world) == due);
    CHECK(world.now.wall - known(world).since == minutes{4} + seconds{10});
    beat(world);  // saved by the clock of now
    World last = again(world, rules, after(world, seconds{10}));
    CHECK(deadline(last) == last.now.mono + minutes{18} - seconds{10});
    CHECK(last.now.wall - known(last).since == seconds{10});
  }
}

TEST_CASE("what is not monitored is not missed after a reload, nor after a restart", "[engine][heartbeat]") {
  World before(backup({that_is(What::Missed)}));
  before.start();
  before.advance(minutes{20});
  REQUIRE(known(before).missed);
  auto next = make_graph(backup({that_is(What::Missed)}));
  SavedState saved = before.saved;
  saved.services.at("backup").monitored = false;
  World world(next, saved, after(before, seconds{10}));
  world.start();
  CHECK_FALSE(known(world).missed);
  CHECK_FALSE(world.saved.services.at("backup").heartbeat->missed);
}

TEST_CASE("the runs of heartbeats are counted by a simulation", "[engine][heartbeat][simulator]") {
  const RuleSet rules = backup({that_is(What::Missed)});
  const ScriptReading reading =
      read_script("at 1 minute beat backup\nat 2 minutes crash\nat 5 minutes beat backup\nrun for 10 minutes", rules);
  REQUIRE(reading.errors.empty());
  CHECK(simulate(rules, reading.script).runs == 3);  // the beats, and the first again after the crash
}

}  // namespace heartbeat_away_test
