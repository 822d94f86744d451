// SPDX-License-Identifier: MIT
// The commands of people while rules start and stop the same services.
#include <algorithm>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"
#include "support/rounds.hpp"

namespace operator_commands_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// app depends on web, web on db; a rule starts db, which takes 8 s, and 3 s of them are over.
struct SlowStart {
  ProcessWorld world{
      rule_set({process("app", {missing_rule()}, {"web"}), process("web", {missing_rule()}, {"db"}), process("db")},
               seconds{5})};

  explicit SlowStart(bool web_is_up = false) {
    world.doings["start db"] = {.takes = seconds{8}};
    if (web_is_up) {
      world.bring_up("web");
      world.bring_up("app");
    }
    world.start();
    world.run(seconds{3});
    REQUIRE(world.engine->jobs().size() == 1);
    REQUIRE(world.programs.back() == "start db");
  }
};

}  // namespace

TEST_CASE("a person's restart of a dependent waits for the rule's job that is about to start it") {
  SlowStart start;
  ProcessWorld& world = start.world;
  world.command(Kind::Restart, {"web"});
  world.run(seconds{4});
  CHECK(world.replies.empty());
  CHECK(world.ended.empty());
  SECTION("it is started") {
    world.run(seconds{3});
    REQUIRE(world.replies.size() == 1);
    CHECK(world.replies[0].ok);
    CHECK(world.replies[0].text == "web started; app, db started, too");
    CHECK(world.programs == Programs{"start db", "start web", "start app"});
  }
  SECTION("it is not") {
    world.doings["start web"] = {.status = 3};
    world.run(seconds{3});
    REQUIRE(world.replies.size() == 1);
    CHECK(world.replies[0].text == "db: web failed to start (exit status 3) -- no output");
  }
  SECTION("another wants it stopped meanwhile") {
    world.command(Kind::Stop, {"web"});
    world.run(seconds{1});
    REQUIRE(world.replies.size() == 2);
    CHECK(world.replies[0].text == "web: ended for the stop by root");
    CHECK(world.replies[1].text == "web did not run");
  }
}

TEST_CASE("a person's stop of a dependent leaves the start of what it depends on alone") {
  const bool up = GENERATE(false, true);
  SlowStart start(up);
  ProcessWorld& world = start.world;
  if (up) world.bring_up("web");  // not by healer
  const Programs before = world.programs;
  world.command(Kind::Stop, {"web"});
  world.run(seconds{1});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].text == (up ? "web stopped" : "web did not run"));
  CHECK_FALSE(world.is_up("web"));
  CHECK(world.ended.empty());
  CHECK(has_record(world, RecordKind::JobStep, "its restart goes on without app, web: ended for the stop by root"));
  SECTION("which is completed without it") { world.run(seconds{30}); }
  SECTION("by the next daemon, too") {
    world.crash(milliseconds{500});
    world.run(seconds{30});
  }
  Programs expected = before;
  if (up) expected.emplace_back("stop web");
  CHECK(world.programs == expected);
  CHECK(world.is_up("db"));
  CHECK_FALSE(world.engine->service(world.id("web")).monitored);
  CHECK_FALSE(world.engine->service(world.id("app")).monitored);
  CHECK(world.engine->jobs().empty());
  CHECK(world.saved.jobs.empty());
}

TEST_CASE("a dependent that the rule's job has left running is restarted beside it, when what it needs is there") {
  // Without a stop program it was left alone.
  auto web = process("web", {missing_rule()}, {"db"});
  web->programs.edit().stop.reset();
  ProcessWorld world(rule_set({web, process("db")}, seconds{5}));
  world.doings["start db"] = {.takes = seconds{8}};
  world.bring_up("web");
  world.start();
  world.run(seconds{3});
  REQUIRE(world.programs == Programs{"start db"});
  world.command(Kind::Restart, {"web"});
  world.run(seconds{1});
  CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  CHECK(world.replies.empty());
  CHECK(has_record(world, RecordKind::JobStep, "its start waits for the job of db, which it depends on"));
  CHECK(explain(*world.engine, world.id("web"), world.now)
            .notes.front()
            .find("it waits for the job of db, which it depends on") != std::string::npos);
  world.run(seconds{30});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].text == "web restarted");
  CHECK(world.ended.empty());
  CHECK(world.programs == Programs{"start db", "start web"});
}

TEST_CASE("A service that is no process is started whatever its stop program says") {
  auto probe = service("probe", {});
  probe->programs.edit().start = Command{.arguments = {"/start", "probe"}, .timeout = seconds{30}};
  probe->programs.edit().stop = Command{.arguments = {"/stop", "probe"}, .timeout = seconds{30}};
  ProcessWorld world(rule_set({probe}, seconds{5}));
  world.doings["stop probe"] = {.status = 1};
  world.start();
  world.run(seconds{1});
  world.command(Kind::Restart, {"probe"});
  world.run(seconds{1});
  CHECK(world.programs == Programs{"stop probe", "start probe"});
  CHECK(world.replies.back().text == "probe restarted");
  CHECK(has_record(world, RecordKind::JobStep, "failed to stop (exit status 1) -- no output"));
}

TEST_CASE("what a start waits for may go from the rules meanwhile") {
  const auto web = process("web", {missing_rule()}, {"db"});
  ProcessWorld world(rule_set({web, process("db", {missing_rule(ActionKind::Start)})}, seconds{5}));
  world.doings["start db"] = {.takes = seconds{20}};
  world.start();
  world.run(seconds{2});
  world.command(Kind::Start, {"web"});
  world.run(seconds{1});
  REQUIRE(has_record(world, RecordKind::JobStep, "its start waits for the job of db, which it depends on"));
  auto alone = process("web");
  alone->key = hash128("alone");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({alone}, seconds{5}))});
  const Job& job = world.engine->jobs().begin()->second;
  CHECK(job_waits_for(*world.engine, job) == "a check of web");
  world.settle();
  world.run(seconds{5});
  CHECK(world.is_up("web"));
  CHECK(world.replies.back().text == "web started");
}

TEST_CASE("what a rule's job has brought up, and has died since, is not waited for") {
  const auto db = process("db");
  const auto web = process("web", {missing_rule()}, {"db"});
  const auto slow = process("slow", {missing_rule()}, {"db"});
  const auto top = process("top", {missing_rule()}, {"web"});
  ProcessWorld world(rule_set({slow, web, db, top}, seconds{30}));
  for (const char* name : {"db", "web", "slow", "top"}) world.bring_up(name);
  world.start();
  world.run(seconds{5});
  world.command(Kind::Stop, {"top"});
  world.doings["start slow"] = {.takes = seconds{20}};
  world.die("db");
  world.run(seconds{5});
  REQUIRE(world.programs.back() == "start slow");
  REQUIRE(world.is_up("web"));
  world.die("web");
  world.command(Kind::Start, {"top"});
  world.run(seconds{3});
  CHECK(world.is_up("web"));
  CHECK(world.is_up("top"));
  CHECK(world.replies.back().text == "top started; web started, too");
}

TEST_CASE("a person's start of what was stopped a moment ago waits for the rule's start of what it needs") {
  SlowStart start;
  ProcessWorld& world = start.world;
  world.command(Kind::Stop, {"web"});
  world.command(Kind::Start, {"web"});
  world.run(seconds{1});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].text == "web did not run");
  SECTION("which is brought up") {
    world.run(seconds{5});
    REQUIRE(world.replies.size() == 2);
    CHECK(world.replies[1].text == "web started");
    CHECK(world.programs == Programs{"start db", "start web"});
    CHECK(world.ended.empty());
  }
  SECTION("which is not") {
    world.handle(event::Command{.id = CommandId{5},
                                .kind = Kind::Cancel,
                                .services = {},
                                .by = ByPerson{"root"},
                                .job = JobId{world.engine->jobs().begin()->first}});
    world.run(seconds{1});
    REQUIRE(world.replies.size() == 3);
    CHECK(world.replies[2].text == "web: not started: it depends on db, which is not running");
  }
  SECTION("by the next daemon, too") {
    world.crash(milliseconds{500});
    world.run(seconds{8});
    CHECK(world.programs == Programs{"start db", "start web"});
    CHECK(world.is_up("web"));
  }
}

TEST_CASE("a person's stop of what a rule starts ends that") {
  SlowStart start;
  ProcessWorld& world = start.world;
  world.command(Kind::Stop, {"db"});
  world.run(seconds{1});
  CHECK(world.replies.back().ok);
  CHECK(world.ended.size() == 1);
  CHECK(has_record(world, RecordKind::JobFailed, "ended for the stop by root"));
  world.run(seconds{30});
  CHECK(world.programs == Programs{"start db"});
}

TEST_CASE("a start or stop program that a person wants is told the last status of its check program") {
  auto block = service("probe", {});
  block->programs.edit().start = Command{.arguments = {"/start", "probe"}, .timeout = seconds{30}};
  World world(rule_set({block}, seconds{5}));
  world.start();
  world.advance(seconds{1});
  world.observe(world.id("probe"), 4);
  world.handle(
      event::Command{.id = CommandId{1}, .kind = Kind::Start, .services = {world.id("probe")}, .by = ByPerson{"root"}});
  REQUIRE(world.execs.size() == 1);
  CHECK(world.execs[0].cause->program_status == 4);
  CHECK(world.execs[0].cause->event_text == "Started");
}

TEST_CASE("programs of a job are told of the process or the check program that they are for, not of that of another") {
  // probe asks for a restart; by that of it the system and the process are restarted, too. As by Monit 5.33: no status
  // for the system, and 0 of a check program that has not run.
  auto with_start = [](std::shared_ptr<ServiceBlock> block, std::vector<std::string> depends) {
    block->programs.edit().start = Command{.arguments = {"/start", block->name}, .timeout = seconds{30}};
    block->depends = std::move(depends);
    return block;
  };
  auto here = with_start(service("here", {}), {"probe"});
  here->kind = kind_named("system");
  World world(
      rule_set({with_start(service("probe", {}), {}), here, with_start(service("late", {}), {"here"})}, seconds{5}));
  world.start();
  world.advance(seconds{1});
  world.observe(world.id("probe"), 4);
  world.handle(event::Command{
      .id = CommandId{1}, .kind = Kind::Restart, .services = {world.id("probe")}, .by = ByPerson{"root"}});
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(world.execs.size() == i + 1);
    world.handle(event::ActionEnded{.action = world.execs[i].action});
  }
  CHECK(world.execs[0].cause->program_status == 4);
  CHECK(world.execs[1].cause->service == "here");
  CHECK_FALSE(world.execs[1].cause->program_status);
  CHECK_FALSE(world.execs[1].cause->process);
  CHECK(world.execs[2].cause->service == "late");
  CHECK(world.execs[2].cause->program_status == 0);
}

TEST_CASE("a start of what is no process and has no program says what was done, a restart fails") {
  World world(rule_set({service("probe", {}), service("other", {})}, seconds{5}));
  world.start();
  world.handle(event::Command{
      .id = CommandId{1}, .kind = Kind::Unmonitor, .services = {world.id("probe")}, .by = ByPerson{"root"}});
  const auto answer = [&world](Kind kind, std::vector<ServiceId> services) {
    world.replies.clear();
    world.handle(
        event::Command{.id = CommandId{2}, .kind = kind, .services = std::move(services), .by = ByPerson{"root"}});
    REQUIRE(world.replies.size() == 1);
    return world.replies[0];
  };
  const effect::Reply started = answer(Kind::Start, {world.id("probe")});
  CHECK(started.ok);
  CHECK(started.text == "probe is monitored; it has no start program");
  CHECK(world.engine->service(world.id("probe")).monitored);
  const effect::Reply restarted = answer(Kind::Restart, {world.id("probe")});
  CHECK_FALSE(restarted.ok);
  CHECK(restarted.text == "probe: it has no start program");
  // Among others it is left as it is.
  CHECK(answer(Kind::Restart, {world.id("probe"), world.id("other")}).ok);
}

TEST_CASE("a process without programs is only monitored or not by the words of people, as by Monit") {
  auto only = process("only");
  only->programs.edit().start.reset();
  only->programs.edit().stop.reset();
  const bool up = GENERATE(true, false);
  ProcessWorld world(rule_set({only, process("web")}, seconds{5}));
  if (up) world.bring_up("only");
  world.bring_up("web");
  world.start();
  world.run(seconds{1});
  const auto monitored = [&world] { return world.engine->service(world.id("only")).monitored; };
  const bool alone = GENERATE(true, false);
  const std::vector<std::string> names =
      alone ? std::vector<std::string>{"only"} : std::vector<std::string>{"only", "web"};
  world.command(Kind::Stop, names);
  world.run(seconds{2});
  CHECK(world.replies.back().ok);
  if (alone)
    CHECK(world.replies.back().text ==
          "only is no longer monitored; it has no start and no stop program, and is left alone");
  CHECK_FALSE(monitored());
  CHECK(world.is_up("web") == alone);
  world.command(Kind::Start, names);
  world.run(seconds{2});
  CHECK(world.replies.back().ok);
  if (alone) CHECK(world.replies.back().text == "only is monitored; it has no start program");
  CHECK(monitored());
  CHECK(world.is_up("web"));
  world.handle(event::Command{
      .id = CommandId{90}, .kind = Kind::Unmonitor, .services = {world.id("only")}, .by = ByPerson{"root"}});
  world.programs.clear();
  world.command(Kind::Restart, names);
  world.run(seconds{2});
  CHECK(world.replies.back().ok != alone);
  CHECK(monitored() != alone);
  CHECK(world.programs == (alone ? std::vector<std::string>{} : std::vector<std::string>{"stop web", "start web"}));
  CHECK(world.signals.empty());
  CHECK(world.is_up("only") == up);
}

TEST_CASE("a start that fails is mailed once, and so is the one that succeeds afterwards") {
  auto web = process("web");
  EventMask exec;
  exec.set(static_cast<std::size_t>(EventKind::Exec));
  *web->recipients = {{.address = "all@b"},
                      {.address = "exec@b", .events = exec, .listed = true},
                      {.address = "calm@b", .events = ~exec}};
  ProcessWorld world(rule_set({web}, seconds{5}));
  const auto alerts_sent = [&world] {
    std::vector<std::string> texts;
    for (const effect::Alert& alert : std::exchange(world.alerts, {})) {
      if (alert.cause->event != EventKind::Exec) continue;
      std::string text = alert.cause->description + ":";
      for (const Recipient& recipient : alert.recipients) text += " " + recipient.address;
      texts.push_back(text);
    }
    return texts;
  };
  world.doings["start web"] = {.status = 3};
  world.start();
  world.run(seconds{60});
  CHECK(world.programs.size() > 5);
  CHECK(alerts_sent() == std::vector<std::string>{"failed to start (exit status 3) -- no output: all@b exec@b"});
  world.doings.clear();
  world.run(seconds{20});
  CHECK(alerts_sent() == std::vector<std::string>{"started: all@b exec@b"});
  world.die("web");
  world.run(seconds{20});
  CHECK(world.is_up("web"));
  CHECK(alerts_sent().empty());
  world.doings["start web"] = {.status = 3};
  world.die("web");
  world.run(seconds{20});
  CHECK(alerts_sent().size() == 1);
  SECTION("monitored again, it begins afresh") {
    world.command(Kind::Unmonitor, {"web"});
    world.command(Kind::Monitor, {"web"});
    world.run(seconds{20});
    CHECK(alerts_sent().size() == 1);
  }
  SECTION("what is told to end has not failed by itself") {
    world.doings["start web"] = {.hangs = true};
    world.run(seconds{10});
    world.command(Kind::Unmonitor, {"web"});
    world.command(Kind::Monitor, {"web"});
    world.run(seconds{10});
    REQUIRE(world.engine->jobs().size() == 1);
    event::Command cancel{.id = CommandId{91}, .kind = Kind::Cancel, .services = {}, .by = ByPerson{"root"}};
    cancel.job = JobId{world.engine->jobs().begin()->first};
    world.handle(cancel);
    CHECK(alerts_sent().empty());
  }
}

TEST_CASE("a failed start is told of the service that did not start, whoever's job it was") {
  auto db = process("db");
  auto app = process("app", {missing_rule()}, {"db"});
  db->recipients = *app->recipients = {{.address = "all@b"}};
  ProcessWorld world(rule_set({db, app}, seconds{5}));
  world.start();
  world.run(seconds{10});
  const auto alerts_sent = [&world] {
    std::vector<std::string> texts;
    for (const effect::Alert& alert : std::exchange(world.alerts, {}))
      if (alert.cause->event == EventKind::Exec)
        texts.push_back(alert.cause->service + ": " + alert.cause->description);
    return texts;
  };
  world.doings["start app"] = {.status = 4};
  world.command(Kind::Restart, {"db"});
  world.run(seconds{2});
  CHECK(alerts_sent() == std::vector<std::string>{"app: app failed to start (exit status 4) -- no output"});
  world.doings.clear();
  world.run(seconds{20});
  CHECK(alerts_sent() == std::vector<std::string>{"app: started"});
  world.doings["start db"] = {.status = 3};
  world.die("db");
  world.run(seconds{5});
  CHECK(alerts_sent() == std::vector<std::string>{"db: failed to start (exit status 3) -- no output"});
}

TEST_CASE("a rule's restart of what is no process and has no program is held, and what depends on it is restarted") {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Restart, .command = {}};
  const bool needed = GENERATE(false, true);
  std::vector<std::shared_ptr<ServiceBlock>> blocks{service("probe", {rule})};
  if (needed) {
    blocks.push_back(service("app", {}));
    blocks.back()->depends = {"probe"};
    blocks.back()->programs.edit().start = Command{.arguments = {"/start", "app"}, .timeout = seconds{30}};
  }
  World world(rule_set(std::move(blocks), seconds{5}));
  world.start();
  world.advance(seconds{1});
  world.observe(world.id("probe"), 1);
  CHECK(has_record(world, RecordKind::JobHeld, "restart waits: it has no start program") == !needed);
  CHECK(world.count(RecordKind::JobStarted) == (needed ? 1 : 0));
  CHECK(world.execs.size() == (needed ? 1 : 0));
}

// ---- any command in the middle of a rule's restart -----------------------------------------------------------------

namespace {

using Names = std::vector<std::string>;
const Names kAll{"app", "web", "other", "db"};

/// Whom a command may stop.
Names stopped_by(Kind kind, const Names& named) {
  if (kind != Kind::Stop && kind != Kind::Restart) return {};
  const auto is_named = [&](const char* name) { return std::ranges::find(named, name) != named.end(); };
  Names names;
  if (is_named("db")) return kAll;
  if (is_named("other")) names.emplace_back("other");
  if (is_named("web")) names.emplace_back("web");
  if (is_named("web") || is_named("app")) names.emplace_back("app");
  return names;
}

/// app depends on web, web and other on db, which has died. Each program takes a second, and half of that of step `at`
/// is over.
struct Restart {
  ProcessWorld world{rule_set({process("app", {missing_rule()}, {"web"}), process("web", {missing_rule()}, {"db"}),
                               process("other", {missing_rule()}, {"db"}), process("db")},
                              minutes{1})};
  explicit Restart(int at) {
    for (const std::string& name : kAll) {
      for (const char* verb : {"start ", "stop "}) world.doings[verb + name] = {.takes = seconds{1}};
      world.bring_up(name);
    }
    world.start();
    world.run(seconds{10});
    world.die("db");
    world.run(milliseconds{1500 + 1000 * at});
    REQUIRE(world.engine->jobs().size() == 1);
  }

  /// Gives a command, and looks at whom it hurts.
  void command(Kind kind, const Names& named) {
    std::map<std::uint64_t, std::string> running;
    for (const auto& [number, action] : world.engine->programs().all())
      running[number] = action.exec.command.arguments.back();
    const std::size_t before = world.ended.size();
    world.command(kind, named);
    const Names may = stopped_by(kind, named);
    for (std::size_t i = before; i < world.ended.size(); ++i) {
      INFO("ended: the program of " << running[world.ended[i]]);
      CHECK(std::ranges::find(may, running[world.ended[i]]) != may.end());
    }
  }

  void check_end(Kind kind, const Names& named) {
    world.run(minutes{4});
    CHECK(world.early.empty());
    CHECK(world.engine->jobs().empty());
    CHECK(world.saved.jobs.empty());
    Names those;
    if (kind == Kind::Stop) those = stopped_by(kind, named);
    if (kind == Kind::Start || kind == Kind::Restart) those = named;
    for (const std::string& name : those) {
      INFO(name);
      CHECK(world.is_up(name) == (kind != Kind::Stop));
    }
  }
};

constexpr Kind kKinds[] = {Kind::Start, Kind::Stop, Kind::Restart, Kind::Monitor, Kind::Unmonitor};

}  // namespace

TEST_CASE("no command in the middle of a rule's restart ends the step of a service that it does not stop") {
  const int at = GENERATE(range(0, 7));
  for (const Kind kind : kKinds) {
    for (const Names& named : {Names{"app"}, Names{"web"}, Names{"other"}, Names{"db"}, kAll}) {
      INFO("step " << at << ", command " << static_cast<int>(kind) << " for " << named.front() << " of "
                   << named.size());
      Restart restart(at);
      ProcessWorld& world = restart.world;
      restart.command(kind, named);
      restart.check_end(kind, named);
      REQUIRE(world.replies.size() == 1);
      CHECK(world.replies[0].ok);
      // Whom it does not stop is started once, and stopped once.
      const Names may = stopped_by(kind, named);
      for (const std::string& name : kAll) {
        if (std::ranges::find(may, name) != may.end()) continue;
        INFO(name);
        CHECK(std::ranges::count(world.programs, "start " + name) == 1);
        CHECK(std::ranges::count(world.programs, "stop " + name) <= 1);
        CHECK(world.is_up(name));
      }
    }
  }
}

TEST_CASE("two commands in the middle of a rule's restart: both are answered, and the last that is done holds") {
  const int at = GENERATE(0, 3, 5);
  int mix = at;
  for (const Kind first : kKinds) {
    for (const Names& one : {Names{"app"}, Names{"web"}, Names{"db"}, kAll}) {
      for (const Kind second : kKinds) {
        for (const Names& other : {Names{"app"}, Names{"web"}, Names{"db"}, kAll}) {
          if (healer::test::kSanitized && ++mix % 7 != 0) continue;
          INFO("step " << at << ", commands " << static_cast<int>(first) << " for " << one.front() << " of "
                       << one.size() << ", " << static_cast<int>(second) << " for " << other.front() << " of "
                       << other.size());
          Restart restart(at);
          ProcessWorld& world = restart.world;
          restart.command(first, one);
          world.run(milliseconds{200});
          restart.command(second, other);
          world.run(minutes{4});
          REQUIRE(world.replies.size() == 2);
          const auto refused = [](const effect::Reply& reply) {
            return !reply.ok && reply.text.find(" is under way (job ") != std::string::npos;
          };
          if (refused(world.replies[0]) || refused(world.replies[1])) continue;
          restart.check_end(second, other);
        }
      }
    }
  }
}

}  // namespace operator_commands_test
