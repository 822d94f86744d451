// SPDX-License-Identifier: MIT
// The script of a simulation: what is understood, and what is said about the rest.
#include <random>

#include <catch2/catch.hpp>

#include "engine/script.hpp"
#include "support/engine_world.hpp"

using namespace healer;
using namespace healer::test;

namespace {

RuleSet rules() {
  RuleSet rules =
      rule_set({service("ping_node_5", {status_rule(Comparison::NotEqual, 0)}), service("at", {})}, seconds{30});
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
  CHECK(script.commands[4].services.size() == 2);
  CHECK(script.commands[5].span == seconds{10});
  CHECK(script.commands[6].kind == ScriptedCommand::Kind::Reboot);
  CHECK(script.commands[6].span == minutes{1});
  CHECK(script.services.at("at").takes == seconds{3});
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
  CHECK(
      complaint("ping_node_5: 1:\"é\" 0 tiemout") ==
      "s:1:22: error: 'tiemout' is not the end of a run\n"
      "  ping_node_5: 1:\"é\" 0 tiemout\n"
      "                       ^\n"
      "  note: write an exit value, timeout, missing or signal:N, with :\"output\", *TIMES and @DURATION behind it\n");
  const auto first_line = [](std::string_view text) {
    const std::string all = complaint(text);
    return all.substr(0, all.find('\n'));
  };
  CHECK(first_line("ping_node_5: 256") == "s:1:14: error: an exit value must be between 0 and 255");
  CHECK(first_line("ping_node_5: 1*0") == "s:1:16: error: the number of times must be between 1 and 10000000");
  CHECK(first_line("ping_node_5: 1*") == "s:1:16: error: the number of times is missing");
  CHECK(first_line("ping_node_5: 1x") == "s:1:15: error: 'x' was not expected here");
  CHECK(first_line("ping_node_5: 0@soon") == "s:1:16: error: no duration stands behind '@'");
  CHECK(first_line("ping_node_5:") == "s:1:13: error: the runs are missing");
  CHECK(first_line("ping_node_5: ...") == "s:1:14: error: nothing to repeat stands before '...'");
  CHECK(first_line("ping_node_5: 0 ... 1") == "s:1:20: error: '1' was not expected here");
  CHECK(first_line("ping_node_5: 0 ...\nping_node_5: 1") ==
        "s:2:1: error: the line before of this service goes on for ever");
  CHECK(first_line("ping_node_5: 0:\"x") == "s:1:16: error: the text that begins here has no end");
  CHECK(first_line("ping_node_5: 0:\"\\x\"") == "s:1:17: error: \\x means nothing here");
  CHECK(first_line("ping_node_5 takes ages") == "s:1:19: error: a duration was expected");
  CHECK(first_line("ping_node_5 0 1") == "s:1:1: error: 'ping_node_5' begins no statement");
  CHECK(first_line("strat at 1") == "s:1:1: error: 'strat' begins no statement");
  CHECK(first_line("start at 2026-13-01 00:00:00") == "s:1:10: error: this is no date and time");
  CHECK(first_line("start") == "s:1:6: error: expected 'at'");
  CHECK(first_line("exec /bin/hael exits 1") == "s:1:6: error: no action of the rules runs '/bin/hael'");
  CHECK(first_line("exec /bin/heal exits 300") == "s:1:22: error: the exit value must be between 0 and 255");
  CHECK(first_line("exec /bin/heal") == "s:1:15: error: how it ends is missing");
  CHECK(first_line("at 25:61:00 crash") == "s:1:7: error: a part of the time must be between 0 and 59");
  CHECK(first_line("at 10:00 crash") == "s:1:9: error: a part of the time is missing");
  CHECK(first_line("at 5 minutes dance") == "s:1:14: error: 'dance' is no command");
  CHECK(first_line("at 5 minutes monitor") == "s:1:21: error: the name of a service is missing");
  CHECK(first_line("at 5 minutes crash now") == "s:1:20: error: 'now' was not expected here");
  CHECK(first_line("at 5 minutes set clock") == "s:1:23: error: the date is missing");
}

TEST_CASE("no text whatever upsets the reader of scripts", "[engine][script][property]") {
  std::mt19937 random(11);
  const std::vector<std::string> parts{
      "ping_node_5", ":",  " ",     "0",   "1",   "*",         "@",     "\"",      "\\", "...",
      "timeout",     "at", "exec",  "run", "for", "set",       "clock", "+",       "-",  "5",
      "minutes",     "\n", "start", "#",   "é",   "/bin/heal", "takes", "signal:", ",",  "99999999999999999999"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = random() % 14; n > 0; --n)
      text += parts[random() % parts.size()] + (random() % 3 == 0 ? " " : "");
    const ScriptReading reading = read_script(text, rules());
    for (const ScriptError& error : reading.errors) REQUIRE_FALSE(format(error, "s", text).empty());
  }
}
