// SPDX-License-Identifier: MIT
// The script of a simulation: what is understood, and what is said about the rest.
#include <random>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "simulation/script.hpp"
#include "support/process_world.hpp"
#include "support/rounds.hpp"

namespace script_test {

using namespace healer;
using namespace healer::test;

namespace {

Rule compares(Metric metric) {
  Rule rule;
  rule->condition = RuleCondition{{Compare{metric, Comparison::Greater, 1}}};
  rule->text = std::string(words_of(metric));
  return rule;
}

RuleSet rules() {
  auto web = process("web", {compares(Metric::Cpu), compares(Metric::MemoryPercent), compares(Metric::MemoryBytes),
                             compares(Metric::ReadRate), compares(Metric::ReadOperations), compares(Metric::Uptime)});
  web->programs.edit().start->arguments = {"/bin/run", "web"};
  auto here = service("here", {compares(Metric::Load1PerCore)});
  here->kind = kind_named("system");
  RuleSet rules = rule_set({service("ping_node_5", {status_rule(Comparison::NotEqual, 0)}), service("at", {}),
                            std::move(web), std::move(here)},
                           seconds{30});
  rules.settings.start_delay = seconds{10};
  return rules;
}

Script read(std::string_view text) {
  const ScriptReading reading = read_script(text, rules());
  for (const ScriptError& error : reading.errors) UNSCOPED_INFO(format(error, "script", text));
  REQUIRE(reading.errors.empty());
  return reading.script;
}

std::string complaint(std::string_view text) {
  std::string all;
  for (const ScriptError& error : read_script(text, rules()).errors) all += format(error, "s", text);
  return all;
}

}  // namespace

TEST_CASE("runs are read one by one, with times, durations and output", "[engine][script]") {
  const Script script = read(
      "PING_node_5: 0*2 3 timeout missing signal:11 1:\"no \\\"route\\\"\\n\"*2@1m # and so on\n"
      "ping_node_5: 0@250ms ...\n"
      "ping_node_5 takes 2 minutes 5 seconds\n");
  const ScriptedService& service = script.services.at("ping_node_5");
  REQUIRE(service.runs.size() == 9);
  CHECK(service.repeated);
  CHECK(service.takes == seconds{125});
  CHECK(service.runs[1].status == 0);
  CHECK(service.runs[2].status == 3);
  CHECK(service.runs[3].outcome == Outcome::TimedOut);
  CHECK(service.runs[3].status == 9);
  CHECK(service.runs[4].outcome == Outcome::NotStarted);
  CHECK(service.runs[5].outcome == Outcome::Signalled);
  CHECK(service.runs[5].status == 11);
  CHECK(service.runs[7].output == "no \"route\"\n");
  CHECK(service.runs[7].takes == minutes{1});
  CHECK(service.runs[8].takes == milliseconds{250});
}

TEST_CASE("start, length, actions and commands are read", "[engine][script]") {
  const Script script = read(
      "start at 2026-11-21 04:00:00\n"
      "run for 50 cycles\n"
      "exec /bin/heal takes 30 seconds, exits 1\n"
      "exec \"/bin/heal\" signal 9\n"
      "at 2 hours reboot\n"
      "AT 00:05:00 unmonitor ping_node_5 at\n"
      "at 5 minutes monitor all\n"
      "at 1 h crash for 10 s\n"
      "at 90 s set clock -1 hour\n"
      "at 91 s set clock + 5 m\n"
      "at 92 s set clock 2026-11-21 09:00:00\n"
      "at: 1\n"
      "at takes 3 s\n");
  CHECK(format_iso(script.start) == "2026-11-21T04:00:00.000Z");
  CHECK(script.length == seconds{10} + 50 * seconds{30});
  CHECK(script.actions.at("/bin/heal").outcome == Outcome::Signalled);
  CHECK(script.actions.at("/bin/heal").takes == seconds{30});
  REQUIRE(script.commands.size() == 7);
  CHECK(script.commands[0].span == -hours{1});
  CHECK(script.commands[1].span == minutes{5});
  CHECK(script.commands[2].kind == ScriptedCommand::Kind::SetClock);
  CHECK(script.commands[3].services == std::vector<std::string>{"ping_node_5", "at"});
  CHECK(script.commands[4].at == minutes{5});
  CHECK(script.commands[4].services.size() == 4);
  CHECK(script.commands[5].span == seconds{10});
  CHECK(script.commands[6].kind == ScriptedCommand::Kind::Reboot);
  CHECK(script.commands[6].span == minutes{1});
  CHECK(script.services.at("at").takes == seconds{3});
}

TEST_CASE("processes, measured values and the commands for them are read", "[engine][script]") {
  using Kind = ScriptedCommand::Kind;
  using Values = std::vector<std::optional<double>>;
  const Script script = read(
      "WEB: down\n"
      "web cpu: 10 95.5%*2 unknown # and so on\n"
      "web cpu: 20 ...\n"
      "web memory: 50% 60\n"
      "web memory: 2kB 1GB\n"
      "web disk read: 7*3\n"
      "web disk read: 2MB/s 1MB\n"
      "web uptime: 90 3d\n"
      "here loadavg(1min) per core: 0.5 20\n"
      "web takes 2 s\n"
      "exec /bin/run never ends\n"
      "exec \"/stop web\" exits 1\n"
      "at 1 s web dies\n"
      "at 2 s \"web\" comes up\n"
      "at 3 s start web at\n"
      "at 4 s stop all\n"
      "at 5 s restart web\n"
      "at 6 s pause web at for 2 hours\n"
      "at 7 s pause web\n"
      "at 8 s resume web\n");
  const ScriptedService& web = script.services.at("web");
  CHECK(web.down);
  CHECK(web.takes == seconds{2});
  CHECK(web.measured.at(Metric::Cpu).values == Values{10, 95.5, 95.5, std::nullopt, 20});
  CHECK(web.measured.at(Metric::Cpu).repeated);
  CHECK(web.measured.at(Metric::MemoryPercent).values == Values{50, 60});
  CHECK(web.measured.at(Metric::MemoryBytes).values == Values{2048, 1'073'741'824});
  CHECK(web.measured.at(Metric::ReadOperations).values == Values{7, 7, 7});
  CHECK(web.measured.at(Metric::ReadRate).values == Values{2'097'152, 1'048'576});
  CHECK(web.measured.at(Metric::Uptime).values == Values{90, 259'200});
  CHECK(script.services.at("here").measured.at(Metric::Load1PerCore).values == Values{0.5, 20});
  CHECK(script.actions.at("/bin/run").ends == false);
  CHECK(script.actions.at("/stop web").status == 1);
  REQUIRE(script.commands.size() == 8);
  const std::vector<Kind> expected{Kind::Dies,    Kind::ComesUp, Kind::Start, Kind::Stop,
                                   Kind::Restart, Kind::Pause,   Kind::Pause, Kind::Resume};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(script.commands[i].kind == expected[i]);
  CHECK(script.commands[1].services == std::vector<std::string>{"web"});
  CHECK(script.commands[3].services.size() == 4);
  CHECK(script.commands[5].services == std::vector<std::string>{"web", "at"});
  CHECK(script.commands[5].span == hours{2});
  CHECK(script.commands[6].span == Duration{0});
}

TEST_CASE("services may be called as the words of a script", "[engine][script]") {
  const RuleSet odd = rule_set({process("dies", {compares(Metric::Cpu)}), process("exec", {compares(Metric::Cpu)})});
  const ScriptReading reading =
      read_script("exec cpu: 1\nat 1 s monitor dies\nat 2 s dies dies\nat 3 s exec dies\nexec: down\n", odd);
  REQUIRE(reading.errors.empty());
  CHECK(reading.script.services.at("exec").measured.contains(Metric::Cpu));
  CHECK(reading.script.commands[0].kind == ScriptedCommand::Kind::Monitor);
  CHECK(reading.script.commands[1].kind == ScriptedCommand::Kind::Dies);
  CHECK(reading.script.commands[2].services == std::vector<std::string>{"exec"});
}

TEST_CASE("what a script cannot say of processes and measured values", "[engine][script]") {
  CHECK(complaint("web: 0 1\nhere: down\nping_node_5: down\n") ==
        "s:1:6: error: 'web' is not a program: it does not exit\n"
        "  web: 0 1\n"
        "       ^\n"
        "  note: write web: down, or web QUANTITY: VALUES, for what a rule compares\n"
        "s:2:7: error: 'here' is not a program: it does not exit\n"
        "  here: down\n"
        "        ^\n"
        "  note: write here QUANTITY: VALUES, for what a rule compares\n"
        "s:3:14: error: 'down' is not the end of a run\n"
        "  ping_node_5: down\n"
        "               ^\n"
        "  note: write an exit value, timeout, missing or signal:N, with :\"output\", *TIMES and @DURATION after it\n");
  CHECK(complaint("web memroy: 1\nweb swap: 1\nping_node_5 cpu: 1\n") ==
        "s:1:5: error: no rule of 'web' compares 'memroy'\n"
        "  web memroy: 1\n"
        "      ^\n"
        "  note: did you mean 'memory'?\n"
        "s:2:5: error: no rule of 'web' compares 'swap'\n"
        "  web swap: 1\n"
        "      ^\n"
        "  note: its rules compare cpu, memory, disk read and uptime\n"
        "s:3:13: error: no rule of 'ping_node_5' compares 'cpu'\n"
        "  ping_node_5 cpu: 1\n"
        "              ^\n"
        "  note: its rules compare nothing that is measured\n");
  CHECK(complaint("web memory: 50% 1MB\nweb memory: 50\nweb cpu:\nweb cpu: hot\n") ==
        "s:1:17: error: '1MB' is not a value of 'memory'\n"
        "  web memory: 50% 1MB\n"
        "                  ^\n"
        "  note: write 10%, or unknown, followed by *TIMES\n"
        "s:2:13: error: '50' is not a value of 'memory'\n"
        "  web memory: 50\n"
        "              ^\n"
        "  note: write 10% or 500MB, or unknown, followed by *TIMES\n"
        "s:3:9: error: the values are missing\n"
        "  web cpu:\n"
        "          ^\n"
        "  note: write them run by run, as 10%\n"
        "s:4:10: error: 'hot' is not a value of 'cpu'\n"
        "  web cpu: hot\n"
        "           ^\n"
        "  note: write 10%, or unknown, followed by *TIMES\n");
  CHECK(
      complaint("at 5 s here dies\nat 5 s wbe dies\nat 5 s web comes down\nat 5 s web\n") ==
      "s:1:8: error: 'here' is not a process\n"
      "  at 5 s here dies\n"
      "         ^\n"
      "  note: only a process dies, hangs or comes up\n"
      "s:2:8: error: the rules have no service 'wbe'\n"
      "  at 5 s wbe dies\n"
      "         ^\n"
      "  note: did you mean 'web'?\n"
      "s:3:18: error: expected 'up'\n"
      "  at 5 s web comes down\n"
      "                   ^\n"
      "  note: write at 5 minutes NAME comes up\n"
      "s:4:8: error: 'web' is not a command\n"
      "  at 5 s web\n"
      "         ^\n"
      "  note: the commands are monitor, unmonitor, validate, accept, start, stop, restart, pause, resume, ack, heal, "
      "approve, "
      "reject, cancel, healing reset, list, accept list, forget, beat, event, crash, reboot and set clock; a process "
      "dies, "
      "hangs or "
      "comes up, and a service fails, "
      "or "
      "recovers\n");
  const auto first_line = [](std::string_view text) {
    const std::string all = complaint(text);
    return all.substr(0, all.find('\n'));
  };
  CHECK(first_line("web: down 0") == "s:1:11: error: unexpected '0'");
  CHECK(first_line("wbe cpu: 1") == "s:1:1: error: the rules have no service 'wbe'");
  CHECK(first_line("web cpu: ...") == "s:1:10: error: there is nothing to repeat before '...'");
  CHECK(first_line("web cpu: 1 ... 2") == "s:1:16: error: unexpected '2'");
  CHECK(first_line("web cpu: 1 ...\nweb cpu: 2") == "s:2:1: error: the previous line of this quantity never ends");
  CHECK(first_line("web cpu: -1") == "s:1:10: error: '-1' is not a value of 'cpu'");
  CHECK(first_line("web cpu: 1*0") == "s:1:12: error: the number of times must be between 1 and 10000000");
  CHECK(first_line("web cpu: 1*9999999 1*2") == "s:1:20: error: a quantity may have 10000000 scripted values");
  CHECK(first_line("web cpu: 1*2x") == "s:1:13: error: unexpected 'x'");
  CHECK(first_line("web uptime: 3x") == "s:1:13: error: '3x' is not a value of 'uptime'");
  CHECK(first_line("exec /bin/run never") == "s:1:20: error: expected 'ends'");
  CHECK(first_line("exec /bin/rnu never ends") == "s:1:6: error: no action or service of the rules runs '/bin/rnu'");
  CHECK(first_line("at 5 s pause for 2 hours") == "s:1:14: error: the name of a service is missing");
  CHECK(first_line("at 5 s pause web for ever") == "s:1:22: error: a duration was expected");
  CHECK(first_line("at 5 s start") == "s:1:13: error: the name of a service is missing");
}

TEST_CASE("what is wrong in a script is said with line, column and remedy, all of it", "[engine][script]") {
  CHECK(complaint("ping_node_5: 0 1\n\n  pign_node_5: 0\nrun fro 3 cycles\n") ==
        "s:3:3: error: the rules have no service 'pign_node_5'\n"
        "    pign_node_5: 0\n"
        "    ^\n"
        "  note: did you mean 'ping_node_5'?\n"
        "s:4:5: error: expected 'for'\n"
        "  run fro 3 cycles\n"
        "      ^\n"
        "  note: write run for 10 minutes, or run for 50 cycles\n");
  CHECK(complaint("ping_node_5: 1:\"é\" 0 tiemout") ==
        "s:1:22: error: 'tiemout' is not the end of a run\n"
        "  ping_node_5: 1:\"é\" 0 tiemout\n"
        "                       ^\n"
        "  note: write an exit value, timeout, missing or signal:N, with :\"output\", *TIMES and @DURATION after it\n");
  const auto first_line = [](std::string_view text) {
    const std::string all = complaint(text);
    return all.substr(0, all.find('\n'));
  };
  CHECK(first_line("ping_node_5: 256") == "s:1:14: error: an exit value must be between 0 and 255");
  CHECK(first_line("ping_node_5: 1*0") == "s:1:16: error: the number of times must be between 1 and 10000000");
  CHECK(first_line("ping_node_5: 1*") == "s:1:16: error: the number of times is missing");
  CHECK(first_line("ping_node_5: 1x") == "s:1:15: error: unexpected 'x'");
  CHECK(first_line("ping_node_5: 0@soon") == "s:1:16: error: there is no duration after '@'");
  CHECK(first_line("ping_node_5:") == "s:1:13: error: the runs are missing");
  CHECK(first_line("ping_node_5: ...") == "s:1:14: error: there is nothing to repeat before '...'");
  CHECK(first_line("ping_node_5: 0 ... 1") == "s:1:20: error: unexpected '1'");
  CHECK(first_line("ping_node_5: 0 ...\nping_node_5: 1") ==
        "s:2:1: error: the previous line of this service never ends");
  CHECK(first_line("ping_node_5: 0:\"x") == "s:1:16: error: the text that begins here is not closed");
  CHECK(first_line("ping_node_5: 0:\"\\x\"") == "s:1:17: error: \\x means nothing here");
  CHECK(first_line("ping_node_5 takes ages") == "s:1:19: error: a duration was expected");
  CHECK(first_line("ping_node_5 0 1") == "s:1:1: error: 'ping_node_5' does not begin a statement");
  CHECK(first_line("strat at 1") == "s:1:1: error: 'strat' does not begin a statement");
  CHECK(first_line("start at 2026-13-01 00:00:00") == "s:1:10: error: this is not a date and time");
  CHECK(first_line("start") == "s:1:6: error: expected 'at'");
  CHECK(first_line("exec /bin/hael exits 1") == "s:1:6: error: no action or service of the rules runs '/bin/hael'");
  CHECK(first_line("exec /bin/heal exits 300") == "s:1:22: error: the exit value must be between 0 and 255");
  CHECK(first_line("exec /bin/heal") == "s:1:15: error: how it ends is missing");
  CHECK(first_line("at 25:61:00 crash") == "s:1:7: error: a part of the time must be between 0 and 59");
  CHECK(first_line("at 10:00 crash") == "s:1:9: error: a part of the time is missing");
  CHECK(first_line("at 5 minutes dance") == "s:1:14: error: 'dance' is not a command");
  CHECK(first_line("at 5 minutes monitor") == "s:1:21: error: the name of a service is missing");
  CHECK(first_line("at 5 minutes crash now") == "s:1:20: error: unexpected 'now'");
  CHECK(first_line("at 5 minutes set clock") == "s:1:23: error: the date is missing");
}

TEST_CASE("what a foreground process does is read", "[engine][script]") {
  auto notifying = foreground("told");
  notifying->process->foreground->by_notice = true;
  const RuleSet rules = rule_set({foreground("timed"), notifying});
  const auto action = [&](std::string_view text) {
    const ScriptReading reading = read_script(text, rules);
    for (const ScriptError& error : reading.errors) UNSCOPED_INFO(format(error, "script", text));
    REQUIRE(reading.errors.empty());
    return reading.script.actions.begin()->second;
  };
  CHECK(action("exec /run takes 40 seconds").ends == true);
  CHECK(action("exec \"/run timed\" takes 40 seconds, exits 3").takes == seconds{40});
  CHECK(action("exec \"/run told\" never ends").ends == false);
  CHECK(action("exec \"/run told\" missing, takes 1 s").ready == Duration{0});
  CHECK(action("exec \"/run told\" never ends, ready after 1 s").ready == seconds{1});
  CHECK(action("exec \"/run told\" ready after 5 s").ready == seconds{5});
  CHECK_FALSE(action("exec \"/run told\" ready after 5 s").ends);
  CHECK_FALSE(action("exec \"/run told\" never ready, takes 9 s").ready);
  const auto complaint = [&](std::string_view text) {
    const ScriptReading reading = read_script(text, rules);
    return reading.errors.empty() ? "none" : format(reading.errors.front(), "s", text);
  };
  CHECK(complaint("exec \"/run timed\" never ready")
            .starts_with("s:1:6: error: no service waits for '/run timed' to say that it is ready\n"));
  CHECK(complaint("exec \"/run told\" ready").starts_with("s:1:23: error: expected 'after'\n"));
  CHECK(complaint("exec \"/run tolt\" never ready").ends_with("note: did you mean '/run told'?\n"));
}

TEST_CASE("no text whatever upsets the reader of scripts", "[engine][script][property]") {
  std::mt19937 random(11);
  const std::vector<std::string> parts{"ping_node_5", ":",     " ",       "0",     "1",
                                       "*",           "@",     "\"",      "\\",    "...",
                                       "timeout",     "at",    "exec",    "run",   "for",
                                       "set",         "clock", "+",       "-",     "5",
                                       "minutes",     "\n",    "start",   "#",     "é",
                                       "/bin/heal",   "takes", "signal:", ",",     "99999999999999999999",
                                       "web",         "cpu",   "memory",  "%",     "MB",
                                       "unknown",     "down",  "dies",    "comes", "up",
                                       "pause",       "never", "1e999",   "ready", "after"};
  for (int i = 0; i < healer::test::rounds(20000); ++i) {
    std::string text;
    for (std::size_t n = random() % 14; n > 0; --n)
      text += parts[random() % parts.size()] + (random() % 3 == 0 ? " " : "");
    const ScriptReading reading = read_script(text, rules());
    for (const ScriptError& error : reading.errors) REQUIRE_FALSE(format(error, "s", text).empty());
  }
}

}  // namespace script_test
