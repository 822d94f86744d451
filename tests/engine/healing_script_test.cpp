// SPDX-License-Identifier: MIT
// Scripts of simulations about workflows: what is said about those that are wrong.
#include <random>

#include <catch2/catch.hpp>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule_set.hpp"
#include "simulation/script.hpp"
#include "simulation/simulator.hpp"
#include "support/rounds.hpp"
#include "support/workflow_rules.hpp"

namespace healing_script_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

std::string complaint(std::string_view script) {
  std::string messages;
  const RuleSet all =
      rules(fleet(kRebuild) + app(kStack).replace(app(kStack).find("workflow rebuild"), 16, "workflow stack"));
  for (const ScriptError& error : read_script(script, all).errors)
    messages += fmt::format("{}:{}: {} | {}\n", error.line, error.column, error.message, error.remedy);
  return messages;
}

}  // namespace

TEST_CASE("what is wrong in a script of healings is said with its place and the nearest word",
          "[engine][script][healing]") {
  CHECK(complaint("guard rebild: ok") == "1:7: 'rebild' is not a workflow | did you mean 'rebuild'?\n");
  CHECK(complaint("step rebuild shut: ok") ==
        "1:14: 'shut' is not a step of workflow 'rebuild' | write shut down, rebuild, verify or heal with redeploy\n");
  CHECK(complaint("step rebuild rebuidl: ok") ==
        "1:14: 'rebuidl' is not a step of workflow 'rebuild' | did you mean 'rebuild'?\n");
  CHECK(complaint("step rebuild rebuild: refuse") == "1:23: 'refuse' is not how it ends | did you mean 'refuses'?\n");
  CHECK(complaint("step rebuild rebuild: nonsense") ==
        "1:23: 'nonsense' is not how it ends | write ok, fails, timeout, missing, signal:N or an exit value\n");
  CHECK(complaint("step stack token: 99") == "1:19: the status of an answer must be between 100 and 599 | \n");
  CHECK(complaint("step stack token until: done") ==
        "1:18: step 'token' does not ask whether it is done | only a request with until does\n");
  CHECK(complaint("step rebuild verify: ok") ==
        "1:1: step 'verify' neither runs a program nor makes a request | whether its target recovers is determined by "
        "the "
        "lines of its services, or by a step that heals\n");
  CHECK(complaint("step rebuild verify heals") ==
        "1:21: step 'verify' heals nothing | a program, a request, or the start of a service does\n");
  CHECK(complaint("step rebuild rebuild of n9: ok") ==
        "1:25: 'n9' is not a target of a healing | did you mean 'n1'?\n");
  CHECK(complaint("step rebuild rebuild:") ==
        "1:22: how it ends is missing | write step WORKFLOW STEP: ok fails, or takes 2 minutes, or heals\n");
  CHECK(complaint("step rebuild rebuild") ==
        "1:21: a colon is missing | write step WORKFLOW STEP: ok fails, or takes 2 minutes, or heals\n");
  CHECK(complaint("step rebuild rebuild: ok ...\nstep rebuild rebuild: fails") ==
        "2:1: the previous line of this step never ends | remove its '...'\n");
  CHECK(complaint("step stack token: 201:'{\"id\": 7}") ==
        "1:23: the text that begins here is not closed | put a ' where it ends\n");
  CHECK(complaint("exec /bin/rebuild exits 1") ==
        "1:6: no action or service of the rules runs '/bin/rebuild' | for a program of a workflow, write step "
        "WORKFLOW STEP: ok fails\n");
  CHECK(complaint("at 5 minutes n1 fials") == "1:17: 'fials' cannot happen to 'n1' | did you mean 'fails'?\n");
  CHECK(complaint("at 5 minutes n1 explodes") ==
        "1:17: 'explodes' cannot happen to 'n1' | write fails, recovers, dies, hangs or comes up\n");
  CHECK(complaint("at 5 minutes aprove n1") == "1:14: 'aprove' is not a command | did you mean 'approve'?\n");
  CHECK(complaint("at 5 minutes heal n1 with rebiuld") ==
        "1:27: 'rebiuld' is not a workflow | did you mean 'rebuild'?\n");
  CHECK(complaint("at 5 minutes heal n1 override guard") ==
        "1:31: 'guard' cannot be overridden | write limit, cooldown or pause\n");
  CHECK(complaint("at 5 minutes pause group node") == "1:26: 'node' is not a group | did you mean 'nodes'?\n");
  CHECK(complaint("expect healing n1 begin") == "1:19: 'begin' is not a turn of a healing | did you mean 'begun'?\n");
  CHECK(complaint("expect healing n1 step deplo") == "1:24: no workflow has a step 'deplo' | did you mean 'deploy'?\n");
  CHECK(complaint("expect workflow rebuild pause") ==
        "1:25: 'pause' is not a turn of a workflow | did you mean 'paused'?\n");
  CHECK(complaint("list NODE") ==
        "1:10: expected 'from' | write list NODE: node1 node2, or list NODE from file "
        "\"nodes\"\n");
}

TEST_CASE("the lists of a script are read before its rules are", "[engine][script]") {
  const std::vector<ScriptedList> lists = read_lists(
      "web: 0 1\n"
      "list NODE: a b \"c\"  # and so on\n"
      "list ROW from file \"rows.json\"\n"
      "list\n"
      "nonsense \"\n");
  REQUIRE(lists.size() == 2);
  CHECK(lists[0].name == "NODE");
  CHECK(lists[0].rows == std::vector<std::string>{"a", "b", "c"});
  CHECK(lists[0].line == 2);
  CHECK(lists[1].file == "rows.json");
}

TEST_CASE("no script whatever of healings upsets its reader or the simulation", "[engine][script][property]") {
  std::mt19937 random(12);
  const auto pick = [&](const auto& words) { return std::string(words[random() % words.size()]); };
  const std::vector<std::string> begins{"guard rebuild",
                                        "step stack token",
                                        "step rebuild rebuild",
                                        "step stack update",
                                        "step stack update until",
                                        "step rebuild \"shut down\"",
                                        "step redeploy deploy",
                                        "at 5 minutes",
                                        "at 9 minutes",
                                        "expect healing n1",
                                        "expect not workflow rebuild",
                                        "list",
                                        "step",
                                        "expect",
                                        "guard rebuild of n1",
                                        "step stack find of app"};
  const std::vector<std::string> words{":",        "ok",
                                       "fails*2",  "timeout",
                                       "503",      "201:'{\"id\": 1}'",
                                       "lost",     "pending*3",
                                       "done",     "0:\"id=1\"@2m",
                                       "...",      "heals",
                                       "for",      "2 minutes",
                                       "takes",    "of",
                                       "n2",       "n1",
                                       "app",      "fails",
                                       "recovers", "approve",
                                       "cancel",   "heal",
                                       "with",     "rebuild",
                                       "pause",    "group nodes",
                                       "all",      "healing reset",
                                       "override", "limit,",
                                       "begun",    "held",
                                       "\"x",      "'",
                                       "step",     "by",
                                       "3 times",  "paused",
                                       "NODE",     "from file \"a\""};
  const std::string app_of_stack = app(kStack).replace(app(kStack).find("workflow rebuild"), 16, "workflow stack");
  const RuleSet all = rules(fleet(kRebuild) + app_of_stack);
  const int scripts = healer::test::rounds(3000);
  int played = 0;
  for (int i = 0; i < scripts; ++i) {
    std::string text = "at 4 minutes n1 fails\nat 4 minutes app fails\n";
    for (std::size_t lines = random() % 3; lines > 0; --lines) {
      text += pick(begins);
      for (std::size_t n = random() % 4; n > 0; --n) text += (random() % 3 == 0 ? "" : " ") + pick(words);
      text += "\n";
    }
    const ScriptReading reading = read_script(text, all);
    for (const ScriptError& error : reading.errors) REQUIRE_FALSE(format(error, "s", text).empty());
    if (!reading.errors.empty() || ++played % 10 != 0) continue;
    INFO(text);
    REQUIRE(simulate(all, reading.script).stopped.empty());
  }
  CHECK(played > scripts / 20);
}

}  // namespace healing_script_test
