// SPDX-License-Identifier: MIT
// Services that are heard, not looked at.
#include <catch2/catch.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace heartbeat_test {

using namespace healer;
using namespace healer::test;

namespace {

using What = HeartbeatIs::What;

Rule rule_of(Test test, const std::string& words, Tolerance tolerance = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0, tolerance);
  rule->condition = RuleCondition{{std::move(test)}};
  rule->condition->hash = hash128(words);
  rule->text = "if " + words + " " + std::to_string(tolerance.count) + "/" + std::to_string(tolerance.window);
  return rule;
}

Rule missed(Tolerance tolerance = {}) {
  Rule rule = rule_of(HeartbeatIs{What::Missed}, "missed", tolerance);
  rule->event = EventKind::Timeout;
  return rule;
}
Rule failed(Tolerance tolerance = {}) { return rule_of(HeartbeatIs{What::Failed}, "failed", tolerance); }
Rule longer_than(double time) {
  return rule_of(Compare{Metric::RunTime, Comparison::Greater, time}, "duration > " + std::to_string(time));
}

std::shared_ptr<ServiceBlock> heartbeat(std::string name, std::vector<Rule> rules, Duration every = hours{1},
                                        Duration within = minutes{5}) {
  auto block = service(std::move(name), std::move(rules));
  block->kind = kind_named("heartbeat");
  block->program = {};
  block->other.edit().heartbeat = {.every = every, .within = within};
  block->key = hash128(to_string(block->key) + std::to_string(every.count()) + " " + std::to_string(within.count()));
  return block;
}

RuleSet backup(std::vector<Rule> rules, Duration every = hours{1}) {
  return rule_set({heartbeat("backup", std::move(rules), every)}, seconds{30});
}

void beat(World& world, BeatWord word = BeatWord::Good, std::int64_t status = 0, std::string text = {},
          CommandId command = CommandId{1}, std::string_view name = "backup") {
  world.handle(event::arrived(world.id(name), std::string(to_string(word)), status, std::move(text), command));
}

const Heartbeat& known(const World& world) { return *world.engine->arrivals().find(world.id("backup")); }

/// What the rules have done, in order.
std::string done(const World& world) {
  std::string all;
  for (const Record& record : world.records)
    if (record.kind == RecordKind::RuleFailed || record.kind == RecordKind::RuleRecovered)
      all += (all.empty() ? "" : " | ") + std::string(record.kind == RecordKind::RuleFailed ? "-" : "+") + record.text;
  return all;
}

World restarted(const World& world, RuleSet rules, Duration away) {
  Instant later = world.now;
  later.mono += away;
  later.wall += away;
  World next(make_graph(std::move(rules)), world.saved, later);
  next.start();
  return next;
}

}  // namespace

TEST_CASE("a heartbeat that nobody hears is missed, and counts again each further interval", "[engine][heartbeat]") {
  World world(backup({missed(), missed({3, 3, Duration{0}})}));
  world.start();
  CHECK(world.open.empty());  // nothing is looked at
  world.advance(hours{1} + minutes{5} - milliseconds{1});
  CHECK(done(world).empty());
  world.advance(milliseconds{1});
  CHECK(done(world) == "-no beat for 1 h 5 m, since its rule was loaded (every 1 h within 5 m)");
  CHECK(world.execs.back().cause->event_text == "Timeout");
  CHECK(known(world).missed == world.now.wall);
  CHECK(world.engine->service(world.id("backup")).runs == 1);
  world.advance(hours{2});
  CHECK(world.engine->service(world.id("backup")).runs == 3);
  CHECK(world.count(RecordKind::RuleFailed) == 2);
  beat(world);
  CHECK(world.count(RecordKind::RuleRecovered) == 2);
  CHECK(world.records.back().text == "its last beat is good");
  CHECK_FALSE(known(world).missed);
}

TEST_CASE("a beat puts off when it is due, at once and each time", "[engine][heartbeat]") {
  World world(backup({missed()}));
  world.start();
  for (int day = 0; day < 5; ++day) {
    world.advance(hours{1} + minutes{4});
    beat(world);
    beat(world);  // the same twice does no harm
  }
  CHECK(done(world).empty());
  CHECK(world.engine->service(world.id("backup")).runs == 10);
  CHECK(world.count(RecordKind::Beat) == 1);  // of the first
  world.advance(hours{1} + minutes{5});
  CHECK(done(world) == "-no beat for 1 h 5 m (every 1 h within 5 m)");
}

TEST_CASE("a failure stands until a good beat", "[engine][heartbeat]") {
  World world(backup({failed(), failed({2, 2, Duration{0}})}));
  world.start();
  beat(world, BeatWord::Fail, 0, "no space left");
  CHECK(done(world) == "-its last beat is fail: no space left");
  CHECK(world.execs.back().cause->event_text == "Status failed");
  beat(world, BeatWord::Exit, 3);
  CHECK(done(world) == "-its last beat is fail: no space left | -its last beat is exit status 3");
  beat(world, BeatWord::Exit, 0);
  CHECK(world.count(RecordKind::RuleRecovered) == 2);
  CHECK(world.count(RecordKind::Beat) == 3);
  beat(world, BeatWord::Exit, 0, "another text is no other word");
  CHECK(world.count(RecordKind::Beat) == 3);
  beat(world, BeatWord::Exit, 4);
  beat(world, BeatWord::Exit, 5);
  CHECK(world.count(RecordKind::Beat) == 5);
  CHECK(done(world).ends_with("-its last beat is exit status 5"));
}

TEST_CASE("`start` only begins the run time, which is judged at each cycle", "[engine][heartbeat]") {
  World world(backup({missed(), longer_than(600)}));
  world.start();
  beat(world);
  const std::uint64_t runs = world.engine->service(world.id("backup")).runs;
  world.advance(minutes{30});
  beat(world, BeatWord::Start);
  CHECK(world.engine->service(world.id("backup")).runs == runs);
  CHECK(known(world).started == world.now.wall);
  world.advance(minutes{10});
  CHECK(done(world).empty());
  world.advance(seconds{30});
  CHECK(done(world) == "-its run takes 10 m 30 s (limit > 10 m)");
  world.advance(minutes{5});
  beat(world);
  CHECK(known(world).ran == minutes{15} + seconds{30});
  CHECK_FALSE(known(world).started);
  CHECK(world.count(RecordKind::RuleRecovered) == 0);  // it has taken so long
  beat(world, BeatWord::Start);
  world.advance(seconds{30});
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
  beat(world);
  CHECK(known(world).ran == seconds{30});
  beat(world);  // nobody has told its start
  CHECK_FALSE(known(world).ran);
  // It was due an hour after its last beat, not after its start.
  beat(world, BeatWord::Start);
  world.advance(hours{1} + minutes{5});
  CHECK(known(world).missed);
}

TEST_CASE("looks at the run time do not count", "[engine][heartbeat]") {
  World world(backup({failed({3, 3, Duration{0}}), longer_than(36'000)}, days{1}));
  world.start();
  beat(world, BeatWord::Fail);
  beat(world, BeatWord::Start);
  world.advance(hours{1});
  CHECK(done(world).empty());
  beat(world, BeatWord::Fail);
  beat(world, BeatWord::Fail);
  CHECK(world.count(RecordKind::RuleFailed) == 1);
}

TEST_CASE("without a test of the run time nothing wakes the engine for it", "[engine][heartbeat]") {
  World world(backup({missed()}));
  world.start();
  beat(world, BeatWord::Start);
  CHECK(world.engine->next_deadline() == world.now.mono + hours{1} + minutes{5});
}

TEST_CASE("a beat is answered when it is on disk", "[engine][heartbeat]") {
  World world(backup({missed()}));
  world.commits = false;
  world.start();
  beat(world, BeatWord::Good, 0, {}, CommandId{7});
  CHECK(world.replies.empty());
  const auto& last = std::get<effect::Commit>(world.effects.back());
  CHECK(last.durability() == effect::Durability::Synced);
  world.handle(event::Committed{.up_to = last.sequence});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].command == CommandId{7});
  CHECK(world.replies[0].ok);
  CHECK(world.replies[0].text == "backup was heard");
}

TEST_CASE("a beat that changes no rule saves the heartbeat alone", "[engine][heartbeat]") {
  World world(backup({missed()}));
  world.start();
  beat(world);
  world.effects.clear();
  world.advance(minutes{1});
  beat(world);
  const auto commit = std::ranges::find_if(
      world.effects, [](const Effect& effect) { return std::holds_alternative<effect::Commit>(effect); });
  REQUIRE(commit != world.effects.end());
  CHECK(std::get<effect::Commit>(*commit).services.empty());
  REQUIRE(std::get<effect::Commit>(*commit).heartbeats.size() == 1);
  CHECK(world.saved.services.at("backup").heartbeat->since == world.now.wall);
}

TEST_CASE("a beat of what is gone is refused", "[engine][heartbeat]") {
  World world(rule_set({heartbeat("backup", {missed()}), service("web", {status_rule(Comparison::NotEqual, 0)})}));
  world.start();
  beat(world, BeatWord::Good, 0, {}, CommandId{3}, "web");
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies[0].ok);
  world.handle(event::arrived(ServiceId{77}, "good", 0, {}, CommandId{4}));
  REQUIRE(world.replies.size() == 2);
  CHECK_FALSE(world.replies[1].ok);
}

TEST_CASE("after a downtime a heartbeat has `within` once more", "[engine][heartbeat]") {
  World before(backup({missed(), longer_than(60)}));
  before.start();
  beat(before, BeatWord::Exit, 3, "half done");
  before.advance(minutes{10});
  beat(before, BeatWord::Start);
  before.advance(seconds{10});

  SECTION("where it was missed meanwhile") {
    World world = restarted(before, backup({missed(), longer_than(60)}), days{3});
    CHECK(known(world).word == BeatWord::Exit);
    CHECK(known(world).status == 3);
    CHECK(known(world).text == "half done");
    world.advance(minutes{5} - milliseconds{1});
    CHECK_FALSE(known(world).missed);
    world.advance(milliseconds{1});
    CHECK(known(world).missed);
  }
  SECTION("where it was not, its time goes on") {
    World world = restarted(before, backup({missed(), longer_than(60)}), seconds{20});
    world.advance(hours{1} + minutes{5} - minutes{10} - seconds{30} - milliseconds{1});
    CHECK_FALSE(known(world).missed);
    world.advance(milliseconds{1});
    CHECK(known(world).missed);
  }
  SECTION("and a run goes on") {
    World world = restarted(before, backup({missed(), longer_than(60)}), seconds{20});
    CHECK(known(world).started == before.now.wall - seconds{10});
    world.advance(seconds{61});
    CHECK(world.count(RecordKind::RuleFailed) == 1);
    beat(world);
    CHECK(known(world).ran == seconds{91});
  }
  SECTION("over a reboot, too") {
    Instant later{.boot = 8, .mono = seconds{20}, .wall = before.now.wall + minutes{3}};
    World world(make_graph(backup({missed(), longer_than(60)})), before.saved, later);
    world.start();
    CHECK(known(world).status == 3);
    world.advance(hours{1});
    CHECK(known(world).missed);
  }
}

TEST_CASE("a heartbeat that is missed stays so over a restart", "[engine][heartbeat]") {
  World before(backup({missed()}));
  before.start();
  before.advance(hours{2});
  REQUIRE(before.count(RecordKind::RuleFailed) == 1);
  const std::optional<WallTime> since = known(before).missed;
  World world = restarted(before, backup({missed()}), minutes{10});
  CHECK(known(world).missed == since);
  CHECK(world.engine->rules(world.id("backup"))[0].status == RuleStatus::Failed);
  world.advance(hours{3});
  CHECK(world.count(RecordKind::RuleFailed) == 0);  // it is known
  beat(world);
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
}

TEST_CASE("a reload keeps what is known of a heartbeat", "[engine][heartbeat]") {
  const auto swap = [](World& world, RuleSet next) {
    world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))});
  };
  World world(backup({missed()}));
  world.start();
  beat(world, BeatWord::Fail, 0, "no space left");
  const WallTime heard = world.now.wall;
  world.advance(minutes{30});
  const Duration due = world.now.mono + minutes{35};

  SECTION("with other rules it is due as before") {
    swap(world, backup({missed(), failed()}));
    CHECK(known(world).since == heard);
    CHECK(known(world).text == "no space left");
    CHECK(world.engine->next_deadline() == due);
  }
  SECTION("with another interval it is due after its last beat") {
    swap(world, backup({missed()}, hours{2}));
    CHECK(world.engine->next_deadline() == due + hours{1});
  }
  SECTION("it is not missed at once where the interval is over already") {
    swap(world, backup({missed()}, minutes{1}));
    CHECK(world.engine->next_deadline() == world.now.mono + minutes{5});
  }
  SECTION("a test of the run time counts from now on") {
    beat(world, BeatWord::Start);
    swap(world, backup({missed(), longer_than(60)}));
    world.advance(seconds{90});
    CHECK(world.count(RecordKind::RuleFailed) == 1);
  }
  SECTION("what comes later is due after its load") {
    auto blocks = rule_set({heartbeat("backup", {missed()}), heartbeat("other", {missed()})}, seconds{30});
    swap(world, std::move(blocks));
    world.advance(hours{1} + minutes{5});
    CHECK(world.engine->arrivals().find(world.id("other"))->missed == world.now.wall);
  }
  SECTION("what is gone is forgotten") {
    swap(world, rule_set({service("web", {status_rule(Comparison::NotEqual, 0)})}, seconds{30}));
    CHECK_FALSE(world.saved.services.contains("backup"));
    world.advance(days{1});
    CHECK(done(world).empty());
  }
  SECTION("another kind of service of that name is looked at, and back") {
    swap(world, rule_set({service("backup", {status_rule(Comparison::NotEqual, 0)})}, seconds{30}));
    CHECK(world.engine->arrivals().find(world.id("backup")) == nullptr);
    world.advance(seconds{30});
    CHECK(world.open.size() == 1);
    swap(world, backup({missed()}));
    world.open.clear();
    world.advance(minutes{10});
    CHECK(world.open.empty());
    CHECK(known(world).word == BeatWord::None);
  }
}

TEST_CASE("an unmonitored heartbeat is heard, and not judged", "[engine][heartbeat]") {
  const auto tell = [](World& world, event::Command::Kind kind) {
    world.handle(event::Command{CommandId{9}, kind, {world.id("backup")}, ByPerson{"root"}});
  };
  World world(backup({missed(), failed()}));
  world.start();
  tell(world, event::Command::Kind::Unmonitor);
  CHECK_FALSE(world.engine->next_deadline());
  beat(world, BeatWord::Fail, 0, "no space left");
  CHECK(known(world).word == BeatWord::Fail);
  CHECK(world.replies.back().ok);
  CHECK(done(world).empty());
  world.advance(days{2});
  CHECK(done(world).empty());
  tell(world, event::Command::Kind::Monitor);
  CHECK(done(world) == "-its last beat is fail: no space left");
  world.advance(minutes{5} - milliseconds{1});
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  world.advance(milliseconds{1});
  CHECK(world.count(RecordKind::RuleFailed) == 2);
  tell(world, event::Command::Kind::Unmonitor);
  CHECK_FALSE(known(world).missed);
  tell(world, event::Command::Kind::Monitor);
  world.advance(minutes{5});
  CHECK(world.count(RecordKind::RuleFailed) == 4);
}

TEST_CASE("a person's check of a heartbeat judges what is known, and counts nothing", "[engine][heartbeat]") {
  World world(backup({failed(), failed({2, 2, Duration{0}})}));
  world.start();
  beat(world, BeatWord::Fail);
  world.handle(event::Command{CommandId{9}, event::Command::Kind::Validate, {world.id("backup")}, ByPerson{"root"}});
  REQUIRE(world.replies.back().command == CommandId{9});
  CHECK(world.replies.back().text == "backup failed");
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  beat(world);
  world.handle(event::Command{CommandId{10}, event::Command::Kind::Validate, {world.id("backup")}, ByPerson{"root"}});
  CHECK(world.replies.back().text == "backup is in order");
}

TEST_CASE("a heartbeat may be a member of a composite", "[engine][heartbeat]") {
  Rule any = rule_of(Members{{Quota::Kind::Any}}, "any member failed");
  auto all = service("all", {any});
  all->kind = kind_named("composite");
  all->program = {};
  all->other.edit().composite = {{"backup", "other"}, {}};
  World world(rule_set({all, heartbeat("backup", {missed(), failed()}), heartbeat("other", {missed()})}, seconds{30}));
  world.start();
  world.advance(minutes{1});
  CHECK(world.engine->composites().health(world.id("backup")) == Health::Unjudged);
  beat(world);
  CHECK(world.engine->composites().health(world.id("backup")) == Health::Ok);
  world.advance(seconds{30});  // its first run
  beat(world, BeatWord::Fail);
  CHECK(world.count(RecordKind::RuleFailed) == 2);
  CHECK(world.engine->composites().health(world.id("all")) == Health::Failed);
  beat(world);
  CHECK(world.count(RecordKind::RuleRecovered) == 2);
}

TEST_CASE("what is decided by beats waits where people have paused it", "[engine][heartbeat]") {
  World world(backup({failed()}));
  world.start();
  world.handle(event::Command{CommandId{9}, event::Command::Kind::Pause, {world.id("backup")}, ByPerson{"root"}});
  beat(world, BeatWord::Fail);
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  CHECK(world.execs.empty());
  CHECK(world.count(RecordKind::ActionHeld) == 1);
}

TEST_CASE("explain says when a heartbeat was heard, and when it is due", "[engine][heartbeat]") {
  World world(backup({missed()}));
  world.start();
  const auto notes = [&world] { return explain(*world.engine, world.id("backup"), world.now).notes; };
  world.advance(minutes{2});
  CHECK(notes() == std::vector<std::string>{"There was no beat yet; its rule was loaded 2 m ago.",
                                            "It is missed in 1 h 3 m, if no beat comes (every 1 h within 5 m)."});
  beat(world, BeatWord::Start);
  world.advance(minutes{1});
  beat(world, BeatWord::Exit, 3, "no space left\non /dev/sda1");
  world.advance(minutes{10});
  CHECK(notes() == std::vector<std::string>{"Its last beat was 10 m ago: exit status 3: no space left.",
                                            "It is missed in 55 m, if no beat comes (every 1 h within 5 m).",
                                            "Its last run took 1 m."});
  world.advance(hours{1});
  beat(world, BeatWord::Start);
  world.advance(seconds{2});
  CHECK(notes() ==
        std::vector<std::string>{"Its last beat was 1 h 10 m ago: exit status 3: no space left.",
                                 "It has been missed for 5 m 2 s; without a beat that counts again in 54 m 58 s.",
                                 "A run has been under way for 2 s."});
}

}  // namespace heartbeat_test
