// SPDX-License-Identifier: MIT
// Foreground processes: healer's own children.
#include <catch2/catch.hpp>

#include <csignal>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"

namespace foreground_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

/// One foreground service "web" in a cycle of 30 s, which has come up.
struct OneUp : ProcessWorld {
  explicit OneUp(std::shared_ptr<ServiceBlock> block = foreground("web"))
      : ProcessWorld(rule_set({std::move(block)}, seconds{30})) {
    start();
    run(seconds{2});
  }
};

/// One that is ready by its own word alone, within this time.
std::shared_ptr<ServiceBlock> speaking(const std::string& name, Duration within) {
  auto block = foreground(name);
  block->process->foreground->by_notice = true;
  block->process->foreground->ready_after = within;
  return block;
}

std::string last_text(const World& world, RecordKind kind) {
  std::string text = "none";
  for (const Record& record : world.records)
    if (record.kind == kind) text = record.text;
  return text;
}

std::vector<StopSignal> last_signals(const World& world) {
  std::vector<StopSignal> signals;
  for (const Effect& effect : world.effects)
    if (const auto* end = std::get_if<effect::EndAction>(&effect)) signals = end->signals;
  return signals;
}

}  // namespace

TEST_CASE("a foreground process is started at the first run, and is ready after its time") {
  ProcessWorld world(rule_set({foreground("web")}, seconds{30}));
  world.start();
  world.run(milliseconds{900});
  CHECK(world.programs == Programs{"run web"});
  CHECK(world.engine->jobs().size() == 1);
  world.run(milliseconds{200});
  CHECK(world.engine->jobs().empty());
  CHECK(last_text(world, RecordKind::JobStep) == "started with pid 100");
  CHECK(process_of(*world.engine->service(world.id("web")).last)->pid == 100);
}

TEST_CASE("a foreground process is ready when it says so") {
  auto block = speaking("web", seconds{20});
  ProcessWorld world(rule_set({block}, seconds{30}));
  world.start();
  world.run(seconds{5});
  REQUIRE(world.engine->jobs().size() == 1);
  SECTION("it does") {
    world.signal_ready("web");
    CHECK(world.engine->jobs().empty());
    world.run(seconds{40});
    CHECK(world.programs.size() == 1);
  }
  SECTION("it does not: the start has failed, and it is ended before it is started again") {
    world.stubborn = true;
    world.run(seconds{15});
    CHECK(last_text(world, RecordKind::JobFailed) ==
          "restart failed: failed to start: it did not report within 20 s that it is ready");
    CHECK(world.ended.size() == 1);
    CHECK(world.programs.size() == 1);
    world.run(seconds{5});
    CHECK(world.programs.size() == 2);
    CHECK(world.twice.empty());
  }
}

TEST_CASE("the death of a foreground process is acted on at once, with its status and last words") {
  OneUp world;
  world.run(seconds{20});
  world.die("web");
  CHECK(world.programs == Programs{"run web", "run web"});  // no settle time, no cycle
  CHECK(last_text(world, RecordKind::ProcessDied) == "process 100 was killed by signal 9 (SIGKILL) after 1 m");
  CHECK(last_text(world, RecordKind::RuleFailed) ==
        "process is not running: it was killed by signal 9 (SIGKILL) after 1 m");
}

TEST_CASE("a foreground process that dies before a look has seen it up is started again, however often in a cycle") {
  ProcessWorld world(rule_set({foreground("web")}, hours{1}));
  world.start();
  world.run(milliseconds{500});
  REQUIRE(world.programs.size() == 1);
  world.slow.insert("web");
  for (std::size_t times = 2; times <= 4; ++times) {
    world.run(seconds{2});
    REQUIRE(world.engine->jobs().empty());
    world.die("web");
    CHECK(world.programs.size() == times);
  }
  SECTION("but not where healer is to leave it alone") {
    world.run(seconds{2});
    world.command(Kind::Unmonitor, {"web"});
    world.die("web");
    world.run(seconds{20});
    CHECK(world.programs.size() == 4);
  }
  SECTION("and is known to be up once a look is answered") {
    world.slow.clear();
    world.run(hours{2});
    CHECK(world.programs.size() == 4);
    CHECK(world.engine->jobs().empty());
    CHECK(last_text(world, RecordKind::RuleRecovered) != "none");
  }
}

TEST_CASE("a foreground process that exits at once is tried again after 1 s, doubling") {
  ProcessWorld world(rule_set({foreground("web")}, seconds{30}));
  world.doings["run web"] = {.takes = milliseconds{100}, .status = 3};
  world.start();
  world.run(milliseconds{500});
  CHECK(world.programs.size() == 1);
  CHECK(last_text(world, RecordKind::JobFailed) ==
        "restart failed: failed to start: it exited with status 3 after 100 ms: last words");
  world.run(milliseconds{1000});
  CHECK(world.programs.size() == 2);
  world.run(milliseconds{1500});
  CHECK(world.programs.size() == 2);
  world.run(milliseconds{1000});
  CHECK(world.programs.size() == 3);
  world.run(minutes{5});
  CHECK(world.programs.size() < 20);
  world.doings.clear();
  world.run(minutes{1});
  CHECK(world.is_up("web"));
}

TEST_CASE("that a foreground process goes to the background is told in plain words, once in a row") {
  ProcessWorld world(rule_set({foreground("web")}, seconds{30}));
  const auto advice = [&] {
    return std::ranges::count_if(world.records,
                                 [](const Record& one) { return one.text.starts_with("it went to the background"); });
  };
  const auto end = [&](event::ActionEnded ended) {
    world.run(milliseconds{500});
    ended.action = world.execs.back().action;
    ended.elapsed = milliseconds{200};
    world.handle(ended);
    world.run(milliseconds{1});
  };
  world.start();
  SECTION("by itself") {
    end({.output = "going\n", .left = 77});
    CHECK(last_text(world, RecordKind::ProcessDied) ==
          "process 100 exited with status 0 after 200 ms (process 77, which had left its session, was ended with it): "
          "going");
    CHECK(last_text(world, RecordKind::JobFailed) ==
          "restart failed: failed to start: it exited with status 0 after 200 ms (process 77, which had left its "
          "session, was ended with it): going");
    CHECK(advice() == 1);
    CHECK(std::ranges::any_of(world.records, [](const Record& one) {
      return one.severity == Severity::Warning && one.text ==
                                                      "it went to the background: process 77 left its session, and "
                                                      "was ended, as a next one must not run "
                                                      "beside it; let the program stay in the foreground, or write "
                                                      "'check process web with pidfile ...' with "
                                                      "a start program";
    }));
    world.run(seconds{2});
    REQUIRE(world.programs.size() == 2);
    end({.output = {}, .left = 78});
    CHECK(last_text(world, RecordKind::ProcessDied).find("(process 78, which") != std::string::npos);
    CHECK(advice() == 1);
  }
  SECTION("but not where it has failed, was killed, or was told to end") {
    end({.status = 1, .output = {}, .left = 77});
    CHECK(last_text(world, RecordKind::ProcessDied).find("(process 77, which") != std::string::npos);
    world.run(seconds{3});
    end({.outcome = Outcome::Signalled, .status = SIGKILL, .output = {}, .left = 77});
    CHECK(advice() == 0);
  }
  SECTION("nor where it has left nothing") {
    end({.output = {}});
    CHECK(advice() == 0);
  }
}

TEST_CASE("a stop goes through the stop signals, and a stopped one stays down") {
  auto block = foreground("web");
  block->process->foreground->stop = {{SIGINT, seconds{5}}, {SIGTERM, seconds{10}}};
  OneUp world(block);
  world.command(Kind::Stop, {"web"});
  world.run(seconds{1});
  CHECK(last_signals(world) == block->process->foreground->stop);
  CHECK_FALSE(world.is_up("web"));
  CHECK(world.replies.back().ok);
  CHECK(world.count(RecordKind::ProcessDied) == 0);
  world.run(minutes{2});
  CHECK(world.programs.size() == 1);
}

TEST_CASE("one that does not end even by SIGKILL fails its stop, and no second is started") {
  OneUp world;
  world.deathless = true;
  world.command(Kind::Restart, {"web"});
  world.run(minutes{1});
  CHECK(world.replies.back().text == "web: failed to stop within 35 s: process 100 is still there after SIGKILL");
  world.run(minutes{5});
  CHECK(world.programs.size() == 1);
}

TEST_CASE("what depends on a foreground process is started when that is ready") {
  auto base = speaking("base", seconds{20});
  ProcessWorld world(rule_set({process("app", {missing_rule()}, {"base"}), base}, seconds{30}));
  world.start();
  world.run(seconds{10});
  CHECK(world.programs == Programs{"run base"});
  world.signal_ready("base");
  world.run(seconds{1});
  CHECK(world.programs == Programs{"run base", "start app"});
  world.command(Kind::Restart, {"base"});
  world.run(seconds{1});
  world.signal_ready("base");
  world.run(seconds{1});
  CHECK(world.programs == Programs{"run base", "start app", "stop app", "run base", "start app"});
}

TEST_CASE("a foreground process outlives the daemon: the next one adopts it") {
  OneUp world;
  world.crash(seconds{3});
  world.run(minutes{2});
  CHECK(world.programs.size() == 1);
  CHECK(last_text(world, RecordKind::ActionStarted) == "program /run still runs");
  CHECK(world.engine->service(world.id("web")).child->about().pid == 100);
  CHECK(world.engine->jobs().empty());
  SECTION("and hears of its death, though not of its status") {
    world.die("web");
    CHECK(last_text(world, RecordKind::ProcessDied) ==
          "process 100 ended after 1 m; exit status unknown (started by a previous healerd)");
    CHECK(world.programs.size() == 2);
  }
  SECTION("one that has ended while no daemon was there is started again") {
    world.hidden_death("web");
    world.crash(seconds{3});
    world.run(seconds{1});
    CHECK(world.programs.size() == 2);
  }
  SECTION("one whose service is no longer in the rules meanwhile is ended") {
    world.crash(seconds{3}, make_graph(rule_set({process("other", {})}, seconds{30})));
    world.run(seconds{1});
    CHECK_FALSE(world.is_up("web"));
    CHECK(world.saved.execs.empty());
  }
}

TEST_CASE("a crash at every point of a start leaves one foreground process") {
  for (std::size_t k = 1;; ++k) {
    ProcessWorld world(rule_set({foreground("web"), foreground("app", {missing_rule()}, {"web"})}, seconds{5}));
    world.start();
    for (int i = 0; world.effects.size() < k && i < 400; ++i) world.run(milliseconds{10});
    if (world.effects.size() < k) break;
    world.crash(milliseconds{500});
    world.run(seconds{10});
    INFO("crash after " << k);
    CHECK(world.programs == Programs{"run web", "run app"});
    CHECK(world.engine->jobs().empty());
    CHECK(world.saved.jobs.empty());
  }
}

TEST_CASE("reloads and foreground processes") {
  OneUp world;
  const auto reload = [&](std::vector<std::shared_ptr<ServiceBlock>> blocks) {
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set(std::move(blocks), seconds{30}))});
    world.settle();
  };
  SECTION("another program: the former runs on until a restart") {
    auto other = foreground("web");
    other->process->foreground->command.arguments = {"/other", "web"};
    other->key = hash128("other");
    reload({other});
    world.run(minutes{1});
    CHECK(world.programs.size() == 1);
    CHECK(last_text(world, RecordKind::JobStep).starts_with("its program has changed"));
    world.command(Kind::Restart, {"web"});
    world.run(seconds{2});
    CHECK(world.programs == Programs{"run web", "other web"});
  }
  SECTION("taken out: it is ended; put back meanwhile: the new one waits for that") {
    world.stubborn = true;
    reload({});
    world.run(seconds{1});
    CHECK(world.ended.size() == 1);
    reload({foreground("web")});
    world.run(milliseconds{500});
    CHECK(world.programs.size() == 1);
    world.run(seconds{5});
    CHECK(world.programs.size() == 2);
    CHECK(world.twice.empty());
  }
  SECTION("one that has a pid file from now on") {
    auto other = process("web");
    other->key = hash128("other");
    reload({other});
    world.run(seconds{65});
    CHECK(world.programs == Programs{"run web", "start web"});
    CHECK(world.twice.empty());
  }
}

TEST_CASE("a paused, passive or unmonitored foreground process is not started by rules") {
  OneUp world;
  world.command(GENERATE(Kind::Pause, Kind::Unmonitor), {"web"});
  world.die("web");
  world.run(minutes{2});
  CHECK(world.programs.size() == 1);
  CHECK(world.count(RecordKind::ProcessDied) == 1);
}

TEST_CASE("a person cancels a start that waits for its word") {
  auto block = speaking("web", seconds{60});
  ProcessWorld world(rule_set({block}, minutes{5}));
  world.start();
  world.run(seconds{5});
  REQUIRE(world.engine->jobs().size() == 1);
  event::Command cancel{.id = CommandId{1}, .kind = Kind::Cancel, .by = ByPerson{"root"}};
  cancel.job = JobId{world.engine->jobs().begin()->first};
  world.handle(cancel);
  world.settle();
  world.run(seconds{1});
  CHECK(world.engine->jobs().empty());
  CHECK_FALSE(world.is_up("web"));
}

TEST_CASE("what was ready while no healer was there to hear it is not ended") {
  auto block = speaking("web", seconds{20});
  ProcessWorld world(rule_set({block}, seconds{30}));
  world.start();
  world.run(seconds{5});
  world.crash(seconds{3});
  world.run(minutes{2});
  CHECK(world.programs.size() == 1);
  CHECK(world.ended.empty());
  CHECK(world.engine->jobs().empty());
}

TEST_CASE("of a pid file becomes a foreground process: what runs is kept until it ends or is restarted") {
  ProcessWorld world(rule_set({process("web")}, seconds{30}));
  world.start();
  world.run(seconds{5});
  REQUIRE(world.is_up("web"));
  auto block = foreground("web");
  block->key = hash128("other");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({block}, seconds{30}))});
  world.settle();
  if (GENERATE(false, true)) world.crash(seconds{2});
  world.run(minutes{2});
  CHECK(world.programs == Programs{"start web"});
  CHECK(process_of(*world.engine->service(world.id("web")).last)->pid == world.pid("web"));
  CHECK(last_text(world, RecordKind::JobStep).find("of its previous rules still runs") != std::string::npos);
  SECTION("it ends") {
    world.deaf = true;
    world.die("web");
    world.run(seconds{32});
    CHECK(world.programs == Programs{"start web", "run web"});
    CHECK(world.twice.empty());
  }
  SECTION("it is restarted") {
    const bool stubborn = GENERATE(false, true);
    if (stubborn) world.doings["signal web"] = {};
    world.command(Kind::Restart, {"web"});
    world.run(seconds{40});
    CHECK(world.signals.size() == (stubborn ? 2 : 1));
    CHECK(world.programs == Programs{"start web", "run web"});
    CHECK(world.twice.empty());
    CHECK(world.replies.back().ok);
  }
}

TEST_CASE("what an earlier daemon has found is kept, too, where this one has not looked before its rules are others") {
  ProcessWorld world(rule_set({process("web")}, seconds{30}));
  world.files["web"] = 1;
  world.start();
  world.run(seconds{5});
  world.command(Kind::Unmonitor, {"web"});
  world.crash(seconds{2});
  const bool lives = GENERATE(true, false);
  if (!lives) world.hidden_death("web");
  auto block = foreground("web");
  block->key = hash128("other");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({block}, seconds{30}))});
  world.settle();
  const bool start = GENERATE(false, true);
  world.command(start ? Kind::Start : Kind::Monitor, {"web"});
  if (start) CHECK(world.is_up("web"));
  world.run(minutes{2});
  CHECK(world.twice.empty());
  CHECK(world.programs == (lives ? Programs{"start web"} : Programs{"start web", "run web"}));
}

TEST_CASE("what its former rules have left running is ready, though a start goes on in the next daemon") {
  ProcessWorld world(rule_set({process("web")}, seconds{30}));
  world.files["web"] = 1;
  world.bring_up("web");
  world.start();
  world.run(seconds{1});
  world.slow.insert("web");
  world.crash(seconds{1}, make_graph(rule_set({speaking("web", seconds{5})}, seconds{30})));
  world.command(Kind::Start, {"web"});
  REQUIRE(world.engine->jobs().size() == 1);
  world.slow.clear();
  world.crash(seconds{1});
  world.run(seconds{10});
  CHECK(world.engine->jobs().empty());
  CHECK(world.count(RecordKind::JobFailed) == 0);
  CHECK(world.is_up("web"));
  CHECK(world.programs.empty());
}

TEST_CASE("a look that finds it gone waits for how it has ended") {
  OneUp world;
  world.command(Kind::Validate, {"web"});
  world.replies.clear();
  const std::int64_t pid = world.pid("web");
  world.hidden_death("web");  // the look comes before the word of its end
  world.run(seconds{31});
  CHECK(world.count(RecordKind::RuleFailed) == 1);  // before its first start
  world.handle(event::ActionEnded{
      .action = world.engine->service(world.id("web")).child->about().action, .status = 3, .elapsed = seconds{40}});
  world.settle();
  CHECK(last_text(world, RecordKind::ProcessDied) ==
        "process " + std::to_string(pid) + " exited with status 3 after 40 s");
  CHECK(world.programs.size() == 2);
}

TEST_CASE("one that never said that it is ready is not taken for ready by the next daemon") {
  ProcessWorld world(rule_set({speaking("web", seconds{5})}, seconds{30}));
  world.deathless = true;
  world.start();
  world.run(seconds{6});
  REQUIRE(world.count(RecordKind::JobFailed) == 1);
  world.ended.clear();
  world.crash(seconds{1});
  world.run(seconds{1});
  CHECK_FALSE(world.ended.empty());
  CHECK(world.engine->service(world.id("web")).child->is_ending());
}

TEST_CASE("what the start program of its former rules brings up late is ended before a foreground process begins") {
  const bool crashed = GENERATE(false, true);
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.takes = seconds{6}};
  world.deathless = true;  // the program does not end when it is told to
  world.start();
  world.run(seconds{3});
  REQUIRE(world.programs == std::vector<std::string>{"start web"});
  auto block = foreground("web");
  block->key = hash128("another block");
  const RuleSet later = rule_set({block}, seconds{5});
  if (crashed) {
    world.crash(milliseconds{500}, make_graph(later));
  } else {
    world.handle(event::Swap{plan_swap(*world.engine->graph(), later)});
    world.settle();
  }
  world.run(seconds{2});
  CHECK(world.programs.size() == 1);  // it waits for the former one to end
  world.deathless = false;
  world.run(minutes{2});
  CHECK(world.twice.empty());
  CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  CHECK(world.programs == std::vector<std::string>{"start web", "run web"});
  CHECK(world.is_up("web"));
}

}  // namespace foreground_test
