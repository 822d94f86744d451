// SPDX-License-Identifier: MIT
// Jobs where something goes wrong around them: each of these was a fault once.
#include <algorithm>
#include <ranges>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace job_fault_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// A rule that holds as long as the process runs.
Rule running_rule(ActionKind action, Tolerance tolerance = {}) {
  Rule rule = missing_rule(action, tolerance);
  rule->condition = RuleCondition{{Present{true}}};
  rule->text = "if exist then " + std::string(to_string(action));
  return rule;
}

void settle_up(ProcessWorld& world, const std::vector<std::string>& names) {
  for (const std::string& name : names) world.bring_up(name);
  world.start();
  world.run(seconds{6});
  REQUIRE(world.programs.empty());
}

}  // namespace

TEST_CASE("a stop that failed is tried again at each run") {
  ProcessWorld world(rule_set({process("web", {running_rule(ActionKind::Stop)})}, seconds{10}));
  world.bring_up("web");
  world.doings["stop web"] = {.status = 1, .works = false};
  world.start();
  world.run(seconds{35});
  CHECK(world.programs == Programs{"stop web"});  // it waits for its end
  const auto failure = [&]() -> const Rare<ActionFailure>& {
    return world.engine->service(world.id("web")).trouble->action_failure;
  };
  REQUIRE(failure());
  CHECK(failure()->text.starts_with("stop failed: failed to stop (exit status 1)"));
  CHECK(world.saved.services.at("web").action_failure == failure());
  world.doings.clear();
  world.run(seconds{20});
  CHECK(world.programs == Programs{"stop web", "stop web"});
  CHECK_FALSE(world.is_up("web"));
  CHECK_FALSE(world.engine->service(world.id("web")).monitored);
  CHECK_FALSE(failure());
}

TEST_CASE("a new daemon waits for the process of a start program that has ended") {
  const RuleSet rules = rule_set({process("web")}, seconds{5});
  ProcessWorld first(rules);
  first.doings["start web"] = {.later = seconds{5}};
  first.start();
  first.run(seconds{1});
  REQUIRE(first.programs == Programs{"start web"});
  REQUIRE(first.saved.execs.empty());
  REQUIRE(first.saved.jobs.size() == 1);
  ProcessWorld second(rules, first.saved);
  second.now = {first.now.boot, first.now.mono + seconds{1}, first.now.wall + seconds{1}};
  second.start();
  second.run(seconds{3});
  second.bring_up("web");
  second.run(seconds{10});
  CHECK(second.programs.empty());
  CHECK(second.saved.jobs.empty());
}

TEST_CASE("a step that is done is not done again by the next daemon") {
  auto first_program = service("db", {});
  first_program->programs.edit().start = Command{.arguments = {"/start", "db"}, .timeout = seconds{30}};
  auto web = process("web");
  web->depends = {"db"};
  first_program->program = {};
  const RuleSet rules = rule_set({first_program, web}, seconds{5});
  ProcessWorld first(rules);
  first.start();
  first.run(seconds{1});
  first.command(Kind::Stop, {"db"});
  first.run(seconds{1});
  first.doings["start web"] = {.hangs = true};
  first.command(Kind::Start, {"web"});
  first.run(seconds{1});
  const auto started = std::ranges::count(first.programs, "start db");
  ProcessWorld second(rules, first.saved);
  second.now = {first.now.boot, first.now.mono + seconds{1}, first.now.wall + seconds{1}};
  second.start();
  second.run(seconds{1});
  CHECK(started == 1);
  CHECK(std::ranges::count(second.programs, "start db") == 0);
}

TEST_CASE("the settle time holds the scheduled run too, and a death counts once") {
  SECTION("an administrator at 9.5 s, a cycle at 10 s") {
    ProcessWorld world(rule_set({process("web")}, seconds{10}));
    settle_up(world, {"web"});
    world.run(milliseconds{3500});  // 9.5 s
    world.die("web");
    world.run(milliseconds{800});
    CHECK(world.programs.empty());
    world.bring_up("web");
    world.run(minutes{1});
    CHECK(world.programs.empty());
  }
  SECTION("for 2 cycles") {
    ProcessWorld world(
        rule_set({process("web", {missing_rule(ActionKind::Restart, {.count = 2, .window = 2})})}, seconds{10}));
    settle_up(world, {"web"});
    world.run(milliseconds{3500});
    world.die("web");
    world.run(seconds{10});  // 19.5 s: one counted at 10.5 s
    CHECK(world.programs.empty());
    world.run(seconds{12});  // 31.5 s
    CHECK(world.programs == Programs{"start web"});
  }
}

TEST_CASE("a program that is told to end before it is told to begin never begins") {
  ProcessWorld world(rule_set({process("web", {})}, seconds{5}));
  settle_up(world, {"web"});
  world.commits = false;
  world.command(Kind::Stop, {"web"});
  const std::uint64_t job = world.engine->jobs().begin()->first;
  event::Command cancel{.id = CommandId{7}, .kind = Kind::Cancel, .services = {}, .by = ByPerson{"root"}};
  cancel.job = JobId{job};
  world.handle(cancel);
  world.settle();
  CHECK(world.ended.empty());
  CHECK(world.programs.empty());
  world.commits = true;
  world.handle(event::Committed{.up_to = 1'000'000});
  world.settle();
  CHECK(world.programs.empty());
  CHECK(world.ended.empty());
}

TEST_CASE("a program of a job that is not resumed is not started") {
  const RuleSet rules = rule_set({process("a", {missing_rule()}, {"d"}), process("d")}, seconds{5});
  ProcessWorld first(rules);
  settle_up(first, {"a", "d"});
  first.commits = false;
  first.command(Kind::Restart, {"d"});
  REQUIRE(first.saved.execs.size() == 1);
  ProcessWorld second(rule_set({process("a")}, seconds{5}), first.saved);
  second.now = {first.now.boot, first.now.mono + seconds{1}, first.now.wall + seconds{1}};
  second.bring_up("a");
  second.start();
  second.run(seconds{10});
  CHECK(second.programs.empty());
  CHECK(second.saved.execs.empty());
  CHECK(second.saved.jobs.empty());
}

TEST_CASE("every service that a person names is stopped, not the first alone") {
  auto d = process("d", {});
  d->programs.edit().stop.reset();
  ProcessWorld world(rule_set({process("a", {}, {"d"}), d}, seconds{5}));
  settle_up(world, {"a", "d"});
  world.command(Kind::Stop, {"a", "d"});
  world.run(seconds{2});
  CHECK_FALSE(world.is_up("a"));
  CHECK_FALSE(world.is_up("d"));
  CHECK(world.signals.size() == 1);
}

TEST_CASE("A service that cannot be checked is neither stopped nor missing") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.bring_up("web");
  world.blind = {"web"};
  world.start();
  world.run(seconds{20});
  CHECK(world.programs.empty());
  CHECK(world.count(RecordKind::RunTimedOut) == 1);  // told once
  world.command(Kind::Stop, {"web"});
  world.run(seconds{40});
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies[0].ok);
  CHECK(world.engine->service(world.id("web")).monitored);
  CHECK(world.programs.empty());
}

TEST_CASE("the next start waits until the one that took too long has ended") {
  ProcessWorld world(rule_set({process("web")}, seconds{60}));
  world.stubborn = true;
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(milliseconds{30'100});
  REQUIRE(world.ended.size() == 1);
  world.run(milliseconds{1500});
  CHECK(world.programs.size() == 1);  // its backoff is over, it is not
  world.run(seconds{2});
  CHECK(world.programs.size() == 2);
  CHECK(world.ended.size() == 1);
}

TEST_CASE("the last words of a program that took too long are told as soon as they are known") {
  ProcessWorld world(rule_set({process("web")}, seconds{60}));
  world.doings["start web"] = {.hangs = true, .output = "loading\nwaiting for a lock\n"};
  world.start();
  world.run(milliseconds{30'100});
  const std::string& start_failure_text = world.engine->service(world.id("web")).trouble->start_failure;
  CHECK(start_failure_text ==
        "failed to start (exit status -1) -- '/start web': Program timed out -- loading\nwaiting for a lock");
}

TEST_CASE("A service that could not be started again is not stopped by a restart") {
  auto web = process("web", {running_rule(ActionKind::Restart)});
  web->programs.edit().start.reset();
  ProcessWorld world(rule_set({web}, seconds{5}));
  world.bring_up("web");
  world.start();
  world.run(seconds{20});
  world.command(Kind::Restart, {"web"});
  world.run(seconds{5});
  CHECK(world.is_up("web"));
  CHECK(world.programs.empty());
  CHECK(world.signals.empty());
  CHECK(has_record(world, RecordKind::JobHeld, "it has no start program"));
  CHECK_FALSE(world.replies.back().ok);
}

TEST_CASE("Only a process that was sent SIGTERM first is killed") {
  auto web = process("web", {});
  web->programs.edit().stop.reset();
  ProcessWorld world(rule_set({web}, seconds{5}));
  settle_up(world, {"web"});
  world.doings["signal web"] = {};  // SIGTERM does nothing
  world.command(Kind::Restart, {"web"});
  world.run(seconds{29});
  world.deaf = true;
  world.die("web");
  world.bring_up("web");  // somebody else's new one
  world.run(seconds{5});
  REQUIRE(world.signals.size() >= 2);
  CHECK(world.signals[0].second == 15);
  CHECK((world.signals[1].second == 15 || world.is_up("web")));
  CHECK(std::ranges::none_of(world.signals | std::views::take(2), [](const auto& one) { return one.second == 9; }));
}

TEST_CASE("a wall clock that was wrong holds no service back") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.status = 1};
  world.start();
  world.run(milliseconds{500});
  REQUIRE(world.programs.size() == 1);
  world.now.wall -= days{1000};
  world.doings.clear();
  world.run(seconds{12});
  CHECK(world.is_up("web"));
}

TEST_CASE("The dependency is restarted first, and at once, after simultaneous deaths") {
  RuleSet rules = rule_set({process("a", {missing_rule()}, {"d"}), process("d")}, seconds{60});
  rules.settings.settle = Duration{0};
  ProcessWorld world(std::move(rules));
  settle_up(world, {"a", "d"});
  world.run(seconds{30});
  // The kernel tells of both before anybody looks.
  const auto a = world.id("a");
  const auto d = world.id("d");
  const std::int64_t pid_a = world.pid("a");
  const std::int64_t pid_d = world.pid("d");
  world.deaf = true;
  world.die("a");
  world.die("d");
  world.deaf = false;
  world.handle(event::ProcessDied{a, pid_a, static_cast<std::uint64_t>(pid_a)});
  world.handle(event::ProcessDied{d, pid_d, static_cast<std::uint64_t>(pid_d)});
  world.settle();
  world.run(seconds{3});
  CHECK(world.programs == Programs{"start d", "start a"});
}

TEST_CASE("a death during a job is not forgotten") {
  ProcessWorld world(rule_set({process("a", {}, {"b"}), process("b", {}, {"d"}), process("d")}, seconds{60}));
  settle_up(world, {"a", "b", "d"});
  world.doings["start b"] = {.takes = seconds{20}};
  world.command(Kind::Restart, {"b"});  // stop a, stop b, start b, start a; d is not in it
  world.command(Kind::Stop, {"a"});     // refused: it is under way
  world.run(seconds{5});
  world.die("d");
  CHECK(world.count(RecordKind::ProcessDied) >= 1);
  world.run(seconds{60});
  CHECK(world.is_up("d"));
  CHECK(world.is_up("a"));
}

TEST_CASE("a stop that is held silences no restart") {
  Rule sleeping = missing_rule(ActionKind::Stop);
  sleeping->text = "if does not exist then stop (dormant)";
  sleeping->dormant = true;
  ProcessWorld world(rule_set({process("web", {sleeping, missing_rule()})}, seconds{5}));
  world.start();
  world.run(seconds{3});
  CHECK(world.is_up("web"));
}

TEST_CASE("a reload into shadow ends what is under way") {
  RuleSet rules = rule_set({process("web", {})}, seconds{5});
  ProcessWorld world(rules);
  settle_up(world, {"web"});
  world.doings["stop web"] = {.takes = seconds{10}};
  world.command(Kind::Restart, {"web"});
  world.run(seconds{1});
  rules.settings.shadow = true;
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rules)});
  world.settle();
  CHECK(world.engine->jobs().empty());
  world.run(seconds{30});
  CHECK(world.programs == Programs{"stop web"});
}

TEST_CASE("A job that a person has cancelled is not begun again at once") {
  ProcessWorld world(
      rule_set({process("web", {running_rule(ActionKind::Restart, {.count = 3, .window = 3})})}, seconds{10}));
  world.bring_up("web");
  world.doings["stop web"] = {.hangs = true};
  world.start();
  world.run(seconds{22});
  REQUIRE(world.programs == Programs{"stop web"});
  event::Command cancel{.id = CommandId{7}, .kind = Kind::Cancel, .services = {}, .by = ByPerson{"root"}};
  cancel.job = JobId{world.engine->jobs().begin()->first};
  world.handle(cancel);
  world.settle();
  world.run(seconds{20});
  CHECK(world.programs.size() == 1);
}

TEST_CASE("a person's word goes before a rule's") {
  ProcessWorld world(rule_set({process("a", {missing_rule()}, {"d"}), process("d")}, seconds{5}));
  settle_up(world, {"a", "d"});
  world.doings["stop a"] = {.status = 4, .works = false};
  world.die("d");
  world.run(seconds{8});
  REQUIRE(world.engine->jobs().size() == 1);  // the rule's restart of d: a does not stop
  SECTION("stop") {
    world.doings["stop a"] = {.status = 4, .works = true};
    world.doings.clear();
    world.command(Kind::Stop, {"d"});
    world.run(seconds{60});
    REQUIRE(world.replies.size() == 1);
    CHECK(world.replies[0].ok);
    CHECK_FALSE(world.engine->service(world.id("d")).monitored);
    CHECK_FALSE(world.is_up("d"));
  }
  SECTION("start: it is under way, so its end is the answer") {
    const std::size_t before = world.programs.size();
    world.command(Kind::Start, {"d"});
    CHECK(world.replies.empty());
    CHECK(world.programs.size() == before);
    world.run(seconds{60});
    REQUIRE(world.replies.size() == 1);
  }
}

TEST_CASE("after a reboot a job begins its step anew") {
  const RuleSet rules = rule_set({process("web")}, seconds{30});
  ProcessWorld first(rules);
  first.doings["start web"] = {.takes = seconds{20}};
  first.start();
  first.run(seconds{1});
  REQUIRE(first.saved.jobs.size() == 1);
  ProcessWorld second(rules, first.saved);
  second.now = {first.now.boot + 1, first.now.mono, first.now.wall + minutes{1}};
  second.start();
  for (const auto& effect : std::vector<Effect>(second.effects))
    if (const auto* adopt = std::get_if<effect::Adopt>(&effect))
      second.handle(event::ActionEnded{.action = adopt->action, .unseen = true});
  second.run(seconds{2});
  CHECK(second.programs == Programs{"start web"});
  CHECK(second.is_up("web"));
  CHECK(second.saved.jobs.empty());
}

TEST_CASE("validate: what has just died or is being started is not in order, what was restarted is") {
  ProcessWorld world(rule_set({process("web", {missing_rule(), restarts_rule(5, 10)})}, seconds{30}));
  settle_up(world, {"web"});
  world.run(seconds{20});
  world.doings["start web"] = {.takes = seconds{2}};
  world.die("web");
  world.command(Kind::Validate, {"web"});  // settling
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies.back().ok);
  CHECK(world.replies.back().text == "web failed");
  world.run(seconds{2});
  REQUIRE(world.engine->jobs().size() == 1);
  world.command(Kind::Validate, {"web"});
  CHECK_FALSE(world.replies.back().ok);
  world.run(seconds{3});
  world.command(Kind::Validate, {"web"});
  REQUIRE(world.replies.size() == 3);
  CHECK(world.replies.back().ok);
}

TEST_CASE("the limit of restarts counts cycles, also where each start takes as long as one") {
  ProcessWorld world(rule_set({process("web", {missing_rule(), restarts_rule(5, 10)})}, seconds{30}));
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(minutes{30});
  CHECK_FALSE(world.engine->service(world.id("web")).monitored);
  CHECK(world.programs.size() <= 6);
  CHECK(world.programs.size() >= 5);
}

TEST_CASE("what a failed restart has left down is known at once, and says what it waits for") {
  ProcessWorld world(rule_set({process("app", {missing_rule()}, {"base"}), process("base")}, seconds{30}));
  world.start();
  world.run(seconds{5});
  world.doings["start base"] = {.status = 1};
  world.command(Kind::Restart, {"base"});
  world.run(seconds{1});
  CHECK_FALSE(world.is_up("app"));
  CHECK(world.engine->rules(world.id("app"))[0].status == RuleStatus::Failed);
  CHECK(world.engine->service(world.id("app")).trouble->waits == "it depends on base, which is not running");
  world.doings.clear();
  world.run(seconds{3});
  CHECK(world.is_up("app"));
}

TEST_CASE("a death that only a look finds is settled, too: another hand may be at it") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.start();
  world.run(seconds{12});
  REQUIRE(world.programs.size() == 1);
  const bool restarts = GENERATE(true, false);
  world.deaf = true;
  SECTION("the kernel could not tell of it") {
    world.die("web");
    for (int i = 0; i < 60 && world.count(RecordKind::ProcessDied) == 0; ++i) world.run(milliseconds{100});
    CHECK(world.count(RecordKind::RuleFailed) == 1);  // before its first start
    if (restarts) world.bring_up("web");
    world.run(milliseconds{1100});
    CHECK(world.programs.size() == (restarts ? 1 : 2));
    CHECK(world.count(RecordKind::RuleFailed) == (restarts ? 1 : 2));
  }
  SECTION("no healer ran") {
    world.die("web");
    world.crash(milliseconds{100});
    world.run(milliseconds{10});
    CHECK(world.programs.size() == 1);
    CHECK(world.count(RecordKind::ProcessDied) == 1);
    if (restarts) world.bring_up("web");
    world.run(milliseconds{1100});
    CHECK(world.programs.size() == (restarts ? 1 : 2));
  }
}

TEST_CASE("a job ends though an earlier program of its service does not") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.deathless = true;
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(seconds{31});
  CHECK(world.count(RecordKind::JobFailed) == 1);
  world.command(Kind::Start, {"web"});
  world.run(minutes{2});
  REQUIRE_FALSE(world.replies.empty());
  CHECK(world.replies.back().text == "web: its previous program /start does not end");
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("the boot of the daemon before says whether a program is that of an earlier boot") {
  const RuleSet rules = rule_set({process("web", {})}, seconds{5});
  ProcessWorld first(rules);
  first.start();
  first.run(seconds{7});
  // Nothing of the service was saved since the machine was restarted.
  ProcessWorld world(make_graph(rules), first.saved, {first.now.boot + 1, first.now.mono, first.now.wall + minutes{5}});
  world.start();
  world.run(seconds{7});
  world.doings["start web"] = {.takes = seconds{10}};
  world.command(Kind::Start, {"web"});
  world.run(seconds{2});
  world.crash(seconds{1});
  world.run(seconds{20});
  CHECK(world.programs == Programs{"start web"});
  CHECK(world.is_up("web"));
}

TEST_CASE("what dies while its dependents are still being started is started again without waiting for a cycle") {
  auto one = foreground("one");
  one->process->foreground->ready_after = seconds{1};
  ProcessWorld world(rule_set({one, process("two", {missing_rule()}, {"one"})}, seconds{60}));
  world.doings["run one"] = {.takes = seconds{3}, .status = 1};
  world.doings["start two"] = {.takes = seconds{4}};
  world.start();
  world.run(seconds{50});
  const auto starts = std::ranges::count(world.programs, "run one");
  CHECK(starts >= 4);  // with pauses of 1, 2, 4, 8 s between them
}

TEST_CASE("a stop by signal ends, though another process takes the place of each that was signalled") {
  auto web = process("web", {});
  web->programs.edit().stop.reset();
  ProcessWorld world(rule_set({web}, seconds{5}));
  settle_up(world, {"web"});
  world.deaf = true;
  world.doings["signal web"] = {};
  world.command(Kind::Stop, {"web"});
  for (int i = 0; i < 200 && world.replies.empty(); ++i) {  // another supervisor starts it again at once
    world.run(milliseconds{200});
    world.die("web");
    world.bring_up("web");
  }
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].text.starts_with("web: failed to stop within 30 s: process "));
  CHECK(world.replies[0].text.ends_with(" has taken the place of the one that was to end"));
  CHECK(std::ranges::none_of(world.signals, [](const auto& one) { return one.second == 9; }));  // each was new
}

TEST_CASE("a job that waits for an earlier program to end writes nothing meanwhile") {
  ProcessWorld world(rule_set({process("web", {})}, seconds{60}));
  world.deathless = true;
  world.doings["start web"] = {.hangs = true};
  world.start();
  world.run(seconds{1});
  world.command(Kind::Start, {"web"});
  world.run(seconds{31});
  world.command(Kind::Start, {"web"});
  world.run(seconds{1});
  REQUIRE(world.engine->jobs().size() == 1);
  REQUIRE(world.ended.size() == 1);
  const std::size_t before = world.effects.size();
  world.run(seconds{20});
  CHECK(std::none_of(world.effects.begin() + static_cast<std::ptrdiff_t>(before), world.effects.end(),
                     [](const Effect& effect) { return std::holds_alternative<effect::Commit>(effect); }));
}

TEST_CASE("A paused service is not stopped by the rule of another service") {
  const Rule stop = running_rule(ActionKind::Stop, {.count = 3, .window = 3});
  ProcessWorld world(rule_set({process("a", {}, {"d"}), process("d", {stop})}, seconds{5}));
  settle_up(world, {"a", "d"});
  world.command(Kind::Pause, {"a"});
  world.run(seconds{20});
  CHECK_FALSE(world.is_up("d"));
  CHECK(world.is_up("a"));
  CHECK(world.engine->service(world.id("a")).monitored);
  SECTION("but by a person") {
    world.command(Kind::Stop, {"d"});
    world.run(seconds{5});
    CHECK_FALSE(world.is_up("a"));
  }
}

TEST_CASE("validate: what dies or is stopped before it was looked at is not in order") {
  RuleSet rules = rule_set({process("web", {missing_rule()})}, seconds{30});
  const Duration settle = GENERATE(Duration{0}, Duration{1000});
  rules.settings.settle = settle;
  ProcessWorld world(std::move(rules));
  settle_up(world, {"web"});
  world.handle(event::Command{
      .id = CommandId{7}, .kind = Kind::Validate, .services = {world.id("web")}, .by = ByPerson{"root"}});
  REQUIRE(world.replies.empty());
  SECTION("it dies") {
    const std::int64_t pid = world.pid("web");
    world.handle(event::ProcessDied{world.id("web"), pid, static_cast<std::uint64_t>(pid)});
  }
  SECTION("it is stopped") { world.command(Kind::Stop, {"web"}); }
  REQUIRE(world.replies.size() >= 1);
  CHECK(world.replies[0].text == "web failed");
}

TEST_CASE("a person who starts what a rule is starting, but was unmonitored meanwhile, has it monitored") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.takes = seconds{10}};
  world.start();
  world.run(seconds{2});
  REQUIRE(world.engine->jobs().size() == 1);
  world.command(Kind::Unmonitor, {"web"});
  world.command(Kind::Start, {"web"});
  world.run(seconds{20});
  CHECK(world.replies.back().ok);
  CHECK(world.engine->service(world.id("web")).monitored);
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("what waits for a job is looked at when that has ended, however far up its dependencies") {
  ProcessWorld world(rule_set({process("a", {}, {"b"}), process("b", {}, {"c"}), process("c")}, seconds{60}));
  settle_up(world, {"a", "b", "c"});
  world.doings["stop a"] = {.takes = seconds{5}};
  world.command(Kind::Stop, {"a"});
  world.die("c");
  world.run(seconds{3});
  CHECK(world.engine->service(world.id("c")).trouble->waits == "the stop of a is under way");
  world.run(seconds{4});
  CHECK(world.is_up("c"));
}

TEST_CASE("a run that was asked for and serves as the scheduled one is the only one of its cycle that counts") {
  const Rule rule = running_rule(ActionKind::Alert, {.count = 4, .window = 4});
  ProcessWorld world(rule_set({process("web", {rule})}, seconds{10}));
  const auto held = [&] { return world.engine->rules(world.id("web"))[0].window.failed(4); };
  settle_up(world, {"web"});
  world.run(seconds{3});
  world.handle(event::Command{
      .id = CommandId{7}, .kind = Kind::Validate, .services = {world.id("web")}, .by = ByPerson{"root"}});
  world.advance(seconds{2});  // its look is slow: the cycle begins meanwhile
  world.run(milliseconds{1});
  REQUIRE(held() == 2);
  world.command(Kind::Start, {"web"});  // a look follows
  world.run(seconds{1});
  CHECK(held() == 2);
}

}  // namespace job_fault_test
