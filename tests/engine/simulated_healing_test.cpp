// SPDX-License-Identifier: MIT
// Workflows in simulations: rules and a script in, what becomes of healings out.
#include <algorithm>

#include <catch2/catch.hpp>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule_set.hpp"
#include "simulation/simulator.hpp"
#include "support/workflow_rules.hpp"

namespace simulated_healing_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

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

TEST_CASE("a note is in the timeline, and no script says how it ends", "[engine][simulator][healing]") {
  const std::string text = app(R"(workflow rebuild {
  guard program "/bin/may-go ${TARGET}"
  step "say" note "${TARGET} is ill"
  step "fix" program "/bin/fix ${TARGET}"
  step "verify" recovered within 5 minutes
})");
  const Timeline timeline = play(text,
                                 "step rebuild fix heals\n"
                                 "at 1 minute app fails\n"
                                 "expect healing app recovered\n");
  const auto note = std::ranges::find(timeline.entries, "say", &TimelineEntry::step);
  REQUIRE(note != timeline.entries.end());
  CHECK(note->text == "healing of app with rebuild, step \"say\": noted: app is ill");
  const ScriptReading wrong = read_script("step rebuild say: fails", rules(text));
  REQUIRE(wrong.errors.size() == 1);
  CHECK(wrong.errors.front().remedy == "it always ends well");
}

TEST_CASE("a filesystem is healed to the end of its rehearsal", "[engine][simulator][healing]") {
  const Timeline timeline = play(R"(
workflow clean {
  step "remove" program "/bin/remove"
  step "verify" recovered within 2 minutes
}
check filesystem var with path /var
  if changed fsflags then alert
  if failed permission 0755 then alert
  if space usage > 90% for 2 cycles then heal with clean
  if inode usage > 90% then heal with clean
)",
                                 "var space usage: 80% 93%\n"
                                 "step clean remove heals\n"
                                 "expect healing var recovered by 3 minutes\n"
                                 "run for 10 minutes\n");
  CHECK(story(timeline) ==
        "00:01:00 var clean asked\n"
        "00:01:00 var clean begun\n"
        "00:01:00 var clean step remove\n"
        "00:01:01 var clean recovered\n");
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

TEST_CASE("each program and request of a healing is told once when it begins, and once when it ends",
          "[engine][simulator][healing]") {
  const Timeline timeline = play(app(R"(workflow rebuild {
  guard program "/bin/may-go ${TARGET}" timeout 10 seconds
  step "stop" program "/bin/stop ${TARGET}" timeout 1 minute retry 1 time every 10 seconds repeatable
  step "mark" http post "https://heat.example/mark" body '{}' expect 201
  step "verify" recovered within 5 minutes
  cooldown 5 minutes
})"),
                                 "guard rebuild: refuses ok\n"
                                 "step rebuild stop: fails ok\n"
                                 "step rebuild mark heals\n"
                                 "at 1 minute app fails\n");
  std::string lines;
  for (const TimelineEntry& entry : timeline.entries)
    if (entry.target == "app" || entry.kind.starts_with("action-"))
      lines += fmt::format("{} {}\n", entry.kind, entry.text);
  const std::string healing = "healing of app with rebuild";
  CHECK(lines.find("healing-asked " + healing) == 0);
  CHECK(lines.substr(lines.find("exec ")) ==
        "exec /bin/may-go app\n"
        "healing-held " +
            healing +
            " refused by its guard: exited with status 1\n"
            "exec /bin/may-go app\n"
            "action-ended program /bin/may-go exited with status 0 after 1 s\n"
            "healing-begun " +
            healing +
            " begins\n"
            "exec /bin/stop app\n"
            "healing-step " +
            healing +
            ", step \"stop\": exited with status 1 after 1 s; tried again in 10 s\n"
            "exec /bin/stop app\n"
            "healing-step " +
            healing +
            ", step \"stop\": exited with status 0 after 1 s\n"
            "request POST https://heat.example/mark\n"
            "healing-step " +
            healing +
            ", step \"mark\": POST https://heat.example/mark answered 201 in 1 s\n"
            "healing-step " +
            healing +
            ", step \"verify\": recovered after 0 ms\n"
            "healing-ended " +
            healing + " recovered\n");
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
        "timed out after 20 m; tried again in 0 ms\n"
        "could not be started: No such file or directory after 0 ms; tried again in 0 ms\n"
        "killed by signal 9 (SIGKILL) after 1 s\n");
}

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
       "expect healing app failed \"no answer within 30 s; whether it was done is unknown\"\n");
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
       "expect healing n2 held \"limit reached: 1 of 1 running\"\n"
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
       "expect healing n4 held \"pause while: 4 of 6 in group nodes are not well; goes on at less than 20 %\"\n"
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
       "expect healing n3 held \"limit reached: 2 of 2 started within 1 h\"\n"
       "expect not healing n3 begun by 65 minutes\n"
       "expect healing n3 recovered\n");
}

TEST_CASE("A failure during probation runs `on failure`", "[engine][simulator][healing]") {
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
  SECTION("cancelled; asked for, with a brake overridden") {
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

TEST_CASE("Unmonitoring or stopping a target abandons its healing", "[engine][simulator][healing]") {
  for (const std::string act : {"unmonitor", "stop"}) {
    INFO(act);
    const Timeline timeline = play(app(kRebuild),
                                   "step rebuild rebuild takes 15 minutes\n"
                                   "at 5 minutes app fails\n"
                                   "at 10 minutes " +
                                       act +
                                       " app\n"
                                       "run for 2 hours\n"
                                       "expect healing app abandoned 1 time\n"
                                       "expect healing app abandoned \"by the script; done: \"\n"
                                       "expect not healing app escalated\n"
                                       "expect not healing app step deploy\n");
    CHECK(std::ranges::any_of(timeline.entries, [](const TimelineEntry& entry) {
      return entry.kind == "reply" &&
             entry.text.ends_with("is abandoned: step \"rebuild\" goes on to its end, and nothing follows");
    }));
  }
}

TEST_CASE("a script names a target or a service, as people do", "[engine][simulator][healing]") {
  // The service of the target's own name does not say with what it is healed; another of the target's does.
  const std::string text = kRebuild + R"(
for each NODE in "n1" "n2" {
  check program ${NODE} with path "/bin/uptime ${NODE}"
    if status != 0 then alert
  check program ping_${NODE} with path "/bin/ping ${NODE}"
    if status != 0 for 2 cycles then heal with rebuild
})";
  for (const std::string name : {"n1", "ping_n1"}) {
    INFO(name);
    play(text,
         "step rebuild rebuild takes 10 minutes\n"
         "at 5 minutes heal " +
             name +
             "\n"
             "at 8 minutes cancel " +
             name +
             "\n"
             "expect healing n1 asked 1 time\n"
             "expect healing n1 begun\n"
             "expect healing n1 cancelled\n");
  }
}

TEST_CASE("a dry run runs the guard, and does nothing", "[engine][simulator][healing]") {
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

TEST_CASE("services made of others, maintenance and what speaks for the machine hold back",
          "[engine][simulator][healing]") {
  std::string text = kBrakes + R"(
set maintenance "0 1 * * *" for 1 hour group nodes
set healing only while gateway
check program gateway with path "/bin/gateway" if status != 0 then alert
check program ping_5 with path "/bin/ping" if status != 0 for 2 cycles then alert
check host http_5 with address "192.0.2.5" if failed port 80 for 2 cycles then alert
check host port_5 with address "192.0.2.5" if failed port 81 for 2 cycles then alert
check composite box5 with members ping_5, http_5, port_5
  group nodes
  if 2 members failed for 2 cycles then heal with rebuild
)";
  text.replace(text.find("BRAKES"), 6, "");
  play(text,
       "gateway: 0*11 1*4 0\n"
       "step rebuild rebuild heals\n"
       "at 5 minutes ping_5 fails\n"
       "at 5 minutes http_5 fails\n"
       "at 70 minutes ping_5 fails\n"
       "at 70 minutes port_5 fails\n"
       "expect healing box5 held \"gateway, which must be healthy, is failed\"\n"
       "expect healing box5 recovered by 10 minutes\n"
       "expect healing box5 held \"maintenance of box5\" by 75 minutes\n"
       "expect not healing box5 begun by 5 minutes\n"
       "expect healing box5 recovered 2 times\n"
       "expect port_5 running\n");
}

TEST_CASE("A failure caused only by an unreachable name server is not healed", "[engine][simulator][healing]") {
  const auto text = [](std::string_view checks) {
    return kRebuild + R"(
check program other with path "/bin/other" if status != 0 for 2 cycles then alert
check host web with address "web.example" if failed port 22 for 2 cycles then )" +
           std::string(checks);
  };
  const std::string heals = text("heal with rebuild");
  // It alerts; it heals when name servers answer again, and the host does not.
  play(heals,
       "step rebuild rebuild heals\n"
       "web connection: up*3 unresolved*6 down*9 up\n"
       "run for 20 minutes\n"
       "expect fired web at run 5\n"
       "expect healing web held \"name servers do not answer\" by 3 minutes\n"
       "expect not healing web begun by 4 minutes\n"
       "expect healing web recovered by 10 minutes\n");
  // What has failed before is held, too: the last run counts.
  play(heals,
       "step rebuild rebuild heals\n"
       "web connection: up down unresolved*9 up\n"
       "expect healing web held \"name servers do not answer\"\n"
       "expect healing web dropped\n"
       "expect not healing web begun\n"
       "run for 20 minutes\n");
  // A restart goes as ever.
  play(text("exec \"/bin/restart\""),
       "web connection: up unresolved*9 up\n"
       "expect fired web exec at run 3\n"
       "run for 20 minutes\n");
  const std::string composite = text("alert") + R"(
check host web2 with address "web2.example" if failed port 22 for 2 cycles then alert
check composite box with members other, web, web2 if 2 members failed for 2 cycles then heal with rebuild
)";
  play(composite,
       "step rebuild rebuild heals\n"
       "other: 1*30 0\n"
       "web connection: unresolved*30 up\n"
       "expect healing box held \"name servers do not answer\"\n"
       "expect healing box dropped\n"
       "expect not healing box begun\n"
       "run for 30 minutes\n");
  // It stands without that member, too.
  play(composite,
       "step rebuild rebuild heals\n"
       "other: 1*30 0\n"
       "web connection: unresolved*30 up\n"
       "web2 connection: down*30 up\n"
       "expect not healing box held \"name servers do not answer\"\n"
       "expect healing box recovered by 10 minutes\n"
       "run for 30 minutes\n");
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
        "2:1 expected the healing of app to be begun 2 times: it happened at 00:05:31\n"
        "4:1 expected the healing of app to come to step \"guard\" by 00:05:00: it happened at 00:05:30\n"
        "5:1 expected workflow rebuild to be paused: it never happened\n");
}

TEST_CASE("of steps side by side the one that failed is to blame, not those that were ended for it",
          "[engine][simulator][healing]") {
  const Timeline timeline = play(app(R"(
workflow rebuild {
  guard program "/bin/may-go"
  parallel {
    step "slow" program "/bin/slow"
    step "bad" program "/bin/bad"
  }
})"),
                                 "step rebuild slow takes 1 minute\n"
                                 "step rebuild bad: 3\n"
                                 "at 5 minutes app fails\n"
                                 "expect healing app failed by 10 minutes\n");
  const auto failed = std::ranges::find(timeline.entries, "failed", &TimelineEntry::turn);
  REQUIRE(failed != timeline.entries.end());
  CHECK_THAT(failed->why, Catch::StartsWith("step \"bad\" exited with status 3"));
}

}  // namespace simulated_healing_test
