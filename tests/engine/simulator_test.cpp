// SPDX-License-Identifier: MIT
// Simulations: a script in, a timeline out.
#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "simulation/simulator.hpp"
#include "support/process_world.hpp"
#include "support/rounds.hpp"

namespace simulator_test {

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

/// What happens to services, without cycles, runs and rules: "00:01:30.000 web job-started start by rule: start web".
std::string story(const Timeline& timeline) {
  std::string all;
  for (const TimelineEntry& entry : timeline.entries) {
    if (entry.kind == "daemon-started" || entry.kind == "alert") continue;
    all += to_string(entry).substr(11, 12);
    for (const std::string& part : {entry.service, entry.kind, entry.text})
      if (!part.empty()) all += " " + part;
    all += "\n";
  }
  return all;
}

/// When a program was started, one a line: "00:01:30.000 /start web".
std::string programs(const Timeline& timeline) {
  std::string all;
  for (const TimelineEntry& entry : timeline.entries)
    if (entry.kind == "exec") all += to_string(entry).substr(11, 12) + " " + entry.text + "\n";
  return all;
}

Rule resource_rule(Metric metric, double value, Tolerance tolerance, ActionKind action = ActionKind::Restart) {
  Rule rule;
  rule->condition = RuleCondition{{Compare{metric, Comparison::Greater, value}}};
  rule->tolerance = tolerance;
  rule->action = {.kind = action, .command = {}};
  rule->event = EventKind::Resource;
  rule->text = "if " + std::string(words_of(metric)) + " > " + std::to_string(static_cast<int>(value));
  return rule;
}

RuleSet one_service(Rule rule, Duration cycle = seconds{30}) {
  rule.place = {.file = 0, .column = 3, .line = 12};
  auto block = service("web", {std::move(rule)});
  *block->recipients = {{.address = "a@b"}, {.address = "c@d"}};
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
  CHECK(play(one_service(kOne), "at 5 minutes validate web").runs == 14);  // 0, 30, ..., 300 and the one asked for
  auto never = service("never", {kOne});
  never->schedule->kind = Schedule::Kind::Cron;
  const Timeline timeline = play(rule_set({never}), "never: 1 1");
  CHECK(timeline.runs == 0);
  CHECK(timeline.stopped == "400 days have passed");
}

TEST_CASE("The timeline reports what is held back and why", "[engine][simulator]") {
  RuleSet rules = one_service(kOne);
  rules.settings.dry_run = true;
  const Timeline timeline = play(rules, "web: 1");
  CHECK(timeline.firings.empty());
  CHECK(kinds(timeline) == "daemon-started rule-failed action-held alert");
  CHECK(timeline.entries[2].text == "exec held: dry run");
}

TEST_CASE("durations of runs and actions, timeouts and overruns are played", "[engine][simulator]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  RuleSet rules = one_service(rule);
  SECTION("an action that is still under way runs once more afterwards") {
    CHECK(firings(play(rules, "web: 1*6\nexec /bin/heal takes 70 seconds, exits 2")) ==
          "web r0 1\nweb r0 3\nweb r0 5\nweb r0 7\n");
  }
  SECTION("a run that takes longer than a cycle is not started twice") {
    const Timeline timeline = play(rules, "web: 0@70s 0");
    CHECK(timeline.runs == 2);
    CHECK(timeline.length == seconds{90});
    CHECK(kinds(timeline) == "daemon-started run-overrun run-overrun");  // told, and summed up
  }
  SECTION("a run that takes longer than its timeout has failed with status 9") {
    auto block = std::make_shared<ServiceBlock>(*rules.services.front());
    block->program->command.timeout = seconds{5};
    rules.services.front() = block;
    const Timeline timeline = play(rules, "web: 0@20s");
    CHECK(timeline.length == seconds{5});
    CHECK(timeline.entries.at(2).text == "status failed (9) -- timed out after 5 s");
  }
}

TEST_CASE("content tests see the scripted output", "[engine][simulator]") {
  Rule rule;
  rule->condition = RuleCondition{{Matches{0, false}}};
  rule->mode = Mode::EachMatch;
  rule->event = EventKind::Content;
  rule->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/heal"}}};
  auto block = service("log", {rule});
  block->program->patterns = {"no (route|host)$", "("};
  CHECK(firings(play(rule_set({block}), "log: 0:\"no route\" 0:\"no routes\" 1:\"x no host\" 0")) ==
        "log r0 1\nlog r0 3\n");
}

TEST_CASE("Scripted results of connections are played, for all or one", "[engine][simulator]") {
  const auto reached = [](std::uint16_t probe, bool wanted) {
    Rule rule;
    rule->condition = RuleCondition{{Reached{probe, wanted}}};
    rule->event = EventKind::Connection;
    rule->text = std::to_string(probe) + (wanted ? " succeeded" : " failed");
    rule->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/heal"}}};
    return rule;
  };
  auto block = service("web", {reached(0, false), reached(1, false), reached(1, true)});
  block->kind = kind_named("host");
  block->probes.edit().resize(2);
  const RuleSet rules = rule_set({block});
  CHECK(firings(play(rules, "run for 3 cycles\n")) == "web r2 1\n");
  CHECK(firings(play(rules, "web connection: up down unknown up")) == "web r2 1\nweb r0 2\nweb r1 2\nweb r2 4\n");
  CHECK(firings(play(rules, "web connection 2: down*2 up ...\nrun for 4 cycles")) == "web r1 1\nweb r2 3\nweb r1 4\n");

  const auto error = [&](const std::string& text) {
    const ScriptReading reading = read_script(text, rules);
    return reading.errors.empty() ? "" : reading.errors[0].message;
  };
  CHECK(error("web connection 3: up") == "the number of the connection must be between 1 and 2");
  CHECK(error("web connection: yes") == "'yes' is not an outcome of a connection");
  CHECK(error("web connection:") == "the values are missing");
  CHECK(error("web connection 1x: up") == "'connection 1x' names no connection");
  CHECK(error("web connection: ...") == "there is nothing to repeat before '...'");
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

TEST_CASE("a process that dies is started again once the dust has settled", "[engine][simulator]") {
  CHECK(story(play(rule_set({process("web")}, seconds{30}), "at 45 s web dies\nexec /start takes 3 seconds")) ==
        "00:00:45.000 web process-down process 100 was killed by someone else\n"
        "00:00:45.000 web process-died process 100 has died\n"
        "00:00:46.000 web rule-failed process is not running\n"
        "00:00:46.000 web job-started restart by rule: stop web, start web\n"
        "00:00:46.000 web exec /start web\n"
        "00:00:49.000 web process-up process 101 was started by /start web\n"
        "00:00:49.000 web action-ended program /start exited with status 0 after 3 s\n"
        "00:00:49.000 web job-step started with pid 101\n"
        "00:00:49.000 web job-ended restart done after 3 s\n"
        "00:00:49.000 web rule-recovered process is running with pid 101\n");
}

TEST_CASE("A service that someone else starts during the settle time is left alone", "[engine][simulator]") {
  CHECK(story(play(rule_set({process("web")}, seconds{30}),
                   "at 45 s web dies\nat 45500 ms web comes up\nat 45600 ms web comes up\nat 50 s crash for 5 s\n"
                   "at 51 s web dies\nat 52 s web dies\nrun for 54 s")) ==
        "00:00:45.000 web process-down process 100 was killed by someone else\n"
        "00:00:45.000 web process-died process 100 has died\n"
        "00:00:45.500 web process-up process 101 was started by someone else\n"
        "00:00:45.600 web left-out nothing comes up: the process runs\n"
        "00:00:50.000 crash healer is killed; healer is away for 5 s\n"
        "00:00:51.000 web process-down process 101 was killed by someone else\n"
        "00:00:52.000 web left-out nothing dies: no process runs\n");
}

TEST_CASE("a start that fails is tried again after its backoff", "[engine][simulator]") {
  const Timeline timeline = play(rule_set({process("web")}, seconds{30}),
                                 "web: down\nexec \"/start web\" takes 1 second, exits 3\nrun for 20 seconds");
  CHECK(programs(timeline) ==  // after 1, 2, 4, 8 seconds, more or less a tenth
        "00:00:00.000 /start web\n"
        "00:00:02.004 /start web\n"
        "00:00:04.826 /start web\n"
        "00:00:09.478 /start web\n"
        "00:00:18.286 /start web\n");
  CHECK(story(timeline).find("process-up") == std::string::npos);
  CHECK(programs(play(rule_set({process("web")}, seconds{30}), "web: down\nexec /start missing")) ==
        "00:00:00.000 /start web\n00:00:01.004 /start web\n00:00:02.826 /start web\n00:00:06.478 /start web\n"
        "00:00:14.286 /start web\n");
}

TEST_CASE("dependents go down first and come up last", "[engine][simulator]") {
  const RuleSet rules = rule_set({process("web", {missing_rule()}, {"db"}), process("db")}, seconds{30});
  CHECK(programs(play(rules, "at 40 s restart db\nexec \"/stop db\" takes 2 seconds")) ==
        "00:00:40.000 /stop web\n00:00:40.000 /stop db\n00:00:42.000 /start db\n00:00:42.000 /start web\n");
  CHECK(programs(play(rules, "web: down\ndb: down\nexec \"/start db\" takes 5 seconds")) ==
        "00:00:00.000 /start db\n00:00:05.000 /start web\n");
}

TEST_CASE("a script that does not say how long shows what its last command leads to", "[engine][simulator]") {
  const RuleSet rules =
      rule_set({process("web", {missing_rule(), resource_rule(Metric::Cpu, 90, {3, 3, Duration{0}})})}, seconds{30});
  for (const char* values : {"", "web cpu: 10 20\n"}) {
    const Timeline timeline =
        play(rules, values + std::string("exec \"/start web\" takes 20 seconds\nat 10 minutes web dies"));
    CHECK(programs(timeline) == "00:10:01.000 /start web\n");
    CHECK(story(timeline).find("00:10:01.000 web rule-failed process is not running") != std::string::npos);
    CHECK(timeline.length >= minutes{11} + seconds{30});
  }
  const RuleSet heals = rule_set({service("web", {status_rule(Comparison::NotEqual, 0)})}, seconds{30});
  const Timeline healed = play(heals, "web: 0 1\nexec /bin/heal takes 5 minutes");
  CHECK(story(healed).ends_with("00:05:30.000 web action-ended exec /bin/heal exited with status 0 after 5 m\n"));
}

TEST_CASE("a restart limit ends the restarts", "[engine][simulator]") {
  const Timeline timeline = play(rule_set({process("web", {missing_rule(), restarts_rule(3, 5)})}, seconds{30}),
                                 "at 45 s web dies\nat 75 s web dies\nat 105 s web dies\nat 135 s web dies\n"
                                 "run for 4 minutes");
  CHECK(programs(timeline) == "00:00:46.000 /start web\n00:01:16.000 /start web\n00:01:46.000 /start web\n");
  CHECK(story(timeline).ends_with(
      "00:02:16.000 web rule-failed process is not running\n"
      "00:02:16.000 web rule-failed service restarted 3 times within 5 cycles(s) - unmonitor\n"
      "00:02:16.000 web unmonitored unmonitored by rule: if restarts then unmonitor\n"));
}

TEST_CASE("Measured values are reported once per run, not per check", "[engine][simulator]") {
  const RuleSet rules = rule_set({process("web", {resource_rule(Metric::Cpu, 90, {3, 3, Duration{0}})})}, seconds{30});
  // The run that could not measure it is none; the looks of the restart use up no value.
  const Timeline timeline = play(rules, "web cpu: 10 95*2 unknown 95 20 95*3\nexec /start takes 2 seconds");
  CHECK(programs(timeline) ==
        "00:02:00.000 /stop web\n00:02:00.000 /start web\n00:04:00.000 /stop web\n00:04:00.000 /start web\n");
  CHECK(timeline.runs == 9);
  CHECK(timeline.entries.back().text == "restart done after 2 s");
  CHECK(
      story(timeline).find("00:02:02.000 web job-ended restart done after 2 s\n"
                           "00:02:02.000 web rule-recovered cpu usage check succeeded [current cpu usage = 20.0%]\n") !=
      std::string::npos);

  auto here = service("here", {resource_rule(Metric::Load1, 4, {2, 2, Duration{0}}, ActionKind::Alert)});
  here->kind = kind_named("system");
  here->program = {};
  CHECK(story(play(rule_set({here}, seconds{30}), "here loadavg(1min): 1 5 ...\nrun for 5 minutes")) == "");
  CHECK(story(play(rule_set({here}, seconds{30}), "here loadavg(1min): 1 5*2\nrun for 2 minutes")) ==
        "00:01:00.000 here rule-failed loadavg (1min) of 5.0 matches resource limit [loadavg (1min) > 4.0]\n");
}

TEST_CASE("what is under way at the end is shown to its end, but nothing that begins later", "[engine][simulator]") {
  const RuleSet rules = rule_set({process("web")}, seconds{30});
  const Timeline slow = play(rules, "at 45 s web dies\nexec \"/start web\" takes 29900 ms");
  CHECK(slow.entries.back().text == "process is running with pid 101");
  CHECK(slow.length == minutes{2} + seconds{15});
  CHECK(play(rules, "at 45 s web dies\nexec \"/start web\" takes 29900 ms\nrun for 75 s").length == seconds{75});
  // One of two is always under way.
  const RuleSet two = rule_set({process("a"), process("b")}, seconds{30});
  const Timeline failing = play(two, "a: down\nb: down\nexec \"/start a\" never ends\nexec \"/start b\" never ends");
  CHECK(failing.length < minutes{2});
}

TEST_CASE("An unscripted process behaves as its rules require", "[engine][simulator]") {
  Rule owner = missing_rule(ActionKind::Alert);
  owner->condition = RuleCondition{{Differs{Attribute::Uid, 33}}};
  Rule attribute = owner;
  attribute->condition = RuleCondition{{Differs{Attribute::Security, std::string("web_t")}}};
  Rule uptime = resource_rule(Metric::Uptime, 60, {}, ActionKind::Restart);
  Rule pid = owner;
  pid->condition = RuleCondition{{Changed{Attribute::Pid}}};
  pid->mode = Mode::EachChange;
  pid->event = EventKind::Pid;
  for (Rule* rule : {&owner, &attribute, &pid})
    (*rule)->text += std::to_string((*rule)->condition->tests.front().index());
  const RuleSet rules = rule_set({process("web", {owner, attribute, uptime, pid})}, seconds{30});
  const Timeline timeline = play(rules, "run for 200 seconds");
  CHECK(programs(timeline) ==
        "00:01:30.000 /stop web\n00:01:30.000 /start web\n00:03:00.000 /stop web\n00:03:00.000 /start web\n");
  CHECK(programs(play(rules, "web uptime: 0 unknown\nrun for 200 seconds")).empty());
  const auto changes = [](const Timeline& one) {
    return std::ranges::count(one.entries, "rule-changed", &TimelineEntry::kind);
  };
  CHECK(changes(timeline) == 0);  // its restarts were healer's own
  CHECK(changes(play(rules, "at 40 s web dies\nat 40500 ms web comes up\nrun for 80 s")) == 1);
  CHECK(std::ranges::count(timeline.entries, "rule-failed", &TimelineEntry::kind) == 2);

  auto here = service("here", {resource_rule(Metric::Uptime, 60, {}, ActionKind::Alert)});
  here->kind = kind_named("system");
  here->program = {};
  CHECK(kinds(play(rule_set({here}, seconds{30}), "at 100 s reboot for 5 s\nrun for 120 s")) ==
        "daemon-started rule-failed reboot daemon-started rule-recovered");
}

TEST_CASE("a job outlives a crash of healer, and goes on after a reboot", "[engine][simulator]") {
  const RuleSet rules = rule_set({process("web")}, seconds{30});
  const std::string script = "web: down\nexec /start takes 10 seconds\n";
  SECTION("its program ends while the next healer watches") {
    const Timeline timeline = play(rules, script + "at 4 s crash for 2 s");
    CHECK(programs(timeline) == "00:00:00.000 /start web\n");
    CHECK(
        story(timeline).ends_with("00:00:04.000 crash healer is killed; healer is away for 2 s\n"
                                  "00:00:06.000 web job-started restart goes on: start web\n"
                                  "00:00:10.000 web process-up process 100 was started by /start web\n"
                                  "00:00:10.000 web action-ended program /start exited with status 0 after 10 s\n"
                                  "00:00:10.000 web job-step started with pid 100\n"
                                  "00:00:10.000 web job-ended restart done after 10 s\n"
                                  "00:00:10.000 web rule-recovered process is running with pid 100\n"));
  }
  SECTION("its program ends while there is none") {
    const Timeline timeline = play(rules, script + "at 4 s crash for 8 s");
    CHECK(programs(timeline) == "00:00:00.000 /start web\n");
    CHECK(story(timeline).find("00:00:10.000 web process-up process 100 was started by /start web\n"
                               "00:00:12.000 web job-started restart goes on: start web\n") != std::string::npos);
    CHECK(story(timeline).find("00:00:12.000 web job-ended restart done after 12 s\n") != std::string::npos);
  }
  SECTION("a reboot cuts its program off, and takes the other processes down") {
    const RuleSet both = rule_set({process("web"), process("db")}, seconds{30});
    const Timeline timeline = play(both, script + "at 4 s reboot for 8 s\nrun for 2 minutes");
    CHECK(story(timeline).find("00:00:10.000 web process-up") == std::string::npos);
    CHECK(std::ranges::count(timeline.entries, "process-up", &TimelineEntry::kind) == 2);
  }
}

TEST_CASE("a foreground process is rehearsed: when it is ready, and how it ends", "[engine][simulator]") {
  auto notifying = foreground("told");
  notifying->process->foreground->by_notice = true;
  notifying->process->foreground->ready_after = seconds{20};
  const RuleSet rules = rule_set({notifying}, seconds{30});
  const auto has = [](const Timeline& timeline, std::string_view line) {
    INFO(story(timeline));
    CHECK(story(timeline).find(line) != std::string::npos);
  };
  SECTION("it says so at once") {
    const Timeline timeline = play(rules, "run for 5 minutes");
    has(timeline, "00:00:00.000 told job-ended restart done after 0 ms\n");
    CHECK(programs(timeline) == "00:00:00.000 /run told\n");
  }
  SECTION("later") {
    has(play(rules, "exec /run ready after 5 s\nrun for 1 minute"),
        "00:00:05.000 told job-step started with pid 100\n");
  }
  SECTION("never, or too late") {
    const char* script =
        GENERATE("exec /run never ready\nrun for 21 s", "exec \"/run told\" ready after 21 s\nrun for 21 s");
    has(play(rules, script),
        "00:00:20.000 told job-failed restart failed: failed to start: it did not report within 20 s that it is "
        "ready\n");
  }
  SECTION("it has died when it ends") {
    const Timeline timeline = play(rules, "exec \"/run told\" takes 40 seconds, exits 3\nrun for 50 s");
    has(timeline,
        "00:00:40.000 told process-down process 100 has ended\n"
        "00:00:40.000 told process-died process 100 exited with status 3 after 40 s\n");
    has(timeline, "process-up process 101 was started: /run told\n");
  }
  SECTION("by a signal") {
    has(play(rules, "exec /run takes 40 seconds, signal 11\nrun for 50 s"),
        "told process-died process 100 was killed by signal 11 (SIGSEGV) after 40 s\n");
  }
  SECTION("before it could say so") {
    has(play(rules, "exec /run exits 3\nrun for 1 s"), "failed to start: it exited with status 3\n");
    has(play(rules, "exec /run takes 4 s, ready after 4 s\nrun for 5 s"),
        "failed to start: it exited with status 0 after 4 s\n");
  }
  SECTION("there is none") {
    const Timeline timeline = play(rules, "exec /run missing\nrun for 1 s");
    has(timeline, "failed to start: it could not be started");
    CHECK(story(timeline).find("process-up") == std::string::npos);
  }
  SECTION("one that is ready by its time says nothing, and outlives healer") {
    const Timeline timeline =
        play(rule_set({foreground("timed")}, seconds{30}), "at 1 minute crash\nrun for 3 minutes");
    has(timeline, "00:00:01.000 timed job-step started with pid 100\n");
    CHECK(programs(timeline) == "00:00:00.000 /run timed\n");
  }
}

TEST_CASE("a rule about restarts does not recover while there is no process", "[engine][simulator]") {
  const RuleSet rules =
      rule_set({foreground("web", {missing_rule(), restarts_rule(2, 5, ActionKind::Alert)})}, seconds{30});
  const std::string printed = story(play(rules, "at 2 minutes web dies\nat 3 minutes web dies\nrun for 8 minutes"));
  INFO(printed);
  CHECK(printed.find("00:02:30.000 web rule-failed service restarted 2 times within 5 cycles(s) - alert\n") !=
        std::string::npos);
  CHECK(printed.find("00:03:00.000 web rule-recovered process is running after") == std::string::npos);
  CHECK(printed.find("web rule-recovered process is running after") != std::string::npos);
}

TEST_CASE("a program that hangs is ended when its time is over", "[engine][simulator]") {
  const RuleSet rules = rule_set({process("web")}, seconds{60});
  CHECK(programs(play(rules, "web: down\nexec \"/start web\" never ends\nrun for 40 s")) ==
        "00:00:00.000 /start web\n00:00:31.004 /start web\n");
  CHECK(story(play(rules, "exec \"/stop web\" never ends\nat 10 s stop web")) ==
        "00:00:10.000 web job-started stop by the script: stop web\n"
        "00:00:10.000 web exec /stop web\n"
        "00:00:40.000 web job-failed stop failed: failed to stop (exit status -1) -- Program '/stop web' timed out "
        "after 30 s\n"
        "00:00:40.000 reply web: failed to stop (exit status -1) -- Program '/stop web' timed out after 30 s\n"
        "00:00:40.000 web action-failed program /stop was killed by signal 15 (SIGTERM) after 30 s\n");
  // A rule's own program without a timeout is not ended; with one it is.
  const std::string script = "web: 1*4\nexec /bin/heal never ends\nrun for 2 minutes";
  CHECK(kinds(play(one_service(kThree), script)) == "daemon-started rule-failed alert exec");
  Rule rule = kThree;
  rule->action.command->timeout = seconds{20};
  CHECK(play(one_service(rule), script).entries.back().text == "exec /bin/heal timed out after 20 s");
}

TEST_CASE("people start, stop, restart and pause", "[engine][simulator]") {
  auto web = process("web");
  web->programs.edit().stop.reset();
  CHECK(story(play(rule_set({web}, seconds{30}), "at 10 s stop web\nat 20 s start web")) ==
        "00:00:10.000 web job-started stop by the script: stop web\n"
        "00:00:10.000 web job-step it has no stop program: SIGTERM to process 100\n"
        "00:00:10.000 web process-down process 100 was ended by signal 15\n"
        "00:00:10.000 web job-step stopped\n"
        "00:00:10.000 web job-ended stop done after 0 ms\n"
        "00:00:10.000 web unmonitored unmonitored by the script\n"
        "00:00:10.000 reply web stopped\n"
        "00:00:20.000 web monitored monitored by the script\n"
        "00:00:20.000 web job-started start by the script: start web\n"
        "00:00:20.000 web exec /start web\n"
        "00:00:20.000 web process-up process 101 was started by /start web\n"
        "00:00:20.000 web action-ended program /start exited with status 0 after 0 ms\n"
        "00:00:20.000 web job-step started with pid 101\n"
        "00:00:20.000 web job-ended start done after 0 ms\n"
        "00:00:20.000 reply web started\n");
  auto own = process("web");
  own->programs.edit().restart = Command{.arguments = {"/again"}, .timeout = seconds{30}};
  const Timeline again = play(rule_set({own}, seconds{30}), "at 10 s restart web");
  CHECK(programs(again) == "00:00:10.000 /again\n");
  CHECK(story(again).find("web process-down process 100 was ended by /again\n"
                          "00:00:10.000 web process-up process 101 was started by /again\n") != std::string::npos);
  const RuleSet rules = rule_set({process("web")}, seconds{30});
  CHECK(programs(play(rules, "at 40 s pause web for 1 minute\nat 45 s web dies\nrun for 4 minutes")) ==
        "00:02:00.000 /start web\n");
  CHECK(programs(play(rules, "at 40 s pause all\nat 45 s web dies\nat 70 s resume all\nrun for 4 minutes")) ==
        "00:01:30.000 /start web\n");
}

TEST_CASE("whatever happens, nothing is started that is up, nor stopped that is down",
          "[engine][simulator][property]") {
  std::mt19937 random(5);
  const std::vector<std::string> names{"a", "b", "c"};
  const std::vector<std::string> gentle{"NAME dies",  "NAME comes up", "restart NAME",
                                        "start NAME", "crash for 3 s", "reboot for 9 s"};
  const std::vector<std::string> harsh{"stop NAME", "pause NAME for 20 s", "unmonitor NAME", "monitor NAME"};
  for (int i = 0; i < healer::test::rounds(400); ++i) {
    RuleSet rules = rule_set(
        {process("a", {missing_rule()}, {"b"}), process("b"), process("c", {missing_rule()}, {"b"})}, seconds{10});
    if (i % 5 == 0) rules.settings.settle = Duration{0};
    const bool good = i % 2 == 0;  // no person takes a service out, and programs do what they are there for
    std::string script = "run for 10 minutes\n";
    std::map<std::string, bool> up;
    for (const std::string& name : names) {
      up[name] = random() % 3 != 0;
      if (!up[name]) script += name + ": down\n";
      for (const std::string program : {"/start", "/stop"})
        if (random() % 2 == 0)
          script += "exec \"" + program + " " + name + "\" " +
                    (good || random() % 3 != 0 ? "takes " + std::to_string(random() % 5) + " s"
                     : random() % 2 == 0       ? "exits 1"
                                               : "never ends") +
                    "\n";
    }
    for (std::size_t n = random() % 12; n > 0; --n) {
      std::string what = good || random() % 2 == 0 ? gentle[random() % gentle.size()] : harsh[random() % harsh.size()];
      if (const auto at = what.find("NAME"); at != std::string::npos) what.replace(at, 4, names[random() % 3]);
      script += "at " + std::to_string(random() % 120) + " s " + what + "\n";
    }
    INFO(script);
    for (const TimelineEntry& entry : play(rules, script).entries) {
      INFO(to_string(entry));
      if (entry.kind == "reboot")
        for (auto& [name, is_up] : up) is_up = false;
      if (entry.kind == "process-up") REQUIRE_FALSE(std::exchange(up.at(entry.service), true));
      if (entry.kind == "process-down") REQUIRE(std::exchange(up.at(entry.service), false));
      if (entry.kind == "exec") REQUIRE(up.at(entry.service) == entry.text.starts_with("/stop"));
    }
    if (!good) continue;
    for (const auto& [name, is_up] : up) REQUIRE(is_up);
  }
}

}  // namespace simulator_test
