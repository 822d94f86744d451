// SPDX-License-Identifier: MIT
// Starts, stops, restarts: order, backoff, limits, deaths, crashes. Where Monit does the same, the order is that of
// Monit 5.33, measured.
#include "engine/job.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"
#include "support/rounds.hpp"

namespace job_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// a depends on b, b on c, c on d.
RuleSet chain(Duration cycle = seconds{5}) {
  return rule_set({process("a", {missing_rule()}, {"b"}), process("b", {missing_rule()}, {"c"}),
                   process("c", {missing_rule()}, {"d"}), process("d")},
                  cycle);
}

void all_up(ProcessWorld& world, const std::vector<std::string>& names) {
  for (const std::string& name : names) world.bring_up(name);
  world.start();
  world.run(seconds{6});
  REQUIRE(world.programs.empty());
}

}  // namespace

TEST_CASE("a process that is missing is started by its first run") {
  ProcessWorld world(rule_set({process("web")}));
  world.start();
  world.run(milliseconds{500});
  CHECK(world.programs == Programs{"start web"});
  CHECK(world.is_up("web"));
  CHECK(world.engine->jobs().empty());
  CHECK(world.count(RecordKind::JobEnded) == 1);
  CHECK(world.count(RecordKind::RuleRecovered) == 1);  // without waiting for the next cycle
  world.run(seconds{2});
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
  CHECK(world.saved.jobs.empty());
  CHECK(world.saved.execs.empty());
}

TEST_CASE("a death is told with how it came about, where that is known") {
  ProcessWorld world(rule_set({process("web")}, seconds{30}));
  all_up(world, {"web"});
  const auto died = [&](std::optional<ProcessEnd> end) {
    const std::string name = "process " + std::to_string(world.pid("web")) + " has died";
    world.die("web", end);
    const auto last_record =
        std::ranges::find(world.records.rbegin(), world.records.rend(), RecordKind::ProcessDied, &Record::kind);
    REQUIRE(last_record != world.records.rend());
    REQUIRE(last_record->text.starts_with(name));
    const std::string how = last_record->text.substr(name.size());
    world.run(seconds{30});
    REQUIRE(world.is_up("web"));
    return how;
  };
  CHECK(died({}).empty());
  CHECK(died(ProcessEnd{Outcome::Exited, 0}) == ": exited with status 0");
  CHECK(died(ProcessEnd{Outcome::Exited, 3}) == ": exited with status 3");
  CHECK(died(ProcessEnd{Outcome::Signalled, 9}) == ": killed by signal 9 (SIGKILL)");
  CHECK(died(ProcessEnd{Outcome::Signalled, 64}) == ": killed by signal 64");  // which has no name
}

TEST_CASE("a death is acted on after the settle time, not at the next cycle") {
  RuleSet rules = rule_set({process("web")}, seconds{30});
  SECTION("by default a second later") {
    ProcessWorld world(std::move(rules));
    all_up(world, {"web"});
    world.run(seconds{20});
    world.die("web");
    CHECK(world.count(RecordKind::ProcessDied) == 1);
    world.run(milliseconds{999});
    CHECK(world.programs.empty());
    world.run(milliseconds{1});
    CHECK(world.programs == Programs{"start web"});
  }
  SECTION("at once without one") {
    rules.settings.settle = Duration{0};
    ProcessWorld world(std::move(rules));
    all_up(world, {"web"});
    world.run(seconds{20});
    world.die("web");
    CHECK(world.programs == Programs{"start web"});
  }
  SECTION("an administrator was quicker") {
    ProcessWorld world(std::move(rules));
    all_up(world, {"web"});
    world.run(seconds{20});
    world.die("web");
    world.run(milliseconds{400});
    world.bring_up("web");
    world.run(minutes{2});
    CHECK(world.programs.empty());
    CHECK(world.count(RecordKind::RuleFailed) == 0);
  }
}

TEST_CASE("a death is the first of N, and the next counted run comes a cycle later") {
  ProcessWorld world(
      rule_set({process("web", {missing_rule(ActionKind::Restart, {.count = 3, .window = 3})})}, seconds{10}));
  all_up(world, {"web"});
  world.run(seconds{3});  // 9 s: the next cycle is at 10 s
  world.die("web");
  world.run(seconds{10});  // counted at 10 s; the run of that cycle does not count again
  CHECK(world.programs.empty());
  world.run(seconds{2});  // 20 s: the second
  CHECK(world.programs.empty());
  world.run(seconds{10});  // 30 s: the third
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("outside its schedule, unmonitored, passive or paused, a death is recorded only") {
  auto block = process("web");
  SECTION("every 5 cycles") { *block->schedule = {.cycles = 5, .cron = {}, .text = "every 5 cycles"}; }
  SECTION("passive") { block->activity = ServiceBlock::Activity::Passive; }
  SECTION("unmonitored") {}
  SECTION("paused") {}
  const bool is_other = block->schedule->cycles == 5 || block->activity == ServiceBlock::Activity::Passive;
  ProcessWorld world(rule_set({block}, seconds{30}));
  all_up(world, {"web"});
  if (!is_other) world.command(Kind::Pause, {"web"});
  world.die("web");
  CHECK(world.count(RecordKind::ProcessDied) == 1);
  world.run(seconds{10});
  CHECK(world.programs.empty());
}

TEST_CASE("the order of Monit: what depends is stopped first and started last") {
  ProcessWorld world(chain());
  SECTION("a cold start") {
    world.start();
    world.run(seconds{3});
    CHECK(world.programs == Programs{"start d", "start c", "start b", "start a"});
    return;
  }
  all_up(world, {"a", "b", "c", "d"});
  SECTION("the death of the lowest") {
    world.die("d");
    world.run(seconds{4});
    CHECK(world.programs == Programs{"stop a", "stop b", "stop c", "start d", "start c", "start b", "start a"});
  }
  SECTION("restart c") {
    world.command(Kind::Restart, {"c"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"stop a", "stop b", "stop c", "start c", "start b", "start a"});
  }
  SECTION("stop d") {
    world.command(Kind::Stop, {"d"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"stop a", "stop b", "stop c", "stop d"});
    for (const char* name : {"a", "b", "c", "d"}) CHECK_FALSE(world.engine->service(world.id(name)).monitored);
    CHECK(world.replies.back().ok);
    world.programs.clear();
    world.command(Kind::Start, {"a"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"start d", "start c", "start b", "start a"});
    for (const char* name : {"a", "b", "c", "d"}) CHECK(world.engine->service(world.id(name)).monitored);
  }
  SECTION("stop d, restart b") {
    world.command(Kind::Stop, {"d"});
    world.run(seconds{4});
    world.programs.clear();
    SECTION("starts what b needs") {
      world.command(Kind::Restart, {"b"});
      world.run(seconds{4});
      CHECK(world.programs == Programs{"start d", "start c", "start b"});
      for (const char* name : {"b", "c", "d"}) CHECK(world.engine->service(world.id(name)).monitored);
      CHECK_FALSE(world.engine->service(world.id("a")).monitored);
      CHECK(world.replies.back().ok);
    }
    SECTION("is no start of b where what it needs does not start") {
      world.doings["start d"] = {.status = 3};
      world.command(Kind::Restart, {"b"});
      world.run(seconds{4});
      CHECK(std::ranges::count(world.programs, "start b") == 0);
      CHECK_FALSE(world.replies.back().ok);
      CHECK(world.replies.back().text == "b: d failed to start (exit status 3) -- no output");
    }
  }
  SECTION("unmonitor d, restart c: what runs is monitored again, and not started") {
    world.command(Kind::Unmonitor, {"d"});
    world.command(Kind::Restart, {"c"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"stop c", "start c"});
    for (const char* name : {"c", "d"}) CHECK(world.engine->service(world.id(name)).monitored);
  }
  SECTION("unmonitor c, monitor a") {
    world.command(Kind::Unmonitor, {"c"});
    CHECK(world.engine->service(world.id("d")).monitored);
    for (const char* name : {"a", "b", "c"}) CHECK_FALSE(world.engine->service(world.id(name)).monitored);
    world.command(Kind::Monitor, {"a"});
    for (const char* name : {"a", "b", "c"}) CHECK(world.engine->service(world.id(name)).monitored);
    CHECK(world.programs.empty());
  }
  SECTION("stop all, start all") {
    world.command(Kind::Stop, {"a", "b", "c", "d"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"stop a", "stop b", "stop c", "stop d"});
    world.programs.clear();
    world.command(Kind::Start, {"a", "b", "c", "d"});
    world.run(seconds{4});
    CHECK(world.programs == Programs{"start d", "start c", "start b", "start a"});
    CHECK(world.replies.back().text == "a, b, c, d started");
  }
}

TEST_CASE("a dependent waits for what does not start, and it is said for what") {
  ProcessWorld world(rule_set({process("a", {missing_rule()}, {"d"}), process("d")}, seconds{5}));
  world.doings["start d"] = {.status = 3};
  world.start();
  world.run(seconds{20});
  CHECK(std::ranges::count(world.programs, "start a") == 0);
  CHECK(has_record(world, RecordKind::JobFailed, "failed to start (exit status 3)"));
  CHECK(has_record(world, RecordKind::JobHeld, "not started: d failed to start (exit status 3)"));
  world.doings.clear();
  world.run(seconds{10});
  CHECK(world.is_up("a"));
  CHECK(world.is_up("d"));
}

TEST_CASE("A failed start is retried after 1 s, doubling up to a cycle") {
  ProcessWorld world(rule_set({process("web")}, seconds{30}));
  world.doings["start web"] = {.takes = Duration{10}, .status = 1};
  world.start();
  std::vector<std::int64_t> at;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t before = world.programs.size();
    world.run(milliseconds{100});
    for (std::size_t k = before; k < world.programs.size(); ++k) at.push_back(i);
  }
  REQUIRE(at.size() >= 7);
  const auto gap = [&](std::size_t i) { return static_cast<double>(at[i] - at[i - 1]) / 10; };
  CHECK(gap(1) == Approx(1).margin(0.25));
  CHECK(gap(2) == Approx(2).margin(0.35));
  CHECK(gap(3) == Approx(4).margin(0.55));
  CHECK(gap(4) == Approx(8).margin(0.95));
  CHECK(gap(5) == Approx(16).margin(1.8));
  CHECK(gap(6) == Approx(30).margin(3.2));
}

TEST_CASE("a start program that hangs is ended when its time is over, and then the next is started") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(milliseconds{29'900});
  CHECK(world.programs.size() == 1);
  CHECK(world.ended.empty());
  world.run(milliseconds{200});
  CHECK(world.ended.size() == 1);
  CHECK(has_record(world, RecordKind::JobFailed, "timed out after 30 s"));
}

TEST_CASE("a program in the foreground has started the service while it runs") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(milliseconds{50});
  world.bring_up("web");
  world.run(seconds{1});
  CHECK(world.engine->jobs().empty());
  CHECK(world.count(RecordKind::JobEnded) == 1);
  world.run(seconds{60});
  CHECK(world.ended.empty());
  CHECK(world.programs.size() == 1);
}

TEST_CASE("a restart waits for the stop program to end, for it may still clear up") {
  auto block = process("web", {});
  ProcessWorld world(rule_set({block}, seconds{5}));
  all_up(world, {"web"});
  SECTION("it takes its time") {
    world.doings["stop web"] = {.takes = seconds{3}};
    world.command(Kind::Restart, {"web"});
    world.run(milliseconds{500});
    world.die("web");
    world.run(milliseconds{2400});
    CHECK(world.programs == Programs{"stop web"});
    world.run(milliseconds{200});
    CHECK(world.programs == Programs{"stop web", "start web"});
  }
  SECTION("it hangs") {
    world.doings["stop web"] = {.hangs = true};
    world.command(Kind::Restart, {"web"});
    world.run(milliseconds{500});
    world.die("web");
    world.run(milliseconds{29'400});
    CHECK(world.programs == Programs{"stop web"});
    world.run(milliseconds{200});
    CHECK(std::set(world.ended.begin(), world.ended.end()).size() == 1);
    CHECK(world.programs == Programs{"stop web", "start web"});
  }
}

TEST_CASE("what an earlier start left running is ended before the next") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(milliseconds{50});
  world.bring_up("web");
  world.run(seconds{30});
  REQUIRE(world.ended.empty());
  world.die("web");
  world.run(seconds{2});
  CHECK(world.programs == Programs{"start web", "start web"});
  CHECK(world.ended.size() == 1);
}

TEST_CASE("three restarts within five cycles: unmonitored before the fourth") {
  ProcessWorld world(rule_set({process("web", {missing_rule(), restarts_rule(3, 5)})}, seconds{5}));
  world.doings["start web"] = {.takes = Duration{10}, .works = false};
  world.doings["start web"].status = 1;
  world.start();
  world.run(seconds{60});
  CHECK(world.engine->service(world.id("web")).monitored == false);
  // At most one counts per cycle, so quick retries do not use the limit up at once: three cycles with restarts.
  CHECK(has_record(world, RecordKind::RuleFailed, "restarted 3 times within"));
  const std::size_t started = world.programs.size();
  world.run(minutes{5});
  CHECK(world.programs.size() == started);
}

TEST_CASE("what waits for another service is not restarted: it is not given up for that") {
  ProcessWorld world(
      rule_set({process("app", {missing_rule(), restarts_rule(3, 5)}, {"db"}), process("db")}, seconds{5}));
  world.doings["start db"] = {.status = 1};
  world.start();
  world.run(minutes{2});
  CHECK(world.engine->service(world.id("app")).monitored);
  world.doings.clear();
  world.run(seconds{15});
  CHECK(world.is_up("app"));
  CHECK(world.count(RecordKind::Unmonitored) == 0);
}

TEST_CASE("a restart whose condition stands is done again only when its tolerance is met again") {
  Rule busy;
  busy->condition = RuleCondition{{Compare{Metric::Cpu, Comparison::GreaterEqual, 0}}};
  busy->tolerance = {.count = 3, .window = 3};
  busy->action = {.kind = ActionKind::Restart, .command = {}};
  busy->text = "if cpu";
  auto block = process("web", {});
  block->rules = {busy};
  block->rules[0]->condition = RuleCondition{{Present{true}}};  // holds as long as it runs
  ProcessWorld world(rule_set({block}, seconds{10}));
  world.bring_up("web");
  world.start();
  world.run(seconds{25});
  CHECK(world.programs == Programs{"stop web", "start web"});  // at 20 s
  world.run(seconds{20});                                      // 30 s, 40 s: the first and second of the new count
  CHECK(world.programs.size() == 2);
  world.run(seconds{10});
  CHECK(world.programs.size() == 4);
}

TEST_CASE("without a stop program a restart stops by signal, kindly first") {
  auto block = process("web", {});
  block->programs.edit().stop.reset();
  ProcessWorld world(rule_set({block}, seconds{5}));
  all_up(world, {"web"});
  const std::int64_t before = world.pid("web");
  SECTION("SIGTERM is enough") {
    world.command(Kind::Restart, {"web"});
    world.run(seconds{2});
    CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  }
  SECTION("it is not") {
    world.doings["signal web"] = {};
    world.command(Kind::Restart, {"web"});
    world.run(seconds{29});
    CHECK(world.signals.size() == 1);
    world.run(seconds{3});
    CHECK(world.signals.back() == std::pair<std::string, int>{"web", 9});
  }
  CHECK(world.replies.back().ok);
  CHECK(world.pid("web") != before);
}

TEST_CASE("two hands: a service has one job, and a second command is told so") {
  ProcessWorld world(chain());
  all_up(world, {"a", "b", "c", "d"});
  world.command(Kind::Restart, {"d"});
  world.command(Kind::Stop, {"b"});
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies[0].ok);
  CHECK(world.replies[0].text.find("the restart of d is under way") != std::string::npos);
  world.run(seconds{5});
  CHECK(world.replies.size() == 2);
  CHECK(world.replies[1].ok);
}

TEST_CASE("a command that is refused ends no job of a rule") {
  auto web = process("web", {}, {"db"});
  web->programs.edit().start.reset();
  ProcessWorld world(rule_set({web, process("db")}, seconds{60}));
  world.doings["start db"] = {.takes = seconds{5}};
  world.start();
  world.run(seconds{1});
  REQUIRE(world.engine->jobs().size() == 1);
  world.command(Kind::Restart, {"web"});
  CHECK(world.replies.back().text == "web: it has no start program");
  world.run(seconds{5});
  CHECK(world.is_up("db"));
  CHECK(world.programs == Programs{"start db"});
}

TEST_CASE("a job survives a crash at every point, and starts nothing twice") {
  // Crash after k effects, for every k.
  for (std::size_t k = 1;; ++k) {
    ProcessWorld first(chain());
    first.start();
    for (int i = 0; first.effects.size() < k && i < 600; ++i) first.run(milliseconds{10});
    if (first.effects.size() < k) break;
    SavedState left = first.saved;
    ProcessWorld second(chain(), left);
    second.now = {first.now.boot, first.now.mono + seconds{1}, first.now.wall + seconds{1}};
    // What the first had started goes on; its programs have ended meanwhile.
    Programs all = first.programs;
    for (const char* name : {"a", "b", "c", "d"})
      if (std::ranges::find(all, std::string("start ") + name) != all.end()) second.bring_up(name);
    second.start();
    for (const auto& effect : std::vector<Effect>(second.effects))
      if (const auto* adopt = std::get_if<effect::Adopt>(&effect))
        second.handle(event::ActionEnded{.action = adopt->action, .unseen = true});
    second.run(seconds{30});
    all.insert(all.end(), second.programs.begin(), second.programs.end());
    INFO("crash after " << k);
    for (const char* name : {"a", "b", "c", "d"}) {
      CHECK(second.is_up(name));
      CHECK(std::ranges::count(all, std::string("start ") + name) == 1);
    }
    CHECK(second.engine->jobs().empty());
    CHECK(second.saved.jobs.empty());
  }
}

TEST_CASE("a restart program that is taken out of the rules before its turn has come fails the restart") {
  const auto with_restart = [](bool has) {
    auto web = process("web", {});
    if (has) web->programs.edit().restart = Command{.arguments = {"/restart", "web"}, .timeout = seconds{30}};
    web->key = hash128(has ? "with" : "without");
    return rule_set({web}, seconds{60});
  };
  ProcessWorld world(with_restart(true));
  world.deathless = true;
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.command(Kind::Start, {"web"});
  world.run(seconds{31});
  world.command(Kind::Restart, {"web"});  // waits for the start program to end
  world.run(seconds{1});
  REQUIRE(world.engine->jobs().size() == 1);
  SECTION("by a reload") {
    world.handle(event::Swap{plan_swap(*world.engine->graph(), with_restart(false))});
    world.settle();
    world.run(seconds{1});
    CHECK(world.replies.back().text == "web: failed to restart: it has no restart program");
  }
  SECTION("between two daemons") { world.crash(seconds{1}, make_graph(with_restart(false))); }
  world.run(seconds{1});
  CHECK(world.engine->jobs().empty());
  CHECK(world.saved.jobs.empty());
}

TEST_CASE("the time of a start program does not begin anew at a restart of healer") {
  const auto web = process("web", {});
  web->programs.edit().start = Command{.arguments = {"/start", "web"}, .timeout = seconds{60}};
  ProcessWorld world(rule_set({web}, seconds{5}));
  const auto failures = [&world] {
    return std::ranges::count_if(world.records, [](const Record& record) {
      return record.kind == RecordKind::JobFailed && record.service == "web";
    });
  };
  SECTION("that hangs") { world.doings["start web"] = {.hangs = true}; }
  SECTION("that has ended, and whose process does not come") {
    world.doings["start web"] = {.takes = seconds{10}, .works = false};
  }
  world.start();
  world.command(Kind::Start, {"web"});
  world.run(seconds{25});
  world.crash(seconds{1});
  world.run(seconds{30});
  CHECK(failures() == 0);
  CHECK(world.engine->jobs().size() == 1);
  world.run(seconds{6});
  CHECK(failures() == 1);
  CHECK(world.engine->jobs().empty());
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("a step whose time went by without healer has failed only when it is known how it ended") {
  const auto web = process("web", {});
  web->programs.edit().start = Command{.arguments = {"/start", "web"}, .timeout = seconds{60}};
  ProcessWorld world(rule_set({web}, seconds{5}));
  world.doings["start web"] = {.takes = seconds{10}};
  world.start();
  world.command(Kind::Start, {"web"});
  world.run(seconds{5});
  world.crash(minutes{5});
  world.run(seconds{5});
  CHECK(world.is_up("web"));
  CHECK(world.engine->jobs().empty());
  CHECK(std::ranges::count(world.records, RecordKind::JobFailed, &Record::kind) == 0);
}

TEST_CASE("how a service was started is saved at once, though its job goes on") {
  ProcessWorld world(rule_set({process("a", {}, {"d"}), process("d")}, seconds{5}));
  all_up(world, {"a", "d"});
  world.doings["start a"] = {.takes = seconds{10}};
  world.command(Kind::Restart, {"d"});
  world.run(seconds{2});
  REQUIRE(world.engine->jobs().size() == 1);
  REQUIRE(world.engine->service(world.id("d")).starts->last);
  CHECK(world.saved.services.at("d").starts == world.engine->service(world.id("d")).starts);
}

TEST_CASE("a reload that takes a service away ends its job and leaves the others") {
  ProcessWorld world(chain());
  all_up(world, {"a", "b", "c", "d"});
  world.command(Kind::Restart, {"d"});
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({process("d")}, seconds{5}))});
  world.settle();
  CHECK(world.engine->jobs().empty());
  CHECK_FALSE(world.replies.back().ok);
  world.run(seconds{10});
  CHECK(world.is_up("d"));
}

TEST_CASE("any mix of deaths, commands, reloads, crashes: order kept, every job ends, one job a service") {
  for (int seed = 1; seed <= rounds(150); ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto roll = [&](unsigned sides) { return static_cast<unsigned>(random() % sides); };
    const unsigned count = seed % 10 == 0 ? 50 : 3 + roll(8);
    const auto name = [](unsigned i) { return "s" + std::to_string(i); };
    std::vector<std::shared_ptr<ServiceBlock>> blocks;
    for (unsigned i = 0; i < count; ++i) {
      std::vector<std::string> depends;
      for (unsigned k = 0; k < i; ++k)
        if (roll(4) == 0) depends.push_back(name(k));
      blocks.push_back(roll(3) == 0 ? foreground(name(i), {missing_rule()}, depends)
                                    : process(name(i), {missing_rule()}, depends));
    }
    ProcessWorld world(rule_set(blocks, seconds{5}));
    world.start();
    world.settle();
    INFO("seed " << seed);
    for (int step = 0; step < 60; ++step) {
      const std::string one = name(roll(count));
      switch (roll(9)) {
        case 0:
        case 1:
          if (world.is_up(one)) world.die(one);
          break;
        case 2: world.command(Kind::Restart, {one}); break;
        case 3: world.command(Kind::Stop, {one}); break;
        case 4: world.command(Kind::Start, {one}); break;
        case 5:
          world.doings["start " + one] = {.takes = milliseconds{roll(3000)}, .status = roll(3) == 0 ? 1 : 0};
          world.doings["run " + one] = {.takes = milliseconds{roll(3000)}, .status = 3};
          break;
        case 6: world.doings.clear(); break;
        case 7: {
          std::vector<std::shared_ptr<ServiceBlock>> some = blocks;
          if (roll(2) == 0) some.pop_back();
          world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set(some, seconds{5}))});
          world.settle();
          break;
        }
        case 8: world.crash(milliseconds{roll(3000)}); break;
      }
      world.run(milliseconds{roll(4000)});
      std::map<std::uint32_t, int> jobs_of;
      for (const auto& [number, job] : world.engine->jobs()) {
        std::vector<bool> counted(world.engine->graph()->slots.size());
        for (const JobStep& each : job.steps) {
          if (counted[each.service.index()]) continue;
          counted[each.service.index()] = true;
          ++jobs_of[each.service.number()];
        }
      }
      for (const auto& [service, jobs] : jobs_of) REQUIRE(jobs == 1);
      REQUIRE(world.early == Programs{});
      REQUIRE(world.twice == Programs{});
    }
    world.doings.clear();
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set(blocks, seconds{5}))});
    std::vector<std::string> all;
    for (unsigned i = 0; i < count; ++i) all.push_back(name(i));
    world.run(minutes{5});
    world.command(Kind::Start, all);
    world.run(minutes{5});
    for (const std::string& each : all) REQUIRE(world.is_up(each));
    REQUIRE(world.engine->jobs().empty());
    REQUIRE(world.saved.jobs.empty());
  }
}

}  // namespace job_test
