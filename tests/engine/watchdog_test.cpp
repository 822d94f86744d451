// SPDX-License-Identifier: MIT
// What a foreground process tells of itself while it runs, and with what status it has ended.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"

namespace watchdog_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

std::shared_ptr<ServiceBlock> watched(Duration every = seconds{30}) {
  auto block = foreground("web");
  block->process->foreground->watchdog = every;
  block->key = hash128("web watched every " + format_duration(every));
  return block;
}

/// The effects that ask to watch, as texts.
std::vector<std::string> watches(const World& world) {
  std::vector<std::string> all;
  for (const Effect& effect : world.effects)
    if (const auto* watch = std::get_if<effect::Watch>(&effect)) all.push_back(format_duration(watch->every));
  return all;
}

std::string last_text(const World& world, RecordKind kind) {
  std::string text = "none";
  for (const Record& record : world.records)
    if (record.kind == kind) text = record.text;
  return text;
}

struct Watched : ProcessWorld {
  explicit Watched(std::shared_ptr<ServiceBlock> block = watched())
      : ProcessWorld(rule_set({std::move(block)}, seconds{30})) {
    start();
    run(seconds{2});
  }
  void fall_silent() {
    handle(event::ActionSilent{execs.back().action, seconds{30}});
    run(seconds{1});
  }
};

/// `if status = 78 then unmonitor`, of a foreground process.
Rule config_error() {
  Rule rule = status_rule(Comparison::Equal, 78);
  rule->condition = RuleCondition{{Compare{.what = Metric::ExitStatus, .comparison = Comparison::Equal, .value = 78}}};
  rule->condition->hash = hash128("status = 78");
  rule->action = {.kind = ActionKind::Unmonitor, .command = {}};
  rule->text = "if status = 78 then unmonitor";
  return rule;
}

}  // namespace

TEST_CASE("a process that falls silent is ended, and started anew as after a death", "[watchdog]") {
  Watched world;
  CHECK(watches(world) == std::vector<std::string>{"30 s"});
  world.fall_silent();
  CHECK(world.programs == Programs{"run web", "run web"});
  CHECK(last_text(world, RecordKind::ProcessDied).ends_with("; it had not sent WATCHDOG=1 for 30 s"));
  CHECK(last_text(world, RecordKind::RuleFailed).find("it had not sent WATCHDOG=1 for 30 s") != std::string::npos);
  world.run(seconds{2});
  CHECK(watches(world).size() == 2);  // the new one, too
}

TEST_CASE("it is watched when it is ready, by the next daemon too, and as a reload says", "[watchdog]") {
  SECTION("by its word") {
    auto block = watched();
    block->process->foreground->by_notice = true;
    block->process->foreground->ready_after = seconds{20};
    Watched world(block);
    CHECK(watches(world).empty());
    world.signal_ready("web");
    CHECK(watches(world).size() == 1);
  }
  SECTION("by the next daemon") {
    Watched world;
    world.effects.clear();
    world.crash(seconds{5});
    world.run(seconds{2});
    CHECK(watches(world) == std::vector<std::string>{"30 s"});
  }
  SECTION("after a reload") {
    Watched world;
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({watched(seconds{5})}, seconds{30}))});
    CHECK(watches(world) == std::vector<std::string>{"30 s", "5 s"});
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({watched(Duration{0})}, seconds{30}))});
    CHECK(watches(world).back() == "0 ms");
    world.fall_silent();
    CHECK(world.programs.size() == 1);
  }
  SECTION("who need not tell is not watched") {
    Watched world(watched(Duration{0}));
    CHECK(watches(world).empty());
  }
}

TEST_CASE("A paused process is not ended for its silence, which is reported once", "[watchdog]") {
  Watched world;
  world.command(Kind::Pause, {"web"});
  for (int i = 0; i < 3; ++i) world.fall_silent();
  CHECK(world.programs.size() == 1);
  CHECK(world.count(RecordKind::JobHeld) == 1);
  CHECK(last_text(world, RecordKind::JobHeld) == "process 100 has not sent WATCHDOG=1 for 30 s, but is left alone now");
  world.command(Kind::Resume, {"web"});
  world.fall_silent();
  CHECK(world.programs.size() == 2);
}

TEST_CASE("a start or a stop lasts as long as the process asks for", "[watchdog]") {
  auto block = watched(Duration{0});
  block->process->foreground->by_notice = true;
  block->process->foreground->ready_after = seconds{20};
  ProcessWorld world(rule_set({block}, seconds{30}));
  world.start();
  world.run(seconds{15});
  SECTION("its start") {
    world.handle(event::ActionExtended{world.execs.back().action, seconds{60}});
    world.run(seconds{30});
    CHECK(world.count(RecordKind::JobFailed) == 0);
    world.signal_ready("web");
    CHECK(world.engine->jobs().empty());
  }
  SECTION("but not longer") {
    world.handle(event::ActionExtended{world.execs.back().action, seconds{60}});
    world.run(seconds{62});
    CHECK(last_text(world, RecordKind::JobFailed) ==
          "restart failed: failed to start: it did not report within 1 m 15 s that it is ready");
  }
  SECTION("nor shorter than its rules say") {
    world.handle(event::ActionExtended{world.execs.back().action, seconds{1}});
    world.run(seconds{3});
    CHECK(world.count(RecordKind::JobFailed) == 0);
  }
  SECTION("its stop") {
    world.signal_ready("web");
    world.deathless = true;
    world.command(Kind::Stop, {"web"});
    world.run(seconds{20});
    world.handle(event::ActionExtended{world.execs.back().action, minutes{5}});
    world.run(minutes{4});
    CHECK(world.count(RecordKind::JobFailed) == 0);
    world.run(minutes{2});
    CHECK(world.count(RecordKind::JobFailed) == 1);
  }
}

TEST_CASE("the exit status of a foreground process is tested when it has died", "[watchdog]") {
  auto block = foreground("web", {missing_rule(), config_error()});
  ProcessWorld world(rule_set({block}, seconds{30}));
  SECTION("it is not started again") {
    world.doings["run web"] = {.takes = seconds{5}, .status = 78};
    world.start();
    world.run(minutes{5});
    CHECK(world.programs.size() == 1);
    REQUIRE(world.engine->monitoring().given_up(world.id("web")) != nullptr);
    CHECK(world.engine->monitoring().given_up(world.id("web"))->rule == "if status = 78 then unmonitor");
    SECTION("but when a person has taken it up, which its last status does not undo") {
      world.doings.clear();
      world.command(Kind::Monitor, {"web"});
      world.run(seconds{5});
      CHECK(world.programs.size() == 2);
      world.run(minutes{1});
      CHECK(world.engine->service(world.id("web")).monitored);
    }
  }
  SECTION("nor where it ends so during its start") {
    world.doings["run web"] = {.takes = milliseconds{300}, .status = 78};
    world.start();
    world.run(minutes{5});
    CHECK(world.programs.size() == 1);
    CHECK(world.engine->monitoring().given_up(world.id("web")) != nullptr);
  }
  SECTION("another status is a death as any") {
    world.doings["run web"] = {.takes = seconds{5}, .status = 1};
    world.start();
    world.run(minutes{1});
    CHECK(world.programs.size() > 1);
    CHECK(world.engine->service(world.id("web")).monitored);
  }
}

}  // namespace watchdog_test
