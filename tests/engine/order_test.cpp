// SPDX-License-Identifier: MIT
// Jobs in the order of dependencies: what has a restart program, and what dies while that which needs it is started.
#include <algorithm>

#include <catch2/catch.hpp>

#include "support/process_world.hpp"
#include "support/records.hpp"

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
  if (!has("start")) block->start.reset();
  if (!has("stop")) block->stop.reset();
  if (has("restart")) block->restart = Command{.arguments = {"/restart", name}, .timeout = seconds{30}};
  return block;
}

void settle_up(ProcessWorld& world, const std::vector<std::string>& names) {
  for (const std::string& name : names) world.bring_up(name);
  world.start();
  world.run(seconds{6});
  REQUIRE(world.programs.empty());
}

void forget_programs(ProcessWorld& world) {
  REQUIRE(world.engine.jobs().empty());
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
    CHECK(said(world, RecordKind::JobHeld, "not restarted: d failed to start (exit status 3)"));
    CHECK_FALSE(world.replies.back().ok);
  }
}

TEST_CASE("of what is no process and needs another, too, the restart program runs in its turn") {
  auto probe = service("probe", {});
  probe->depends = {"d"};
  probe->restart = Command{.arguments = {"/restart", "probe"}, .timeout = seconds{30}};
  const bool stops = GENERATE(false, true);
  if (stops) probe->stop = Command{.arguments = {"/stop", "probe"}, .timeout = seconds{30}};
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
  CHECK(world.replies.back().text == "1 service started");
  CHECK(world.is_up("a"));
}

// ---- deaths while others are started ------------------------------------------------------------------------------

namespace {

/// app needs db. Both were up for long, then app has died, and a rule has been starting it for 5 s of the 20 s that
/// this takes.
struct Starting {
  ProcessWorld world;

  explicit Starting(RuleSet rules) : world(std::move(rules)) {
    world.bring_up("app");
    if (!world.engine.graph()->at(world.id("db")).foreground()) world.bring_up("db");
    world.start();
    world.run(minutes{2});
    forget_programs(world);
    world.doings["start app"] = {.takes = seconds{20}};
    world.die("app");
    world.run(world.engine.graph()->settings.settle + seconds{5});
    REQUIRE(world.programs == Programs{"start app"});
    REQUIRE(world.engine.jobs().size() == 1);
  }

  static RuleSet rules(const std::shared_ptr<ServiceBlock>& db, std::vector<Rule> app = {missing_rule()}) {
    auto block = process("app", std::move(app), {"db"});
    block->recipients = {{.address = "exec@b", .events = EventMask{}.set(), .listed = true}};
    return rule_set({block, db}, minutes{1});
  }

  /// Of app, of this kind.
  [[nodiscard]] std::size_t alerts(EventKind kind) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(world.alerts, [&](const effect::Alert& alert) { return alert.cause->event == kind; }));
  }
};

}  // namespace

TEST_CASE("what dies while a rule starts what needs it is started at once, and that after it") {
  const bool own = GENERATE(false, true);
  RuleSet rules = Starting::rules(own ? foreground("db") : process("db"));
  rules.settings.settle = GENERATE(Duration{0}, Duration{1000});
  const Duration settle = own ? Duration{0} : rules.settings.settle;
  const std::string start = own ? "run db" : "start db";
  Starting starting(std::move(rules));
  ProcessWorld& world = starting.world;
  world.doings["start app"] = {.takes = seconds{1}};
  world.die("db");
  CHECK(world.ended.size() == 1);
  CHECK(said(world, RecordKind::JobFailed, "restart failed: db has died, on which app depends"));
  world.run(settle);
  REQUIRE(world.programs.size() >= 2);
  CHECK(std::ranges::count(world.programs, start) == 1);
  world.run(seconds{4});
  CHECK(world.programs.front() == "start app");
  CHECK(world.programs.back() == "start app");
  CHECK(std::ranges::count(world.programs, start) == 1);
  CHECK(std::ranges::count(world.programs, "start app") == 2);
  CHECK(world.is_up("app"));
  CHECK(world.early.empty());
  // It was not app's fault.
  const StartHistory& starts = world.engine.service(world.id("app")).starts;
  CHECK(starts.quick == 0);
  CHECK_FALSE(starts.not_before);
  CHECK(world.engine.service(world.id("app")).start_failure.empty());
  CHECK(starting.alerts(EventKind::Exec) == 0);
}

TEST_CASE("however far up what is being started needs the dead one") {
  ProcessWorld world(
      rule_set({process("top", {missing_rule()}, {"mid"}), process("mid", {missing_rule()}, {"db"}), process("db")},
               minutes{1}));
  settle_up(world, {"top", "mid", "db"});
  world.run(minutes{1});
  world.doings["start top"] = {.takes = seconds{20}};
  SECTION("in a job of its own") { world.die("top"); }
  SECTION("in the job that has started the dead one") { world.die("db"); }
  world.run(seconds{6});
  REQUIRE(world.programs.back() == "start top");
  world.programs.clear();
  world.doings.clear();
  world.run(seconds{10});
  world.die("db");
  CHECK(said(world, RecordKind::JobFailed, "db has died, on which top depends"));
  world.run(milliseconds{1500});
  CHECK(std::ranges::count(world.programs, "start db") == 1);
  world.run(seconds{5});
  CHECK(world.programs == Programs{"stop mid", "start db", "start mid", "start top"});
  for (const char* name : {"top", "mid", "db"}) CHECK(world.is_up(name));
  CHECK(world.early.empty());
}

TEST_CASE("a job that starts others goes on without what has died and what needs that") {
  // top needs db, db and slow need base.
  const bool own = GENERATE(false, true);
  const auto db = own ? foreground("db", {missing_rule()}, {"base"}) : process("db", {missing_rule()}, {"base"});
  ProcessWorld world(rule_set(
      {process("slow", {missing_rule()}, {"base"}), process("top", {missing_rule()}, {"db"}), db, process("base")},
      minutes{1}));
  world.start();
  world.run(minutes{2});
  world.doings["start slow"] = {.takes = seconds{20}};
  forget_programs(world);
  world.die("base");
  world.run(seconds{14});
  REQUIRE(world.programs.back() == "start slow");
  REQUIRE(world.is_up("db"));
  const bool top = world.is_up("top");  // or slow goes first
  world.die("db");
  world.run(milliseconds{2500});
  CHECK(world.is_up("db"));
  world.run(seconds{1});
  CHECK(world.is_up("top"));
  CHECK_FALSE(world.is_up("slow"));
  CHECK(world.ended.size() == (own ? 1 : 0));
  CHECK(said(world, RecordKind::JobStep, "its restart goes on without"));
  CHECK(std::ranges::count(world.programs, "start top") == (top ? 2 : 1));
  world.run(seconds{20});
  CHECK(world.is_up("slow"));
  CHECK(world.early.empty());
}

TEST_CASE("what a person starts goes on though that which it needs has died") {
  Starting starting(Starting::rules(process("db")));
  ProcessWorld& world = starting.world;
  world.command(Kind::Restart, {"app"});
  world.run(seconds{1});
  REQUIRE(world.engine.jobs().size() == 1);
  REQUIRE(world.engine.jobs().begin()->second.by == "root");
  const std::size_t ended = world.ended.size();
  world.die("db");
  world.run(seconds{5});
  CHECK(world.ended.size() == ended);
  CHECK(world.engine.service(world.id("db")).waits == "the restart of app is under way");
  world.run(minutes{1});
  CHECK(world.is_up("db"));
  CHECK(world.is_up("app"));
}

TEST_CASE("a person who waits for a rule's start is told what has died") {
  Starting starting(Starting::rules(process("db")));
  starting.world.command(Kind::Start, {"app"});
  starting.world.die("db");
  REQUIRE(starting.world.replies.size() == 1);
  CHECK(starting.world.replies[0].text == "app: db has died, on which app depends");
}

TEST_CASE("where another hand starts the dead one, what needs it is started again without waiting for a cycle") {
  Starting starting(Starting::rules(process("db")));
  ProcessWorld& world = starting.world;
  world.die("db");
  world.run(milliseconds{500});
  world.bring_up("db");
  world.run(milliseconds{700});
  CHECK(world.programs == Programs{"start app", "start app"});
  world.run(seconds{21});
  CHECK(world.is_up("app"));
}

TEST_CASE("what no rule starts again ends no start") {
  auto db = process("db", {missing_rule(ActionKind::Alert)});
  SECTION("its rules only tell") {}
  SECTION("it is passive") {
    db = process("db");
    db->activity = ServiceBlock::Activity::Passive;
  }
  SECTION("it has no start program") { db = with_programs("db", {"stop"}); }
  Starting starting(Starting::rules(db));
  ProcessWorld& world = starting.world;
  world.die("db");
  world.run(seconds{16});
  CHECK(world.is_up("app"));
  CHECK(world.ended.empty());
  CHECK(world.programs == Programs{"start app"});
}

TEST_CASE("a death that only a look finds ends the start of what needs it, too") {
  auto db = process("db");
  RuleSet rules = Starting::rules(db);
  rules.settings.cycle = seconds{4};
  rules.settings.settle = GENERATE(Duration{0}, Duration{1000});
  Starting starting(std::move(rules));
  ProcessWorld& world = starting.world;
  world.deaf = true;
  world.die("db");
  world.run(seconds{6});
  CHECK(world.programs[1] == "start db");
}

TEST_CASE("what dies again and again does not use up the restarts of what needs it") {
  Starting starting(Starting::rules(foreground("db"), {missing_rule(), restarts_rule(2, 5)}));
  ProcessWorld& world = starting.world;
  world.doings["run db"] = {.takes = seconds{15}, .status = 1};
  world.die("db");
  world.run(minutes{10});
  CHECK(world.engine.service(world.id("app")).monitored);
  CHECK(world.count(RecordKind::Unmonitored) == 0);
  world.doings.clear();
  world.run(minutes{2});
  CHECK(world.is_up("db"));
  CHECK(world.is_up("app"));
}

TEST_CASE("the next daemon, too, ends the start of what needs that which dies") {
  Starting starting(Starting::rules(process("db")));
  ProcessWorld& world = starting.world;
  world.crash(seconds{1});
  world.run(seconds{2});
  REQUIRE(world.engine.jobs().size() == 1);
  world.die("db");
  world.run(milliseconds{1500});
  CHECK(std::ranges::count(world.programs, "start db") == 1);
  world.run(minutes{1});
  CHECK(world.is_up("db"));
  CHECK(world.is_up("app"));
  CHECK(world.saved.jobs.empty());
}
