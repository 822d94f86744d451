// SPDX-License-Identifier: MIT
#include "engine/words/explain.hpp"

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"
#include "support/job_view.hpp"
#include "support/process_world.hpp"

namespace explain_test {

using namespace healer;
using namespace healer::test;

namespace {

/// "CONDITION" of the service, its notes, then each rule: "CONDITION | now | if it holds | if not | held back".
std::string account(const World& world, std::string_view name = "web") {
  const Explanation explained = explain(*world.engine, world.id(name), world.now);
  std::string text = "\n" + std::string(to_string(explained.condition)) + "\n";
  for (const std::string& note : explained.notes) text += note + "\n";
  for (const RuleAccount& rule : explained.rules)
    text += std::string(to_string(rule.condition)) + " | " + rule.now + " | " + rule.if_failed + " | " + rule.if_clear +
            " | " + rule.held_back + "\n";
  return text;
}

World started(std::vector<Rule> rules, const std::function<void(Settings&)>& set = {}) {
  RuleSet all = rule_set({service("web", std::move(rules))});
  if (set) set(all.settings);
  World world(std::move(all));
  world.start();
  world.advance(Duration{0});
  return world;
}

/// The run under way ends with `status`; the next one begins a cycle later.
void run(World& world, std::int64_t status, std::uint64_t matches = 0) {
  world.observe(world.id("web"), status, Outcome::Exited, {}, matches);
  world.advance(seconds{1});
}

Rule alerts(Rule rule) {
  rule->action = {.kind = ActionKind::Alert};
  return rule;
}

}  // namespace

TEST_CASE("a rule is explained from its first run to its recovery", "[engine]") {
  World world = started({status_rule(Comparison::NotEqual, 0, {.count = 2, .window = 3}, 3)});
  CHECK(account(world) == R"(
initialising
A run is under way for 0 ms.
The next run is in 1 s.
running | has not been judged yet | does nothing yet: 1 of the last 3 runs failed, 2 of 3 are needed | does nothing | 
)");
  run(world, 1);
  CHECK(account(world) == R"(
failing
A run is under way for 0 ms.
The next run is in 1 s.
failing | the last run failed; 1 of the last 3 runs failed, 2 of 3 are needed | fires: exec /bin/heal | does nothing | 
)");
  run(world, 0);
  CHECK(account(world).find("running | the last run passed; 1 of the last 3 runs failed, 2 of 3 are needed | fires: "
                            "exec /bin/heal | does nothing | \n") != std::string::npos);
  run(world, 1);
  CHECK(account(world).find(
            "failed | stands failed for 1 s, 1 run since it fired | stays failed; acts again 1 run later "
            "| recovers: alert | its program is still running; it will be run once more when that has ended\n") !=
        std::string::npos);
  world.handle(event::ActionEnded{.action = world.execs.back().action});
  run(world, 1);
  CHECK(account(world).find("failed | stands failed for 2 s, 2 runs since it fired | stays failed and acts again: exec "
                            "/bin/heal | recovers: alert | \n") != std::string::npos);
  run(world, 0);
  CHECK(account(world).starts_with("\nrunning\n"));
}

TEST_CASE("a rule that stands failed and restarts says when it does so again", "[engine]") {
  Rule rule = status_rule(Comparison::NotEqual, 0, {.count = 2, .window = 2});
  rule->action = {.kind = ActionKind::Restart};
  auto dependent = service("app", {});
  dependent->depends = {"web"};
  World world(rule_set({service("web", {rule}), dependent}));
  world.start();
  world.advance(Duration{0});
  run(world, 1);
  run(world, 1);
  CHECK(account(world).find("| stays failed; nothing is done until its tolerance is met again |") != std::string::npos);
  run(world, 1);
  CHECK(account(world).find("| stays failed and is tried again: restart |") != std::string::npos);
}

TEST_CASE("a rule whose action is held back is not said to be tried again", "[engine]") {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Restart};
  auto block = service("web", {rule});
  block->activity = ServiceBlock::Activity::Passive;
  World world(rule_set({block}));
  world.start();
  world.advance(Duration{0});
  run(world, 1);
  CHECK(account(world).find("| stays failed; restart is held back | recovers: alert | passive mode: ") !=
        std::string::npos);
  run(world, 1);
  CHECK(world.engine->jobs().empty());
}

TEST_CASE("a rule about restarts counts restarts", "[engine]") {
  Rule rule = alerts(status_rule(Comparison::NotEqual, 0, {.count = 5, .window = 10}));
  rule->condition = RuleCondition{{Restarts{}}};
  RuleState state;
  state.window.push(true, 10);
  state.window.push(false, 10);
  state.window.push(true, 10);
  CHECK(count_text(rule, state, {}) == "restarts in 2 of the last 10 runs, 5 are needed");
}

TEST_CASE("what explain foretells happens", "[engine]") {
  // Random outcomes against random rules: each time both futures are foretold, one is lived through.
  std::uint32_t random = 7;
  const auto pick = [&random](std::uint32_t below) {
    random = random * 1664525U + 1013904223U;
    return (random >> 16) % below;
  };
  std::size_t fired = 0, recovered = 0, repeated = 0;
  for (int round = 0; round < 60; ++round) {
    const auto window = static_cast<std::uint8_t>(1 + pick(4));
    Rule rule =
        status_rule(Comparison::NotEqual, 0, {.count = static_cast<std::uint8_t>(1 + pick(window)), .window = window},
                    static_cast<std::uint16_t>(pick(4)));
    rule->action.overlapping = true;
    rule->recovery->tolerance = {.count = static_cast<std::uint8_t>(1 + pick(2)), .window = 2};
    World world = started({rule});
    for (int i = 0; i < 40; ++i) {
      const Explanation explained = explain(*world.engine, world.id("web"), world.now);
      const bool bad = pick(3) != 0;
      const std::string& predicted = bad ? explained.rules[0].if_failed : explained.rules[0].if_clear;
      const std::size_t failures = world.count(RecordKind::RuleFailed);
      const std::size_t recoveries = world.count(RecordKind::RuleRecovered);
      const std::size_t repeats = world.count(RecordKind::RuleRepeated);
      run(world, bad ? 1 : 0);
      INFO(predicted);
      CHECK(world.count(RecordKind::RuleFailed) - failures == (predicted.starts_with("fires: ") ? 1U : 0U));
      CHECK(world.count(RecordKind::RuleRecovered) - recoveries == (predicted.starts_with("recovers: ") ? 1U : 0U));
      CHECK(world.count(RecordKind::RuleRepeated) - repeats ==
            (predicted.find("and acts again: ") != std::string::npos ? 1U : 0U));
    }
    fired += world.count(RecordKind::RuleFailed);
    recovered += world.count(RecordKind::RuleRecovered);
    repeated += world.count(RecordKind::RuleRepeated);
  }
  CHECK(fired > 20);
  CHECK(recovered > 20);
  CHECK(repeated > 20);
}

TEST_CASE("a rule with a duration tells how long it has held", "[engine]") {
  Rule rule = status_rule(Comparison::NotEqual, 0, {.held = seconds{3}});
  rule->recovery->tolerance = {.held = seconds{2}};
  World world = started({rule});
  run(world, 1);
  run(world, 1);
  CHECK(account(world).find("failing | the last run failed; it has failed for 2 s, 3 s are needed") !=
        std::string::npos);
  CHECK(account(world).find("| does nothing yet: it has failed for 2 s, 3 s are needed |") != std::string::npos);
  run(world, 1);
  CHECK(account(world).find("| fires: exec /bin/heal |") != std::string::npos);
  run(world, 1);
  run(world, 0);
  CHECK(account(world).find("to recover: it has passed for 1 s of 2 s") != std::string::npos);
}

TEST_CASE("a rule that acts on each match is explained so", "[engine]") {
  Rule rule = alerts(status_rule(Comparison::Equal, 0));
  rule->condition = RuleCondition{{Matches{0, false}}};
  rule->mode = Mode::EachMatch;
  World world = started({rule});
  run(world, 0, 1);
  CHECK(account(world).find("failing | the last run matched | acts: alert | does nothing | \n") != std::string::npos);
  run(world, 0, 0);
  CHECK(account(world).find("running | the last run did not match | acts: alert | does nothing | \n") !=
        std::string::npos);
}

TEST_CASE("a rule that acts on changes never makes its service fail", "[engine]") {
  Rule rule = alerts(status_rule(Comparison::Equal, 0));
  rule->condition = RuleCondition{{Changed{Attribute::Status}}};
  rule->mode = Mode::EachChange;
  World world = started({rule});
  run(world, 0);
  run(world, 1);
  CHECK(account(world).find("running | the last run saw a change | acts: alert | does nothing | \n") !=
        std::string::npos);
  CHECK(account(world).starts_with("\nrunning\n"));
}

TEST_CASE("what holds an action back is said, with the remedy", "[engine]") {
  Rule dormant = status_rule(Comparison::NotEqual, 0);
  dormant->dormant = true;
  World world = started({dormant});
  CHECK(account(world).find(
            "| dormant: Monit would ignore this rule, so it does not act before `healerctl accept web`\n") !=
        std::string::npos);
  World shadow = started({status_rule(Comparison::NotEqual, 0)}, [](Settings& settings) { settings.shadow = true; });
  CHECK(account(shadow).find("| shadow: everything is checked, no action is taken\n") != std::string::npos);
  World dry = started({status_rule(Comparison::NotEqual, 0)}, [](Settings& settings) { settings.dry_run = true; });
  CHECK(account(dry).find("| dry run: alerts are sent, nothing else is done\n") != std::string::npos);
  World only_alerts =
      started({alerts(status_rule(Comparison::NotEqual, 0))}, [](Settings& settings) { settings.dry_run = true; });
  CHECK(account(only_alerts).find("dry run") == std::string::npos);
}

TEST_CASE("an unmonitored service has no next run", "[engine]") {
  World world = started({status_rule(Comparison::NotEqual, 0)});
  run(world, 1);
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Unmonitor,
                              .services = {world.id("web")},
                              .by = ByPerson{"root"}});
  const std::string text = account(world);
  CHECK(text.starts_with("\nunmonitored\nIt was unmonitored by root "));
  CHECK(text.find(" ago, so it is not checked; `healerctl monitor web` resumes that.\n") != std::string::npos);
  CHECK(text.find("stands failed") != std::string::npos);
  CHECK(text.find("stays failed") == std::string::npos);
}

TEST_CASE("a run that overruns, and one that was asked for, are told", "[engine]") {
  World world = started({status_rule(Comparison::NotEqual, 0)});
  world.advance(seconds{3});
  CHECK(account(world).find("A run is under way for 3 s; 3 runs were skipped meanwhile.\n") != std::string::npos);
  world.observe(world.id("web"), 0);
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Validate,
                              .services = {world.id("web")},
                              .by = ByPerson{"root"}});
  CHECK(account(world).find("A run is under way for 0 ms; it was requested and is not counted.\n") !=
        std::string::npos);
}

TEST_CASE("what is under way, held back or paused is told first, also of what is not monitored", "[engine]") {
  auto db = service("db", {});
  db->kind = kind_named("process");
  World world(rule_set({service("web", {status_rule(Comparison::NotEqual, 0)}), db}));
  world.start();
  const auto first_note = [&](const Job& job) {
    // As the engine holds it while the job runs.
    const_cast<std::map<std::uint64_t, Job>&>(world.engine->jobs()).insert_or_assign(job.id.number(), job);
    const_cast<ServiceState&>(world.engine->service(world.id("db"))).job = job.id;
    return explain(*world.engine, world.id("db"), world.now).notes.at(0);
  };
  Job job{.id = JobId{7},
          .kind = ActionKind::Restart,
          .service = world.id("db"),
          .steps = {{world.id("db"), Bringing::Stop}, {world.id("db"), Bringing::Start}},
          .begun = world.now.mono - seconds{3},
          .by = ByRule{}};
  set_deadline(job, world.now.mono + seconds{27});
  CHECK(first_note(job) ==
        "Under way: restart db: step 1 of 2, stop db, for 3 s; it waits for a check of db. A rule requested it; runs "
        "are not "
        "counted meanwhile.");
  job.by = ByPerson{"root"};
  let_signal(job);
  CHECK(first_note(job) ==
        "Under way: restart db: step 1 of 2, stop db, for 3 s; it waits for the process of db to end (SIGTERM was "
        "sent), at most 27 s more. root requested it; runs are not counted meanwhile.");
  job.position = 1;
  let_follow(job);
  CHECK(first_note(job).find("step 2 of 2, start db, for 3 s; it waits for the process of db to appear, at most "
                             "27 s more.") != std::string::npos);
  let_run(job, ActionId{9});
  CHECK(first_note(job).find("it waits for its program to end, at most 27 s more.") != std::string::npos);

  auto& web = const_cast<ServiceState&>(world.engine->service(world.id("web")));
  web.monitored = false;
  web.trouble.edit().waits = "db is not up";
  world.handle(event::Command{
      .id = CommandId{1}, .kind = event::Command::Kind::Pause, .services = {world.id("web")}, .by = ByPerson{"root"}});
  web.starts = {.quick = 1, .last = {}, .not_before = world.now.wall + seconds{5}};
  const std::string text = account(world);
  CHECK(text ==
        "\nunmonitored\n"
        "A start or restart that its rules want is on hold: db is not up.\n"
        "It is paused by root: checks and alerts continue, nothing else is done; `healerctl resume web` ends it.\n"
        "Rules start it again in 5 s at the earliest: its last start failed, or it died soon after.\n"
        "It is not monitored, so it is not checked; `healerctl monitor web` resumes that.\n"
        "running | has not been judged yet |  |  | paused: only alerts are sent until the pause ends or "
        "`healerctl resume web`\n");
  web.starts.edit().not_before = world.now.wall;
  CHECK(account(world).find("at the earliest") == std::string::npos);
}

TEST_CASE("a pause that is over is told of no more", "[engine]") {
  World world = started({status_rule(Comparison::NotEqual, 0)});
  event::Command pause{
      .id = CommandId{1}, .kind = event::Command::Kind::Pause, .services = {world.id("web")}, .by = ByPerson{"root"}};
  pause.until = world.now.wall + seconds{10};
  world.handle(pause);
  CHECK(account(world).find("It is paused for 10 s more by root") != std::string::npos);
  world.advance(seconds{10});
  CHECK(account(world).find("paused") == std::string::npos);
}

TEST_CASE("A service without a check is reported neither as running nor as in order", "[engine]") {
  ProcessWorld world(rule_set({process("web"), process("db")}, seconds{5}));
  world.bring_up("web");
  world.bring_up("db");
  world.start();
  world.run(seconds{6});
  CHECK(account(world).starts_with("\nrunning\n"));
  world.blind = {"web"};
  world.run(seconds{12});
  CHECK(account(world).starts_with("\nunknown\nIt could not be checked for 8 s: the disk fails.\n"));
  CHECK(account(world).find("\nrunning | is not known now; the last run passed | ") != std::string::npos);
  CHECK(account(world, "db").starts_with("\nrunning\n"));
  world.command(event::Command::Kind::Validate, {"web", "db"});
  world.run(seconds{1});
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies[0].ok);
  CHECK(world.replies[0].text == "1 of 2 services failed: web (not known for 8 s: the disk fails)");
  world.blind.clear();
  world.run(seconds{5});
  CHECK(account(world).starts_with("\nrunning\n"));
  world.command(event::Command::Kind::Validate, {"web"});
  world.run(seconds{1});
  CHECK(world.replies.back().text == "web is in order");
}

TEST_CASE("a filesystem without inodes is not said to be judged some day", "[engine]") {
  Rule full = status_rule(Comparison::NotEqual, 0);
  full->condition =
      RuleCondition{{Compare{.what = Metric::InodeUsage, .comparison = Comparison::Greater, .value = 90}}};
  World world = started({alerts(full)});
  auto facts = std::make_shared<Facts>();
  facts->metrics.set(Metric::SpaceUsage, 5);
  Evidence seen;
  seen.output = std::make_shared<const std::string>();
  seen.facts = std::move(facts);
  world.handle(event::measured(world.id("web"), world.open.back().run, std::move(seen)));
  world.advance(seconds{1});
  CHECK(account(world).find(" | cannot be judged: the filesystem counts no inodes | ") != std::string::npos);
}

TEST_CASE("A failed rule stays failed while no check succeeds", "[engine]") {
  ProcessWorld world(rule_set({process("web", {alerts(missing_rule())})}, seconds{5}));
  world.start();
  world.run(seconds{6});
  world.blind = {"web"};
  world.run(seconds{5});
  CHECK(account(world).starts_with("\nfailed\nIt could not be checked for "));
}

TEST_CASE("a program that cannot be started now says why, until it is started", "[engine]") {
  World world(rule_set({foreground("web")}, seconds{30}));
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.execs.size() == 1);
  const ActionId action = world.execs[0].action;
  const auto notes = [&] {
    std::vector<std::string> texts;
    for (const Effect& effect : world.effects)
      if (const auto* note = std::get_if<effect::Note>(&effect); note != nullptr && note->severity != Severity::Debug)
        texts.push_back(note->service + ": " + note->text);
    return texts;
  };
  const auto waits = [&] { return job_waits_for(*world.engine, world.engine->jobs().begin()->second); };
  CHECK(waits() == "web to be ready");
  const std::vector<std::string> before = notes();
  world.handle(event::ActionWaits{action, "cannot write /x: No space left on device"});
  CHECK(waits() == "its program to be started (cannot write /x: No space left on device; tried again)");
  CHECK(account(world).find("it waits for its program to be started (cannot write /x: No space left on device; tried "
                            "again), at most ") != std::string::npos);
  REQUIRE(notes().size() == before.size() + 1);
  CHECK(notes().back() == "web: program /run waits to be started: cannot write /x: No space left on device");
  SECTION("it is started") {
    world.handle(event::ActionStarted{action, 100, 100});
    CHECK(waits() == "web to be ready");
    // A daemon that cannot find it again says that.
    world.handle(event::ActionWaits{action, "Too many open files"});
    CHECK(waits() == "its program to be found again (Too many open files; tried again)");
  }
  SECTION("it is not started in time") {
    world.advance(seconds{40});
    REQUIRE(world.count(RecordKind::JobFailed) >= 1);
    const auto failed = std::ranges::find(world.records, RecordKind::JobFailed, &Record::kind);
    CHECK(failed->text.find("failed to start within 31 s: its program could not be started: cannot write /x: No space "
                            "left on device") != std::string::npos);
  }
  world.handle(event::ActionWaits{ActionId{4711}, "nobody's"});  // of one that is over
}

TEST_CASE("a start program that could not be started in time is not said to have timed out", "[engine]") {
  World world(rule_set({process("web")}, seconds{30}));
  world.start();
  world.advance(Duration{0});
  const auto check = [&] {
    Evidence none{.answer = Answer::Absent,
                  .output = std::make_shared<const std::string>("process is not running"),
                  .facts = std::make_shared<const Facts>()};
    while (!world.open.empty()) {
      const effect::Measure run = world.open.front();
      world.open.erase(world.open.begin());
      world.handle(event::measured(run.service, run.run, none));
    }
  };
  check();
  REQUIRE(world.execs.size() == 1);
  world.handle(event::ActionWaits{world.execs[0].action, "Resource temporarily unavailable"});
  CHECK(account(world).find("its program to be started (Resource temporarily unavailable; ") != std::string::npos);
  for (int i = 0; i < 400 && world.count(RecordKind::JobFailed) == 0; ++i) {
    world.advance(milliseconds{100});
    check();
  }
  const auto failed = std::ranges::find(world.records, RecordKind::JobFailed, &Record::kind);
  REQUIRE(failed != world.records.end());
  CHECK(failed->text.find(
            "failed to start within 30 s: its program could not be started: Resource temporarily unavailable") !=
        std::string::npos);
}

TEST_CASE("a run whose program cannot be started now says why, until it is started", "[engine]") {
  RuleSet rules = rule_set({service("web", {}), service("db", {})}, seconds{30});
  World world(std::move(rules));
  world.start();
  world.advance(seconds{3});
  const auto notes = [&] {
    return std::ranges::count_if(world.effects, [](const Effect& effect) {
      const auto* note = std::get_if<effect::Note>(&effect);
      return note != nullptr && note->severity == Severity::Warning;
    });
  };
  const auto noted = notes();
  const auto tell = [&](const char* name, const std::string& why) {
    const ServiceState& state = world.engine->service(world.id(name));
    world.handle(event::RunWaits{world.id(name), state.flight ? state.flight->run : RunId{4711}, why});
  };
  CHECK(account(world).find("A run is under way for ") != std::string::npos);
  tell("web", "cannot make a pipe: Too many open files");
  tell("db", "cannot make a pipe: Too many open files");
  for (const char* name : {"web", "db"})
    CHECK(account(world, name)
              .find(" for its program to be started (cannot make a pipe: Too many open files; trying "
                    "again).") != std::string::npos);
  CHECK(notes() == noted + 1);  // what one lacks, many lack
  tell("web", "");
  CHECK(account(world).find("A run is under way for ") != std::string::npos);
  // It is judged, and the next one waits for nothing until that is told.
  world.observe(world.id("db"), 0);
  tell("db", "late");
  CHECK_FALSE(world.engine->service(world.id("db")).flight);
  world.advance(seconds{30});
  REQUIRE(world.engine->service(world.id("db")).flight);
  CHECK(world.engine->service(world.id("db")).flight->waits.empty());
  world.advance(seconds{60});
  tell("web", "cannot make a pipe: Too many open files");
  CHECK(notes() == noted + 2);
}

}  // namespace explain_test
