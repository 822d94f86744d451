// SPDX-License-Identifier: MIT
// Which process is the service's: numbers in pid files that are another's now, and what start programs leave behind.
#include <algorithm>
#include <ranges>
#include <span>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace proof_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

constexpr std::int64_t kWritten = 1'795'000'000'000'000'000;

/// `web` runs as process 50, and was looked at.
void see_web(ProcessWorld& world) {
  world.bring_up("web", 50);
  world.files["web"] = kWritten;
  world.start();
  world.run(seconds{6});
  REQUIRE(world.programs.empty());
}

std::shared_ptr<ServiceBlock> without_stop(std::string name, std::vector<std::string> depends = {}) {
  auto block = process(std::move(name), {missing_rule()}, std::move(depends));
  block->programs.edit().stop.reset();
  return block;
}

/// The next daemon, a second later.
void move_on(ProcessWorld& next, const ProcessWorld& world) {
  next.now = {world.now.boot, world.now.mono + seconds{1}, world.now.wall + seconds{1}};
}

}  // namespace

// ---- numbers that are used again ----------------------------------------------------------------------------------

TEST_CASE("a number in a pid file that is another's now is not the service") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  see_web(world);
  world.doings["start web"] = {.works = false};
  SECTION("its process has died, and the number is used again") {
    world.ticks["web"] = 777;
    world.run(seconds{6});
    CHECK(world.programs == Programs{"start web"});
    CHECK(*world.engine->service(world.id("web")).last->output ==
          "process is not running (process 50 is not the one its pid file was written for)");
    world.files["web"] = kWritten + 1;  // its pid file is rewritten, for a process of that number
    world.run(seconds{40});
    CHECK(has_record(world, RecordKind::RuleRecovered, "process is running with pid 50"));
  }
  SECTION("its pid file is written anew, for whom ever") {
    world.ticks["web"] = 777;
    world.files["web"] = kWritten + 1;
    world.run(seconds{6});
    CHECK(world.programs.empty());
  }
  SECTION("it is the same process still, whatever clocks say") {
    world.younger.insert("web");
    world.run(seconds{6});
    CHECK(world.programs.empty());
  }
}

TEST_CASE("A process that can no longer be found is reported with the reason, not as dead") {
  World world(rule_set({process("web")}, seconds{5}));
  const auto check = [&world](std::optional<ProcessFacts> process, const std::string& output) {
    REQUIRE(world.open.size() == 1);
    const effect::Measure run = std::exchange(world.open, {}).front();
    auto facts = std::make_shared<Facts>();
    const Answer answer = process ? Answer::Present : Answer::Absent;
    facts->process = std::move(process);
    world.handle(event::measured(
        run.service, run.run,
        {.answer = answer, .output = std::make_shared<const std::string>(output), .facts = std::move(facts)}));
  };
  const std::string empty = "process is not running (the pid file /run/web.pid is empty)";
  world.start();
  world.advance(seconds{1});
  check(ProcessFacts{.pid = 50, .start_ticks = 50, .file = kWritten}, "process is running with pid 50");
  SECTION("by the daemon that has seen it") {
    world.advance(seconds{6});
    check({}, empty);
    CHECK(world.records.back().kind == RecordKind::ProcessDied);
    CHECK(world.records.back().text == "process 50 can no longer be found: " + empty);
    CHECK(world.engine->service(world.id("web")).presence.how() == empty);
  }
  SECTION("by the next") {
    const RuleSet rules = rule_set({process("web")}, seconds{5});
    const SavedState left = world.saved;
    world.engine = std::make_unique<Engine>(make_graph(rules), utc_civil, left, world.now);
    world.open.clear();
    world.start();
    world.advance(seconds{1});
    check({}, empty);
    CHECK(world.records.back().kind == RecordKind::ProcessDied);
    CHECK(world.records.back().text ==
          "process 50 can no longer be found, which a previous healerd had seen: " + empty);
  }
}

TEST_CASE("a process whose pid file is gone is the service until it has ended, and gets no second beside it") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  see_web(world);
  world.unnamed.insert("web");
  SECTION("somebody has taken it away") {
    world.run(minutes{1});
    CHECK(world.programs.empty());
    world.die("web");
    world.run(seconds{5});
    CHECK(world.programs == Programs{"start web"});
  }
  SECTION("it is taken away while no healer runs") {
    world.crash(seconds{1});
    world.run(minutes{1});
    CHECK(world.programs.empty());
    world.die("web");
    world.run(seconds{5});
    CHECK(world.programs == Programs{"start web"});
  }
  SECTION("its stop program takes it away before the process has gone") {
    world.doings["stop web"] = {.later = seconds{8}};
    world.command(event::Command::Kind::Restart, {"web"});
    world.run(seconds{7});
    if (GENERATE(false, true)) world.crash(milliseconds{100});
    world.run(milliseconds{500});
    CHECK(world.programs == Programs{"stop web"});
    world.run(seconds{3});
    CHECK(world.programs == Programs{"stop web", "start web"});
  }
  SECTION("but not whom an earlier daemon has known by a pid file that is another now") {
    auto moved = process("web");
    moved->process->pid_file = "/run/other.pid";
    moved->key = hash128("moved");
    world.crash(seconds{1}, make_graph(rule_set({moved}, seconds{5})));
    world.run(seconds{5});
    CHECK(world.programs == Programs{"start web"});
    CHECK(world.signals.empty());
  }
  SECTION("but not whom a reboot has given its number and its time") {
    ProcessWorld second(make_graph(rule_set({process("web")}, seconds{5})), world.saved,
                        {world.now.boot + 1, world.now.mono, world.now.wall + minutes{5}});
    second.bring_up("web", world.pid("web"));
    second.unnamed.insert("web");
    second.start();
    second.run(seconds{3});
    CHECK(second.programs == Programs{"start web"});
  }
}

TEST_CASE("a number that was used again while no healer ran is a stranger's to the next one") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  see_web(world);
  world.doings["start web"] = {.works = false};
  world.hidden_death("web");
  world.bring_up("web", 50);
  world.ticks["web"] = 777;
  world.crash(seconds{1});
  world.run(seconds{3});
  CHECK(world.programs == Programs{"start web"});
  world.command(Kind::Stop, {"web"});
  world.run(minutes{1});
  CHECK(world.signals.empty());
  CHECK_FALSE(has_record(world, RecordKind::RuleRecovered, "process is running"));
  CHECK_FALSE(has_record(world, RecordKind::JobStep, "started with pid"));
}

TEST_CASE("the first process is not used again: a pid file that names it is believed") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.bring_up("web", 1);
  world.files["web"] = kWritten;
  world.start();
  world.run(seconds{6});
  world.ticks["web"] = 777;
  world.run(seconds{6});
  CHECK(world.programs.empty());
}

TEST_CASE("a pid file that a reboot has left names nobody, whatever has its number now") {
  const RuleSet rules = rule_set({process("web")}, seconds{5});
  ProcessWorld first(rules);
  see_web(first);
  ProcessWorld second(make_graph(rules), first.saved,
                      {first.now.boot + 1, first.now.mono, first.now.wall + minutes{5}});
  second.bring_up("web", 50);
  second.ticks["web"] = 777;
  SECTION("it was not written since") {
    second.files["web"] = kWritten;
    second.start();
    second.run(seconds{3});
    CHECK(second.programs == Programs{"start web"});
  }
  SECTION("it was") {
    second.files["web"] = kWritten + 1;
    second.start();
    second.run(seconds{12});
    CHECK(second.programs.empty());
  }
}

TEST_CASE("A process of doubtful identity is accepted but not signalled") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  world.younger.insert("web");
  see_web(world);
  world.command(Kind::Restart, {"web"});
  world.run(seconds{3});
  CHECK(world.signals.empty());
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies.back().ok);
  CHECK(world.replies.back().text.find(
            "process 50 may belong to another service, because it was started after the pid file was written") !=
        std::string::npos);
  CHECK(world.is_up("web"));
}

namespace {

/// A person says that this process is the one of `web`; what is answered.
std::string accept_process(ProcessWorld& world, JobId pid = event::Command::kAnyProcess) {
  world.replies.clear();
  world.handle(event::Command{
      .id = CommandId{77}, .kind = Kind::Accept, .services = {world.id("web")}, .by = ByPerson{"root"}, .job = pid});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies.front().ok == world.replies.front().text.starts_with("accepted"));
  return world.replies.front().text;
}

const std::string kStranger =
    "rocess 50 may belong to another service, because it was started after the pid file was written: healer will not "
    "signal it before `healerctl accept web --pid`";

bool explains(const ProcessWorld& world, const std::string& note) {
  const auto notes = explain(*world.engine, world.id("web"), world.now).notes;
  return std::ranges::find(notes, note) != notes.end();
}

}  // namespace

TEST_CASE("a pid file that is older than the process it names is told of, until a person confirms the process") {
  const RuleSet rules = rule_set({without_stop("web")}, seconds{5});
  ProcessWorld world(rules);
  world.younger.insert("web");
  see_web(world);
  world.run(seconds{20});
  CHECK(std::ranges::count(world.records, "p" + kStranger, &Record::text) == 1);
  CHECK(world.engine->proofs().doubt(world.id("web")) == "p" + kStranger);
  CHECK(explains(world, "P" + kStranger + "."));

  CHECK(accept_process(world, JobId{51}) == "nothing accepted; the process of web is 50");
  CHECK(explains(world, "P" + kStranger + "."));
  CHECK(accept_process(world, GENERATE(JobId{50}, event::Command::kAnyProcess)) == "accepted: process 50 of web");
  CHECK(has_record(world, RecordKind::Accepted, "process 50 accepted by root"));
  CHECK_FALSE(explains(world, "P" + kStranger + "."));
  CHECK(accept_process(world) == "nothing accepted; process 50 of web is not in doubt");
  SECTION("then it is signalled") {
    world.run(seconds{6});
    world.command(Kind::Stop, {"web"});
    world.run(seconds{3});
    CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  }
  SECTION("also by the next daemon") {
    world.crash(seconds{1});
    world.run(seconds{6});
    world.command(Kind::Stop, {"web"});
    world.run(seconds{3});
    CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  }
  SECTION("but not another process of that number") {
    world.ticks["web"] = 777;
    world.files["web"] = kWritten + 1;
    world.run(seconds{6});
    CHECK(explains(world, "P" + kStranger + "."));
    world.command(Kind::Stop, {"web"});
    world.run(seconds{3});
    CHECK(world.signals.empty());
  }
}

TEST_CASE("A process that another user may have named can be confirmed, and only that one") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  world.named_by["web"] = 1000;
  see_web(world);
  CHECK(accept_process(world) == "accepted: process 50 of web");
  world.run(seconds{20});
  world.bring_up("web", 51);
  world.run(seconds{6});
  world.command(Kind::Stop, {"web"});
  world.run(seconds{3});
  CHECK(world.signals.empty());
  CHECK(accept_process(world) == "accepted: process 51 of web");
  world.command(Kind::Stop, {"web"});
  world.run(seconds{3});
  CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
}

TEST_CASE("A process started by healer is trusted, however old its pid file is") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  world.files["web"] = kWritten;
  world.younger.insert("web");
  world.start();
  world.run(seconds{10});
  REQUIRE(world.programs == Programs{"start web"});
  REQUIRE(world.is_up("web"));
  CHECK(world.engine->proofs().doubt(world.id("web")).empty());
  CHECK_FALSE(has_record(world, RecordKind::JobHeld, "may belong to another service"));
  world.command(Kind::Stop, {"web"});
  world.run(seconds{3});
  CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
}

TEST_CASE("what was in order when it was seen first is signalled, though the clock was stepped since") {
  const RuleSet rules = rule_set({without_stop("web")}, seconds{5});
  ProcessWorld first(rules);
  see_web(first);
  ProcessWorld second(rules, first.saved);
  move_on(second, first);
  second.bring_up("web", 50);
  second.files["web"] = kWritten;
  second.younger.insert("web");
  second.start();
  second.command(Kind::Restart, {"web"});
  second.run(seconds{3});
  CHECK(second.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
}

TEST_CASE("A process that another user may have named is accepted but not signalled") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  world.named_by["web"] = GENERATE(std::int64_t{1000}, ProcessFacts::kAnybody);
  const std::string why =
      world.named_by["web"] == 1000
          ? "process 50 belongs to user 0, and its pid file, or a folder or link on the way, to user 1000"
          : "process 50 may belong to another service, because other users can write or replace its pid file";
  see_web(world);
  world.run(seconds{20});
  const auto times = std::ranges::count(
      world.records, why + ": healer will not signal it before `healerctl accept web --pid`", &Record::text);
  CHECK(times == 1);
  SECTION("by a person") {
    world.command(Kind::Restart, {"web"});
    world.run(seconds{3});
    REQUIRE(world.replies.size() == 1);
    CHECK(world.replies.back().text.find("it has no stop program, and " + why + ": it is not signalled") !=
          std::string::npos);
    CHECK(world.signals.empty());
    CHECK(world.is_up("web"));
  }
  SECTION("nor by the next daemon, which finds its pid file gone") {
    world.unnamed.insert("web");
    world.crash(seconds{1});
    world.command(Kind::Stop, {"web"});
    world.run(seconds{3});
    CHECK(world.signals.empty());
  }
  SECTION("until the file is root's alone") {
    world.named_by["web"] = 0;
    world.run(seconds{6});
    world.command(Kind::Restart, {"web"});
    world.run(seconds{3});
    CHECK(world.signals == std::vector<std::pair<std::string, int>>{{"web", 15}});
  }
}

TEST_CASE("a signal that is not sent is not told as sent") {
  ProcessWorld world(rule_set({without_stop("web")}, seconds{5}));
  std::string why;
  SECTION("to the first process") {
    world.bring_up("web", 1);
    why = "process 1 is the init process of the machine: it is not signalled";
    world.spared.insert("web");
  }
  SECTION("to healer") {
    world.bring_up("web", 50);
    why = "process 50 is healer itself: it is not signalled";
    world.spared.insert("web");
  }
  SECTION("to whom healer may not signal") {
    world.bring_up("web", 50);
    why = "SIGTERM was not sent to process 50: Operation not permitted";
    world.out_of_reach["web"] = "Operation not permitted";
  }
  world.files["web"] = kWritten;
  world.start();
  world.run(seconds{6});
  world.command(Kind::Stop, {"web"});
  world.run(milliseconds{100});  // at once, not at the end of its time
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies.back().text.find(why) != std::string::npos);
  CHECK(world.signals.empty());
  CHECK(has_record(world, RecordKind::JobStep, "SIGTERM to process") == !world.out_of_reach.empty());
  CHECK(has_record(world, RecordKind::JobStep, why) == !world.out_of_reach.empty());
}

TEST_CASE("another pid file begins afresh") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  see_web(world);
  auto moved = process("web");
  moved->process->pid_file = "/run/elsewhere.pid";
  moved->key = hash128("moved");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({moved}, seconds{5}))});
  world.ticks["web"] = 777;
  world.run(seconds{12});
  CHECK(world.programs.empty());
}

TEST_CASE("a death that no look has told of goes with the process, where its name means another kind of service") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  see_web(world);
  const ServiceId web = world.engine->graph()->order.front();
  world.blind.insert("web");
  world.die("web");
  world.run(seconds{1});
  REQUIRE(world.engine->service(web).presence.is_gone());
  auto other = service("web", {missing_rule()});
  other->key = hash128("other");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({other}, seconds{5}))});
  CHECK_FALSE(world.engine->service(web).presence.is_gone());
}

// ---- what a start program leaves behind ---------------------------------------------------------------------------

TEST_CASE("what a start has left, and no pid file names, gets no second beside it") {
  const RuleSet rules = rule_set({process("web")}, seconds{5});
  ProcessWorld world(rules);
  world.doings["start web"] = {.works = false};
  world.start();
  world.run(seconds{29});
  REQUIRE(world.programs == Programs{"start web"});
  world.left["web"] = 321;
  world.run(minutes{3});
  CHECK(world.programs == Programs{"start web"});
  CHECK(has_record(world, RecordKind::JobHeld, "restart waits: its start program has left process 321"));

  SECTION("it is told once") { CHECK(world.count(RecordKind::JobHeld) == 1); }
  SECTION("its pid file comes late") {
    world.bring_up("web");
    world.run(seconds{10});
    CHECK(world.programs == Programs{"start web"});
    CHECK(world.saved.services.at("web").starts->left_by == ActionId{});
  }
  SECTION("it has gone: there is another start") {
    world.left.clear();
    world.run(seconds{10});
    CHECK(world.programs == Programs{"start web", "start web"});
  }
  SECTION("the next daemon knows") {
    ProcessWorld next(rules, world.saved);
    move_on(next, world);
    next.left["web"] = 321;
    next.start();
    next.run(minutes{1});
    CHECK(next.programs.empty());
  }
  SECTION("after a reboot nothing is left") {
    ProcessWorld next(make_graph(rules), world.saved,
                      {world.now.boot + 1, world.now.mono, world.now.wall + minutes{5}});
    next.left["web"] = 321;
    next.start();
    next.run(seconds{3});
    CHECK(next.programs == Programs{"start web"});
  }
  SECTION("a person's start waits for it as long as a start may take, then ends it, and says so") {
    world.stubborn = GENERATE(false, true);
    world.command(Kind::Start, {"web"});
    CHECK(has_record(world, RecordKind::JobStep, "its start waits: its start program has left process 321"));
    world.run(seconds{29});
    CHECK(world.signals.empty());
    world.run(seconds{5});
    CHECK(has_record(world, RecordKind::JobStep, "SIGTERM to process 321, which its start program has left"));
    CHECK(world.signals.size() == (world.stubborn ? 2 : 1));
    CHECK(world.signals.back().second == (world.stubborn ? 9 : 15));
    CHECK(world.programs == Programs{"start web", "start web"});
  }
  SECTION("which goes on where it is gone") {
    world.command(Kind::Start, {"web"});
    world.run(seconds{5});
    CHECK(world.programs == Programs{"start web"});
    world.left.clear();
    world.run(seconds{2});
    CHECK(world.programs == Programs{"start web", "start web"});
  }
  SECTION("and fails where it does not end") {
    world.deathless = true;
    world.command(Kind::Start, {"web"});
    world.run(seconds{36});
    REQUIRE(world.replies.size() == 1);
    CHECK(world.replies.back().text.find("failed to start: its start program has left process 321") !=
          std::string::npos);
    CHECK(world.programs == Programs{"start web"});
  }
  SECTION("where the rules say that leftovers are ended nobody waits for it") {
    auto web = process("web");
    web->end_leftovers = true;
    web->key = hash128("ended");
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({web}, seconds{5}))});
    world.run(seconds{10});
    CHECK(world.signals.size() == 1);
    CHECK(world.programs == Programs{"start web", "start web"});
  }
  SECTION("a rule waits for it ten times as long as a start may take, and then ends it") {
    world.run(minutes{1} + seconds{50});
    CHECK(world.signals.empty());
    world.run(seconds{20});
    CHECK(world.signals.size() == 1);
    CHECK(world.programs == Programs{"start web", "start web"});
  }
}

namespace {

/// `web` has come up by its start program, and died; its workers have not.
void leave_workers(ProcessWorld& world) {
  world.start();
  world.run(seconds{20});
  REQUIRE(world.programs == Programs{"start web"});
  REQUIRE(world.is_up("web"));
  world.programs.clear();
  world.left_over["web"] = {701, 702};
  world.die("web");
}

}  // namespace

TEST_CASE("what a process has left is named as what may stand in the way of its next start") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  leave_workers(world);
  const std::string left = "process 701 (worker) and 1 more of its former start run still";
  SECTION("when it is started") {
    world.run(seconds{2});
    CHECK(world.programs == Programs{"start web"});
    CHECK(has_record(world, RecordKind::JobStep,
                     left + ", and may stand in the way: 'with leftovers ended' ends it first"));
    world.run(seconds{10});
    CHECK(world.is_up("web"));
    CHECK(world.engine->leftovers().over(world.id("web")).empty());
    CHECK(world.signals.empty());
  }
  SECTION("and when that fails, also by the next daemon") {
    world.doings["start web"] = {.status = 1};
    if (GENERATE(false, true)) world.crash(milliseconds{100});
    world.run(seconds{20});
    CHECK(world.programs.size() > 1);
    CHECK(has_record(world, RecordKind::JobFailed, "; " + left));
    CHECK(world.engine->leftovers().over(world.id("web")) == left);
    const auto notes = explain(*world.engine, world.id("web"), world.now).notes;
    const std::string note =
        "P" + left.substr(1) + ", and may stand in the way of the next: 'with leftovers ended' ends it first.";
    CHECK(std::ranges::find(notes, note) != notes.end());
    CHECK(std::ranges::count_if(world.records, [](const Record& record) {
            return record.text.find("'with leftovers ended'") != std::string::npos;
          }) == 1);
    CHECK(world.signals.empty());
  }
}

TEST_CASE("what a process has left is ended before its next start where the rules say so") {
  auto web = process("web");
  web->end_leftovers = true;
  ProcessWorld world(rule_set({web}, seconds{5}));
  leave_workers(world);
  world.stubborn = GENERATE(false, true);
  world.run(milliseconds{1040});
  CHECK(world.programs.empty());
  CHECK(has_record(world, RecordKind::JobStep,
                   "SIGTERM to process 701 (worker) and 1 more, which its start program has left"));
  world.run(seconds{5});
  const std::vector<std::pair<std::string, int>> terms{{"left web", 15}, {"left web", 15}};
  CHECK(world.signals.size() == (world.stubborn ? 4 : 2));
  CHECK(std::ranges::equal(std::span(world.signals).first(2), terms));
  CHECK(world.programs == Programs{"start web"});
  CHECK(world.is_up("web"));
}

TEST_CASE("Leftovers are searched for on schedule and every five seconds, not more often") {
  ProcessWorld world(rule_set({process("web")}, seconds{7}));
  world.doings["start web"] = {.works = false};
  world.start();
  world.run(seconds{29});
  world.left["web"] = 321;
  world.run(minutes{2});
  const auto checks = [&] {
    return std::ranges::count_if(world.effects,
                                 [](const Effect& effect) { return std::holds_alternative<effect::Measure>(effect); });
  };
  const auto before = checks();
  world.run(minutes{2});
  CHECK(checks() - before <= 24 + 18);
}

// ---- whom a job names ---------------------------------------------------------------------------------------------

TEST_CASE("the next daemon stops by signal whom a person named, and nobody else") {
  const RuleSet rules =
      rule_set({without_stop("db"), without_stop("web", {"db"}), without_stop("log", {"db"})}, seconds{5});
  ProcessWorld first(rules);
  for (const char* name : {"db", "web", "log"}) first.bring_up(name);
  first.start();
  first.run(seconds{6});
  first.blind = {"db", "web", "log"};  // so that the job makes no progress
  first.command(Kind::Restart, {"db", "web"});
  REQUIRE(first.saved.jobs.size() == 1);
  ProcessWorld second(rules, first.saved);
  move_on(second, first);
  for (const char* name : {"db", "web", "log"}) second.bring_up(name);
  second.start();
  second.run(seconds{10});
  auto signalled = second.signals;
  std::ranges::sort(signalled);
  CHECK(signalled == std::vector<std::pair<std::string, int>>{{"db", 15}, {"web", 15}});
  CHECK(second.saved.jobs.empty());
}

// ---- what is looked at rarely -------------------------------------------------------------------------------------

TEST_CASE("what needs a process that is looked at rarely does not wait for its next look") {
  auto db = process("db", {});
  *db->schedule = {.kind = Schedule::Kind::Cycles, .cycles = 100};
  ProcessWorld world(rule_set({db, process("web", {missing_rule()}, {"db"})}, seconds{5}));
  world.start();
  world.run(seconds{12});
  CHECK(world.programs.empty());
  CHECK(has_record(world, RecordKind::JobHeld, "it depends on db, which is not running"));
  world.bring_up("db");
  world.run(seconds{11});
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("a start that waits for what an earlier one has left does so no longer where the clock was set back") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.works = false};
  world.left["web"] = 777;
  world.start();
  world.run(seconds{40});
  REQUIRE(world.engine->service(world.id("web")).trouble->waits.find("has left process 777") != std::string::npos);
  world.doings.clear();
  world.now.wall -= days{3};
  world.run(seconds{20});
  CHECK(world.is_up("web"));
}

TEST_CASE("a stop tells of what an earlier start has left") {
  ProcessWorld world(rule_set({process("web")}, seconds{5}));
  world.doings["start web"] = {.works = false};
  world.left["web"] = 777;
  world.start();
  world.run(seconds{40});
  world.command(event::Command::Kind::Stop, {"web"});
  world.run(seconds{5});
  REQUIRE_FALSE(world.replies.empty());
  CHECK(world.replies.back().text.starts_with("web did not run; web: its start program has left process 777"));
}

}  // namespace proof_test
