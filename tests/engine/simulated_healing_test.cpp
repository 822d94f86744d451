// SPDX-License-Identifier: MIT
// Workflows in simulations: rules and a script in, what becomes of healings out.
#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include <spdlog/fmt/fmt.h>

#include "config/check.hpp"
#include "config/load.hpp"
#include "engine/simulator.hpp"
#include "support/fake_environment.hpp"
#include "support/rounds.hpp"

namespace simulated_healing_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

/// Rules whose program /bin/ping fails for two cycles before they heal.
RuleSet rules(const std::string& text) {
  FakeEnvironment machine;
  machine.online = false;
  machine.files["/rules"] = "set daemon 30\n" + text;
  config::LoadResult loaded = config::load("/rules", {}, machine);
  INFO(config::format_all(loaded.diagnostics, loaded.sources, false));
  REQUIRE(loaded.ok());
  return std::move(*loaded.rules);
}

/// Six nodes of a group, healed with `workflows`.
std::string fleet(const std::string& workflows) {
  return workflows + R"(
for each NODE in "n1" .. "n6" {
  check program ping_${NODE} with path "/bin/ping ${NODE}"
    group nodes
    if status != 0 for 2 cycles then heal with rebuild
})";
}

/// One service.
std::string app(const std::string& workflows) {
  return workflows + "check program app with path \"/bin/ping\" if status != 0 for 2 cycles then heal with rebuild\n";
}

Timeline play(const std::string& text, std::string_view script) {
  const RuleSet all = rules(text);
  const ScriptReading reading = read_script(script, all);
  for (const ScriptError& error : reading.errors) UNSCOPED_INFO(format(error, "script", script));
  REQUIRE(reading.errors.empty());
  Timeline timeline = simulate(all, reading.script);
  for (const ScriptError& one : timeline.unmet) UNSCOPED_INFO(format(one, "script", script));
  CHECK(timeline.unmet.empty());
  return timeline;
}

/// What becomes of healings, one a line: "00:05:30 n1 rebuild held: storm", "00:05:30 n1 rebuild step guard".
std::string story(const Timeline& timeline) {
  std::string all;
  for (const TimelineEntry& entry : timeline.entries) {
    const bool does = entry.turn.empty() && (entry.kind == "exec" || entry.kind == "request");
    if (entry.turn.empty() && !(does && !entry.step.empty())) continue;
    all += to_string(entry).substr(11, 8);
    for (const std::string& word : {entry.target, entry.workflow})
      if (!word.empty()) all += " " + word;
    all += " " + (does ? "step " + entry.step : entry.turn);
    if (entry.turn == "held") all += ": " + entry.why.substr(0, entry.why.find(':'));
    all += "\n";
  }
  return all;
}

const std::string kRebuild = R"(
workflow redeploy {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "deploy" program "/bin/deploy ${TARGET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
}
workflow rebuild {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "shut down" program "/bin/shutdown ${TARGET}" timeout 2 minutes retry 2 times every 10 seconds repeatable
  step "rebuild" program "/bin/rebuild ${TARGET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
  on failure heal with redeploy
  tries 2
})";

}  // namespace

TEST_CASE("a guard that refuses is asked again; then the healing goes its way", "[engine][simulator][healing]") {
  const Timeline timeline = play(fleet(kRebuild),
                                 "guard rebuild: refuses*2 ok\n"
                                 "step rebuild rebuild heals\n"
                                 "at 5 minutes n1 fails\n"
                                 "expect healing n1 refused 2 times\n"
                                 "expect not healing n1 begun by 25 minutes\n"
                                 "expect healing n1 recovered with rebuild\n"
                                 "expect ping_n1 running\n");
  CHECK(story(timeline) ==
        "00:05:30 n1 rebuild asked\n"
        "00:05:30 n1 rebuild held: storm\n"
        "00:05:30 n1 rebuild step guard\n"
        "00:05:31 n1 rebuild refused\n"
        "00:15:31 n1 rebuild step guard\n"
        "00:15:32 n1 rebuild refused\n"
        "00:25:32 n1 rebuild step guard\n"
        "00:25:33 n1 rebuild begun\n"
        "00:25:33 n1 rebuild step shut down\n"
        "00:25:34 n1 rebuild step rebuild\n"
        "00:25:35 n1 rebuild recovered\n");
}

TEST_CASE("steps are tried again, tries fail, and another workflow takes over", "[engine][simulator][healing]") {
  const Timeline timeline = play(fleet(kRebuild),
                                 "step rebuild \"shut down\": fails*3 ok 7:\"no such host\"\n"
                                 "step redeploy deploy takes 4 minutes\n"
                                 "step redeploy deploy heals\n"
                                 "at 5 minutes n1 fails\n"
                                 "expect healing n1 step \"shut down\" 4 times\n"
                                 "expect healing n1 try-failed \"not recovered within 5 m\"\n"
                                 "expect healing n1 escalated with redeploy 1 time\n"
                                 "expect not healing n1 failed\n");
  CHECK(story(timeline) ==
        "00:05:30 n1 rebuild asked\n"
        "00:05:30 n1 rebuild held: storm\n"
        "00:05:30 n1 rebuild step guard\n"
        "00:05:31 n1 rebuild begun\n"
        "00:05:31 n1 rebuild step shut down\n"
        "00:05:42 n1 rebuild step shut down\n"
        "00:05:53 n1 rebuild step shut down\n"
        "00:05:54 n1 rebuild try-failed\n"
        "00:15:54 n1 rebuild step guard\n"
        "00:15:55 n1 rebuild begun\n"
        "00:15:55 n1 rebuild step shut down\n"
        "00:15:56 n1 rebuild step rebuild\n"
        "00:20:57 n1 rebuild try-failed\n"
        "00:20:57 n1 rebuild escalated\n"
        "00:20:57 n1 redeploy step guard\n"
        "00:20:58 n1 redeploy begun\n"
        "00:20:58 n1 redeploy step deploy\n"
        "00:24:58 n1 redeploy recovered\n");
}

TEST_CASE("a step may hang until its time is over, or its program be missing", "[engine][simulator][healing]") {
  const Timeline timeline = play(app("workflow rebuild {\n"
                                     "  guard program \"/bin/may-go\" timeout 10 seconds\n"
                                     "  step \"rebuild\" program \"/bin/rebuild\" timeout 20 minutes retry 2 times\n"
                                     "  on failure program \"/bin/tell\"\n"
                                     "}\n"),
                                 "step rebuild rebuild: timeout missing signal:9\n"
                                 "at 5 minutes app fails\n"
                                 "expect healing app step rebuild 3 times\n"
                                 "expect healing app try-failed \"killed by signal 9\" 1 time\n"
                                 "expect healing app failed 1 time\n");
  std::string ends;
  for (const TimelineEntry& entry : timeline.entries)
    if (entry.kind == "healing-step" && entry.step == "rebuild" && entry.text.find("after") != std::string::npos)
      ends += entry.text.substr(entry.text.find("\": ") + 3) + "\n";
  CHECK(ends ==
        "timed out after 20 m after 20 m; tried again in 0 ms\n"
        "could not be started: No such file or directory after 0 ms; tried again in 0 ms\n"
        "killed by signal 9 (SIGKILL) after 1 s\n");
}

const std::string kStack = R"rules(
set secrets "/nonexistent"
workflow rebuild {
  guard program "/bin/may-go" timeout 10 seconds
  step "token" http post "https://id.example/tokens" header "X-Key: ${secret:key}" body '{}' expect 201
       save json '.id' as TOKEN secret repeatable
  step "find" program "/bin/find" timeout 10 seconds save "id=([0-9]+)" as ID
  step "update" http patch "https://heat.example/stacks/${ID}" header "X-Auth-Token: ${TOKEN}" body '{}' expect 202
       until get "https://heat.example/stacks/${ID}" json '.status' = "COMPLETE" fail json '.status' = "FAILED"
             every 5 seconds within 10 minutes
  step "verify" recovered within 5 minutes
  tries 2
  cooldown 5 minutes
}
)rules";

TEST_CASE("requests are answered as the script says, and what steps save comes into later ones",
          "[engine][simulator][healing]") {
  const Timeline timeline =
      play(app(kStack),
           "step rebuild token: 201:'{\"id\": \"hidden\"}'\n"
           "step rebuild find: 0:\"id=77 app\"@3s\n"
           "step rebuild update: 202@2s\n"
           "step rebuild update until: pending*2 failed pending 200:'{\"status\": \"COMPLETE\"}'\n"
           "step rebuild update heals\n"
           "at 5 minutes app fails\n"
           "expect healing app try-failed \".status is \\\"FAILED\\\"\" by 6 minutes\n"
           "expect healing app recovered\n");
  CHECK(story(timeline) ==
        "00:05:30 app rebuild asked\n"
        "00:05:30 app rebuild step guard\n"
        "00:05:31 app rebuild begun\n"
        "00:05:31 app rebuild step token\n"
        "00:05:32 app rebuild step find\n"
        "00:05:35 app rebuild step update\n"
        "00:05:50 app rebuild try-failed\n"
        "00:10:50 app rebuild step guard\n"
        "00:10:51 app rebuild begun\n"
        "00:10:51 app rebuild step token\n"
        "00:10:52 app rebuild step find\n"
        "00:10:55 app rebuild step update\n"
        "00:11:04 app rebuild recovered\n");
  bool saved = false;
  for (const TimelineEntry& entry : timeline.entries) {
    CHECK(entry.text.find("hidden") == std::string::npos);
    saved = saved || entry.text == "PATCH https://heat.example/stacks/77";
  }
  CHECK(saved);
}

TEST_CASE("what no script says of a request is as its step wants it; nobody answers, or too late, is told so",
          "[engine][simulator][healing]") {
  play(app(kStack),
       "step rebuild update heals\n"
       "at 5 minutes app fails\n"
       "expect healing app recovered by 6 minutes\n");
  play(app(kStack),
       "step rebuild token: unreachable lost ok\n"
       "step rebuild update: timeout\n"
       "at 5 minutes app fails\n"
       "expect healing app try-failed \"could not connect\"\n"
       "expect healing app step token 3 times\n"  // what was lost is asked for again, as it may be repeated
       "expect healing app failed \"no answer within 30 s; nobody knows whether it was done\"\n");
  play(app(kStack),
       "step rebuild token: 201:'{\"id\": null}' 503\n"
       "at 5 minutes app fails\n"
       "expect healing app try-failed \"answered 201, but has nothing to save as TOKEN\"\n"
       "expect healing app failed \"answered 503, expected 201\"\n");
  play(app(kStack),
       "step rebuild find: 0:\"nothing\"\n"
       "at 5 minutes app fails\n"
       "expect healing app failed \"its output has nothing to save as ID\"\n");
}

const std::string kBrakes = R"(
workflow rebuild {
  guard program "/bin/may-go" timeout 10 seconds
  step "rebuild" program "/bin/rebuild" timeout 20 minutes
  step "verify" recovered within 5 minutes
  BRAKES
})";

std::string with_brakes(const std::string& brakes) {
  std::string text = fleet(kBrakes);
  return text.replace(text.find("BRAKES"), 6, brakes);
}

TEST_CASE("one after the other is healed, and by a ramp two, when the first has recovered",
          "[engine][simulator][healing]") {
  play(with_brakes("limit 1 at once"),
       "step rebuild rebuild takes 3 minutes\n"
       "step rebuild rebuild heals\n"
       "at 5 minutes n1 fails\n"
       "at 5 minutes n2 fails\n"
       "expect healing n2 held \"limit: 1 at once under way\"\n"
       "expect healing n1 recovered by 00:08:32\n"
       "expect not healing n2 begun by 00:08:32\n"
       "expect healing n2 recovered\n");
  const Timeline timeline = play(with_brakes("ramp 1, 2"),
                                 "step rebuild rebuild takes 3 minutes\n"
                                 "step rebuild rebuild heals\n"
                                 "at 5 minutes n1 fails\n"
                                 "at 6 minutes n2 fails\n"
                                 "at 7 minutes n3 fails\n");
  CHECK(
      story(timeline).ends_with("00:08:31 n1 rebuild recovered\n"
                                "00:08:31 n2 rebuild step guard\n"
                                "00:08:31 n3 rebuild step guard\n"
                                "00:08:32 n2 rebuild begun\n"
                                "00:08:32 n2 rebuild step rebuild\n"
                                "00:08:32 n3 rebuild begun\n"
                                "00:08:32 n3 rebuild step rebuild\n"
                                "00:11:32 n2 rebuild recovered\n"
                                "00:11:32 n3 rebuild recovered\n"));
}

TEST_CASE("a storm stops everything until it is over", "[engine][simulator][healing]") {
  play(with_brakes("pause while more than 40% of group nodes failed until less than 20%"),
       "step rebuild rebuild heals\n"
       "at 5 minutes n1 fails\n"
       "at 5 minutes n2 fails\n"
       "at 5 minutes n3 fails\n"
       "at 5 minutes n4 fails\n"
       "at 20 minutes n1 recovers\n"
       "at 20 minutes n2 recovers\n"
       "at 25 minutes n3 recovers\n"
       "run for 1 hour\n"
       "expect workflow rebuild paused 1 time\n"
       "expect healing n4 held \"pause while: 4 of 6 in group nodes are not well\"\n"
       "expect not workflow rebuild resumed by 24 minutes\n"
       "expect workflow rebuild resumed by 26 minutes\n"
       "expect not healing n4 begun by 25 minutes\n"
       "expect healing n1 dropped\n"
       "expect healing n4 recovered\n");
}

TEST_CASE("a breaker opens when too many fail, and a person closes it", "[engine][simulator][healing]") {
  play(with_brakes("breaker 2 failed within 1 hour"),
       "step rebuild rebuild: fails\n"
       "step rebuild rebuild of n3: ok\n"
       "step rebuild rebuild of n3 heals\n"
       "at 5 minutes n1 fails\n"
       "at 15 minutes n2 fails\n"
       "at 30 minutes n3 fails\n"
       "at 35 minutes n1 recovers\n"
       "at 35 minutes n2 recovers\n"
       "at 40 minutes healing reset rebuild\n"
       "expect workflow rebuild stopped by 17 minutes\n"
       "expect healing n3 held \"breaker\"\n"
       "expect not healing n3 begun by 40 minutes\n"
       "expect workflow rebuild reset\n"
       "expect healing n3 recovered\n");
}

TEST_CASE("no more healings begin than a limit says, within a time", "[engine][simulator][healing]") {
  play(with_brakes("limit 2 at once limit 2 within 1 hour"),
       "step rebuild rebuild heals\n"
       "at 5 minutes n1 fails\n"
       "at 15 minutes n2 fails\n"
       "at 25 minutes n3 fails\n"
       "expect healing n3 held \"limit: 2 begun within 1 h\"\n"
       "expect not healing n3 begun by 65 minutes\n"
       "expect healing n3 recovered\n");
}

TEST_CASE("what fails again in its probation is answered by on failure", "[engine][simulator][healing]") {
  const Timeline timeline = play(app(kRebuild).replace(app(kRebuild).find("tries 2"), 7, "probation 30 minutes"),
                                 "step rebuild rebuild heals for 15 minutes\n"
                                 "step redeploy deploy heals\n"
                                 "at 5 minutes app fails\n"
                                 "run for 1 hour\n"
                                 "expect healing app recovered with rebuild\n"
                                 "expect healing app escalated with redeploy\n"
                                 "expect healing app step rebuild 1 time\n"
                                 "expect healing app recovered with redeploy\n"
                                 "expect app running\n");
  CHECK(story(timeline).find("00:05:33 app rebuild recovered\n") != std::string::npos);
}

TEST_CASE("people approve, reject, cancel, pause and ask for healings", "[engine][simulator][healing]") {
  std::string text = app(kBrakes);
  text.replace(text.find("BRAKES"), 6, "mode approval on cancel program \"/bin/undo\"");
  SECTION("approved; what runs is not paused; rejected") {
    const Timeline timeline = play(text,
                                   "step rebuild rebuild heals for 25 minutes\n"
                                   "step rebuild rebuild takes 15 minutes\n"
                                   "at 5 minutes app fails\n"
                                   "at 10 minutes approve app\n"
                                   "at 12 minutes pause all for 40 minutes\n"
                                   "at 90 minutes reject app\n"
                                   "at 91 minutes approve app\n"
                                   "expect healing app held \"pause: app was paused\"\n"
                                   "expect healing app recovered 1 time\n"
                                   "expect app failed\n");
    CHECK(story(timeline) ==
          "00:05:30 app rebuild asked\n"
          "00:05:30 app rebuild proposed\n"
          "00:10:00 app rebuild approved\n"
          "00:10:00 app rebuild step guard\n"
          "00:10:01 app rebuild begun\n"
          "00:10:01 app rebuild step rebuild\n"
          "00:25:01 app rebuild recovered\n"
          "00:51:00 app rebuild asked\n"
          "00:51:00 app rebuild held: pause\n"
          "00:52:00 app rebuild proposed\n"
          "01:30:00 app rebuild rejected\n");
    CHECK(std::ranges::any_of(timeline.entries, [](const TimelineEntry& entry) {
      return entry.kind == "reply" && entry.text == "no healing of app waits for approval";
    }));
  }
  SECTION("cancelled; asked for, with a brake set aside") {
    play(text,
         "step rebuild rebuild takes 15 minutes\n"
         "at 5 minutes app fails\n"
         "at 10 minutes approve app\n"
         "at 12 minutes cancel app\n"
         "at 13 minutes ack app\n"
         "at 14 minutes app recovers\n"
         "at 15 minutes heal app with rebuild override cooldown\n"
         "at 16 minutes approve app\n"
         "expect healing app step undo by 12 minutes\n"
         "expect healing app cancelled\n"
         "expect healing app asked 2 times\n"
         "expect not healing app held \"cooldown\"\n"
         "expect healing app recovered 1 time\n");
  }
}

TEST_CASE("a dry run asks the guard, and does nothing", "[engine][simulator][healing]") {
  std::string text = app(kBrakes);
  text.replace(text.find("BRAKES"), 6, "mode dry run");
  play(text,
       "at 5 minutes app fails\n"
       "expect healing app step guard 1 time\n"
       "expect healing app would-run\n"
       "expect not healing app step rebuild\n"
       "expect not healing app begun\n");
}

TEST_CASE("a step that starts a service heals where it says so", "[engine][simulator][healing]") {
  play(
      "workflow rebuild { guard program \"/bin/may-go\"\n"
      "  step \"calm\" wait 30 seconds  step \"web\" restart web  step \"verify\" recovered within 1 minute }\n"
      "check process web with pidfile /run/web.pid start program \"/bin/web\" stop program \"/bin/unweb\"\n"
      "check program app with path \"/bin/ping\" if status != 0 for 2 cycles then heal with rebuild\n",
      "app: 0 1\n"
      "exec /bin/web takes 5 seconds\n"
      "step rebuild web heals\n"
      "run for 20 minutes\n"
      "expect healing app recovered by 3 minutes\n"
      "expect app running\n");
}

TEST_CASE("a healing outlives a crash of healer", "[engine][simulator][healing]") {
  play(fleet(kRebuild),
       "step rebuild rebuild takes 10 minutes\n"
       "step rebuild rebuild heals\n"
       "at 5 minutes n1 fails\n"
       "at 8 minutes crash for 1 minute\n"
       "expect healing n1 step rebuild 1 time\n"
       "expect healing n1 recovered by 20 minutes\n");
}

TEST_CASE("what a script expects of healings and is not so is told", "[engine][simulator][healing]") {
  const std::string script =
      "at 5 minutes app fails\n"
      "expect healing app begun 2 times\n"
      "expect not healing app held \"storm\"\n"
      "expect healing app step guard by 5 minutes\n"
      "expect workflow rebuild paused\n";
  std::string text = app(kBrakes);
  text.replace(text.find("BRAKES"), 6, "");
  const RuleSet all = rules(text);
  const ScriptReading reading = read_script(script, all);
  REQUIRE(reading.errors.empty());
  std::string unmet;
  for (const ScriptError& one : simulate(all, reading.script).unmet)
    unmet += fmt::format("{}:{} {}\n", one.line, one.column, one.message);
  CHECK(unmet ==
        "2:1 expected the healing of app to be begun 2 times: it did so at 00:05:31\n"
        "4:1 expected the healing of app to come to step \"guard\" by 00:05:00: it did so at 00:05:30\n"
        "5:1 expected workflow rebuild to be paused: it never did so\n");
}

namespace {

std::string complaint(std::string_view script) {
  std::string said;
  const RuleSet all =
      rules(fleet(kRebuild) + app(kStack).replace(app(kStack).find("workflow rebuild"), 16, "workflow stack"));
  for (const ScriptError& error : read_script(script, all).errors)
    said += fmt::format("{}:{}: {} | {}\n", error.line, error.column, error.message, error.remedy);
  return said;
}

}  // namespace

TEST_CASE("what is wrong in a script of healings is said with its place and the nearest word",
          "[engine][script][healing]") {
  CHECK(complaint("guard rebild: ok") == "1:7: 'rebild' is no workflow | did you mean 'rebuild'?\n");
  CHECK(complaint("step rebuild shut: ok") ==
        "1:14: 'shut' is no step of workflow 'rebuild' | write shut down, rebuild, verify or heal with redeploy\n");
  CHECK(complaint("step rebuild rebuidl: ok") ==
        "1:14: 'rebuidl' is no step of workflow 'rebuild' | did you mean 'rebuild'?\n");
  CHECK(complaint("step rebuild rebuild: refuse") == "1:23: 'refuse' is not how it ends | did you mean 'refuses'?\n");
  CHECK(complaint("step rebuild rebuild: nonsense") ==
        "1:23: 'nonsense' is not how it ends | write ok, fails, timeout, missing, signal:N or an exit value\n");
  CHECK(complaint("step stack token: 99") == "1:19: the status of an answer must be between 100 and 599 | \n");
  CHECK(complaint("step stack token until: done") ==
        "1:18: step 'token' does not ask whether it is done | only a request with until does\n");
  CHECK(
      complaint("step rebuild verify: ok") ==
      "1:1: step 'verify' neither runs a program nor makes a request | whether its target recovers is for the lines of "
      "its services, or for a step that heals\n");
  CHECK(complaint("step rebuild verify heals") ==
        "1:21: step 'verify' heals nothing | a program, a request, or the start of a service does\n");
  CHECK(complaint("step rebuild rebuild of n9: ok") == "1:25: 'n9' is no target of a healing | did you mean 'n1'?\n");
  CHECK(complaint("step rebuild rebuild:") ==
        "1:22: how it ends is missing | write step WORKFLOW STEP: ok fails, or takes 2 minutes, or heals\n");
  CHECK(complaint("step rebuild rebuild") ==
        "1:21: a colon is missing | write step WORKFLOW STEP: ok fails, or takes 2 minutes, or heals\n");
  CHECK(complaint("step rebuild rebuild: ok ...\nstep rebuild rebuild: fails") ==
        "2:1: the line before of this step goes on for ever | take its '...' away\n");
  CHECK(complaint("step stack token: 201:'{\"id\": 7}") ==
        "1:23: the text that begins here has no end | put a ' where it ends\n");
  CHECK(complaint("exec /bin/rebuild exits 1") ==
        "1:6: no action or service of the rules runs '/bin/rebuild' | of a program of a workflow write step WORKFLOW "
        "STEP: ok fails\n");
  CHECK(complaint("at 5 minutes n1 fials") ==
        "1:17: 'fials' is nothing that happens to 'n1' | did you mean 'fails'?\n");
  CHECK(complaint("at 5 minutes n1 explodes") ==
        "1:17: 'explodes' is nothing that happens to 'n1' | write fails, recovers, dies or comes up\n");
  CHECK(complaint("at 5 minutes aprove n1") == "1:14: 'aprove' is no command | did you mean 'approve'?\n");
  CHECK(complaint("at 5 minutes heal n1 with rebiuld") == "1:27: 'rebiuld' is no workflow | did you mean 'rebuild'?\n");
  CHECK(complaint("at 5 minutes heal n1 override guard") ==
        "1:31: 'guard' cannot be set aside | write limit, cooldown or pause\n");
  CHECK(complaint("at 5 minutes pause group node") == "1:26: 'node' is no group | did you mean 'nodes'?\n");
  CHECK(complaint("expect healing n1 begin") == "1:19: 'begin' is no turn of a healing | did you mean 'begun'?\n");
  CHECK(complaint("expect healing n1 step deplo") == "1:24: no workflow has a step 'deplo' | did you mean 'deploy'?\n");
  CHECK(complaint("expect workflow rebuild pause") ==
        "1:25: 'pause' is no turn of a workflow | did you mean 'paused'?\n");
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
  int played = 0;
  for (int i = 0; i < healer::test::rounds(3000); ++i) {
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
  CHECK(played > 100);
}

}  // namespace simulated_healing_test
