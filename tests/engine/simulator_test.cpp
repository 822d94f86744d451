// SPDX-License-Identifier: MIT
// Simulations: a script in, a timeline out.
#include <catch2/catch.hpp>

#include "engine/simulator.hpp"
#include "support/engine_world.hpp"

using namespace healer;
using namespace healer::test;

namespace {

const Rule kOne = status_rule(Comparison::NotEqual, 0);
const Rule kThree = status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}});

Timeline play(const RuleSet& rules, std::string_view text) {
  const ScriptReading reading = read_script(text, rules);
  for (const ScriptError& error : reading.errors) UNSCOPED_INFO(format(error, "script", text));
  REQUIRE(reading.errors.empty());
  return simulate(rules, reading.script);
}

std::string firings(const Timeline& timeline) {
  std::string all;
  for (const Firing& firing : timeline.firings) all += to_string(firing) + "\n";
  return all;
}

std::string kinds(const Timeline& timeline) {
  std::string all;
  for (const TimelineEntry& entry : timeline.entries) all += (all.empty() ? "" : " ") + entry.kind;
  return all;
}

std::string lines(const Timeline& timeline) {
  std::string all;
  for (const TimelineEntry& entry : timeline.entries)
    if (!entry.service.empty()) all += to_string(entry) + "\n";
  return all;
}

RuleSet one_service(Rule rule, Duration cycle = seconds{30}) {
  rule.place = {.file = 0, .column = 3, .line = 12};
  auto block = service("web", {std::move(rule)});
  block->recipients = {{.address = "a@b"}, {.address = "c@d"}};
  return rule_set({block}, cycle);
}

}  // namespace

TEST_CASE("a timeline tells what would fire, when and why", "[engine][simulator]") {
  const Timeline timeline = play(one_service(kThree), "web: 0 1*4 0\n");
  CHECK(lines(timeline) ==
        "2026-01-01 00:01:30.000  cycle 4  web run 4  rule-failed  status failed (1) -- no output  "
        "[3 of the last 3 runs failed]  test.rules:12: if status 1 0 3/3\n"
        "2026-01-01 00:01:30.000  cycle 4  web run 4  alert  Status failed to a@b, c@d\n"
        "2026-01-01 00:01:30.000  cycle 4  web run 4  exec  /bin/heal  test.rules:12: if status 1 0 3/3\n"
        "2026-01-01 00:01:30.000  cycle 4  web run 4  action-started  exec /bin/heal started  "
        "test.rules:12: if status 1 0 3/3\n"
        "2026-01-01 00:01:30.000  cycle 4  web run 4  action-ended  exec /bin/heal exited with status 0 after 0 ms  "
        "test.rules:12: if status 1 0 3/3\n"
        "2026-01-01 00:02:30.000  cycle 6  web run 6  rule-recovered  status succeeded (0) -- no output  "
        "test.rules:12: if status 1 0 3/3\n"
        "2026-01-01 00:02:30.000  cycle 6  web run 6  alert  Status succeeded to a@b, c@d\n");
  CHECK(firings(timeline) == "web r0 4\n");
  CHECK(timeline.runs == 6);
  CHECK(timeline.length == seconds{150});
}

TEST_CASE("a simulation ends with its scripts, or where it is told to", "[engine][simulator]") {
  CHECK(play(one_service(kOne), "web: 0*5").runs == 5);
  CHECK(play(one_service(kOne), "web: 0 1 ...\nrun for 10 minutes").runs == 20);
  CHECK(play(one_service(kOne), "run for 7 cycles").runs == 7);
  CHECK(play(one_service(kOne), "").runs == 1);
  CHECK(play(one_service(kOne), "at 5 minutes validate web").runs == 12);  // 0, 30, ..., 300 and the one asked for
  auto never = service("never", {kOne});
  never->schedule.kind = Schedule::Kind::Cron;
  const Timeline timeline = play(rule_set({never}), "never: 1 1");
  CHECK(timeline.runs == 0);
  CHECK(timeline.stopped == "400 days have passed");
}

TEST_CASE("what is held and why is told", "[engine][simulator]") {
  RuleSet rules = one_service(kOne);
  rules.settings.dry_run = true;
  const Timeline timeline = play(rules, "web: 1");
  CHECK(timeline.firings.empty());
  CHECK(kinds(timeline) == "daemon-started rule-failed action-held alert");
  CHECK(timeline.entries[2].text == "exec held: dry run");
}

TEST_CASE("durations of runs and actions, timeouts and overruns are played", "[engine][simulator]") {
  Rule rule = kOne;
  rule.action.repeat = 1;
  RuleSet rules = one_service(rule);
  SECTION("an action that is still under way runs once more afterwards") {
    CHECK(firings(play(rules, "web: 1*6\nexec /bin/heal takes 70 seconds, exits 2")) ==
          "web r0 1\nweb r0 3\nweb r0 5\n");
  }
  SECTION("a run that takes longer than a cycle is not started twice") {
    const Timeline timeline = play(rules, "web: 0@70s 0");
    CHECK(timeline.runs == 2);
    CHECK(timeline.length == seconds{90});
    CHECK(kinds(timeline) == "daemon-started run-overrun");
  }
  SECTION("a run that takes longer than its timeout has failed with status 9") {
    auto block = std::make_shared<ServiceBlock>(*rules.services.front());
    block->program.command.timeout = seconds{5};
    rules.services.front() = block;
    const Timeline timeline = play(rules, "web: 0@20s");
    CHECK(timeline.length == seconds{5});
    CHECK(timeline.entries.at(2).text == "status failed (9) -- timed out after 5 s");
  }
}

TEST_CASE("content tests see the scripted output", "[engine][simulator]") {
  Rule rule;
  rule.condition = {{ContentTest{0, false}, false}};
  rule.mode = Mode::EachMatch;
  rule.event = EventKind::Content;
  rule.action = {.kind = ActionKind::Exec, .command = {.arguments = {"/bin/heal"}}};
  auto block = service("log", {rule});
  block->program.patterns = {"no (route|host)$", "("};
  CHECK(firings(play(rule_set({block}), "log: 0:\"no route\" 0:\"no routes\" 1:\"x no host\" 0")) ==
        "log r0 1\nlog r0 3\n");
}

TEST_CASE("commands, crashes, reboots and steps of the clock are played", "[engine][simulator]") {
  RuleSet rules = one_service(kThree, seconds{60});
  SECTION("a command never counts as a cycle") {
    CHECK(firings(play(rules, "web: 1*9\nat 10 s validate web\nat 20 s validate all")) == "web r0 5\n");
  }
  SECTION("unmonitor, then monitor, begins afresh") {
    CHECK(firings(play(rules, "web: 1\nrun for 9 minutes\nat 90 s unmonitor web\nat 3 minutes 30 s monitor web")) ==
          "web r0 5\n");
  }
  SECTION("a crash loses nothing of the counting") {
    CHECK(firings(play(rules, "web: 1 1 1 1 1\nat 90 s crash for 1 s")) == "web r0 3\n");
  }
  SECTION("a new boot begins the counts again") {
    CHECK(firings(play(rules, "web: 1 1 1 1 1\nat 90 s reboot for 1 s")) == "web r0 5\n");
  }
  SECTION("an action goes on over a crash and is not started again; a reboot ends it unseen") {
    const std::string script = "web: 1*8\nexec /bin/heal takes 4 minutes\n";
    const Timeline crash = play(rules, script + "at 150 s crash");
    CHECK(firings(crash) == "web r0 3\n");
    CHECK(crash.entries.back().text == "exec /bin/heal exited with status 0 after 4 m");
    const Timeline reboot = play(rules, script + "at 150 s reboot");
    CHECK(firings(reboot) == "web r0 3\n");
    CHECK(kinds(reboot).find("reboot daemon-started action-failed") != std::string::npos);
  }
  SECTION("a command while healer is away is lost") {
    CHECK(kinds(play(rules, "at 10 s crash for 1 minute\nat 20 s validate web\nrun for 5 minutes")) ==
          "daemon-started crash reply daemon-started");
  }
  SECTION("the wall clock moves, intervals do not") {
    const Timeline timeline = play(rules, "web: 0 0 1 1 1\nat 30 s set clock +1 hour");
    CHECK(timeline.length == minutes{4});
    CHECK(format_iso(timeline.entries.back().when) == "2026-01-01T01:04:00.000Z");
  }
}
