// SPDX-License-Identifier: MIT
// Times at which a service is left alone: by its schedule, a pause, or a mode; and what goes on meanwhile.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace quiet_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// A process that is left alone in the second minute of the world: `not every "1 * * * *"`, in a manner of speaking.
std::shared_ptr<ServiceBlock> quiet_in_the_second_minute(const std::string& name) {
  auto block = process(name);
  block->schedule->kind = Schedule::Kind::NotCron;
  block->schedule->cron = {.minutes = 1ULL << ((utc_civil(World::kStart.wall).minute + 1) % 60),
                           .hours = ~0U,
                           .month_days = ~0U,
                           .months = 0xFFFF,
                           .weekdays = 0xFF};
  return block;
}

}  // namespace

TEST_CASE("what does not start is not tried again while its schedule leaves it alone") {
  ProcessWorld world(rule_set({quiet_in_the_second_minute("web")}, seconds{30}));
  world.doings["start web"] = {.status = 1, .works = false};
  world.start();
  world.run(seconds{59});
  CHECK(world.programs.size() >= 4);
  world.programs.clear();
  world.run(seconds{61});
  CHECK(world.programs.size() <= 1);  // within the last second before
  world.programs.clear();
  world.run(seconds{30});
  CHECK_FALSE(world.programs.empty());
}

TEST_CASE("a death that settles while the quiet time begins is not acted on") {
  ProcessWorld world(rule_set({quiet_in_the_second_minute("web")}, seconds{30}));
  world.bring_up("web");
  world.start();
  world.run(milliseconds{59'500});
  world.die("web");
  world.run(seconds{60});
  CHECK(world.programs.empty());
  world.run(seconds{31});
  CHECK(world.programs == Programs{"start web"});
}

TEST_CASE("a rule restarts nothing passive for the sake of another, a person does") {
  auto top = process("top", {missing_rule()}, {"base"});
  top->activity = ServiceBlock::Activity::Passive;
  ProcessWorld world(rule_set({top, process("base")}, seconds{30}));
  world.bring_up("top");
  world.bring_up("base");
  world.start();
  world.run(seconds{6});
  SECTION("a death") {
    world.die("base");
    world.run(seconds{6});
    CHECK(world.programs == Programs{"start base"});
  }
  SECTION("a command") {
    world.command(Kind::Restart, {"base"});
    world.run(seconds{6});
    CHECK(world.programs == Programs{"stop top", "stop base", "start base", "start top"});
  }
}

TEST_CASE("of a process with a calendar of its own a death is recorded, and acted on in the next minute of that") {
  auto block = process("web");
  block->schedule->kind = Schedule::Kind::Cron;
  block->schedule->cron = {.minutes = 1ULL << ((utc_civil(World::kStart.wall).minute + 10) % 60),
                           .hours = ~0U,
                           .month_days = ~0U,
                           .months = 0xFFFF,
                           .weekdays = 0xFF};
  ProcessWorld world(rule_set({block}, seconds{30}));
  world.start();
  world.run(minutes{9});
  CHECK(world.programs.empty());
  world.run(minutes{1} + seconds{1});
  CHECK(world.programs == Programs{"start web"});
  world.run(minutes{5});
  world.die("web");
  CHECK(world.count(RecordKind::ProcessDied) == 1);
  world.run(minutes{40});
  CHECK(world.programs == Programs{"start web"});
  world.run(minutes{15});
  CHECK(world.programs == Programs{"start web", "start web"});
}

TEST_CASE("what is not to be started after a reboot is not started when it is new, either") {
  auto block = process("web");
  block->on_reboot = ServiceBlock::OnReboot::NoStart;
  auto other = process("other");
  ProcessWorld world(rule_set({other}, seconds{30}));
  SECTION("to healer") {
    world.engine =
        std::make_unique<Engine>(make_graph(rule_set({block, other}, seconds{30})), utc_civil, SavedState{}, world.now);
    world.start();
  }
  SECTION("in the rules") {
    world.start();
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({block, other}, seconds{30}))});
  }
  world.run(minutes{2});
  CHECK(world.programs == Programs{"start other"});
  CHECK_FALSE(world.engine->service(world.id("web")).monitored);
  world.command(Kind::Start, {"web"});
  world.run(seconds{2});
  CHECK(world.programs == Programs{"start other", "start web"});
  world.crash(seconds{1});  // it is not new any more
  world.die("web");
  world.run(seconds{3});
  CHECK(world.is_up("web"));
}

TEST_CASE("the limit of restarts counts on over a reload and a crash") {
  auto block = process("web", {missing_rule(), restarts_rule(3, 8)});
  ProcessWorld world(rule_set({block}, seconds{5}));
  world.doings["start web"] = {.status = 1, .works = false};
  world.start();
  world.run(seconds{6});  // two cycles
  CHECK(world.engine->service(world.id("web")).monitored);
  SECTION("a reload") {
    auto after = process("web", {missing_rule(), restarts_rule(3, 8), missing_rule(ActionKind::Alert)});
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({after}, seconds{5}))});
  }
  SECTION("a crash") { world.crash(seconds{1}); }
  world.run(seconds{11});
  CHECK_FALSE(world.engine->service(world.id("web")).monitored);
  world.programs.clear();
  world.run(minutes{2});
  CHECK(world.programs.empty());
}

TEST_CASE("a rule starts nothing that needs what is not monitored, and says so; a person's start does") {
  auto base = process("base");
  base->on_reboot = ServiceBlock::OnReboot::NoStart;
  ProcessWorld world(rule_set({process("top", {missing_rule()}, {"base"}), base}, seconds{30}));
  world.start();
  world.run(minutes{2});
  CHECK(world.programs.empty());
  CHECK(world.count(RecordKind::JobHeld) == 1);
  CHECK(world.engine->service(world.id("top")).trouble->waits == "it depends on base, which is not monitored");
  SECTION("of what it needs") { world.command(Kind::Start, {"base"}); }
  SECTION("of itself") { world.command(Kind::Start, {"top"}); }
  world.run(seconds{5});
  CHECK(world.programs == Programs{"start base", "start top"});
}

TEST_CASE("a process that healer has started anew has not changed, by pid file or in the foreground") {
  Rule changed = missing_rule(ActionKind::Restart);
  changed->condition = RuleCondition{{Changed{Attribute::Pid}}};
  changed->mode = Mode::EachChange;
  changed->text = "if changed pid then restart";
  auto own = foreground("own", {missing_rule(), changed});
  ProcessWorld world(rule_set({process("web", {missing_rule(), changed}), own}, seconds{30}));
  world.start();
  world.run(minutes{2});
  world.programs.clear();
  world.die("web");
  world.die("own");
  world.run(minutes{5});
  CHECK(world.count(RecordKind::RuleChanged) == 0);
  CHECK(world.programs == Programs{"run own", "start web"});
}

TEST_CASE("that lines of a file may be missing is recorded, once an hour", "[engine]") {
  auto block = service("log", {status_rule(Comparison::NotEqual, 0)});
  block->kind = kind_named("file");
  block->program = {};
  block->path = "/var/log/app.log";
  World world(rule_set({block}, minutes{1}));
  world.start();
  const auto check = [&world](bool lost) {
    world.advance(minutes{1});
    REQUIRE_FALSE(world.open.empty());
    const effect::Measure run = world.open.back();
    world.open.clear();
    Facts facts;
    facts.path = PathFacts{};
    if (lost) facts.attributes.push_back({Attribute::LinesLost, std::string("lines may be missing")});
    world.handle(event::measured(
        run.service, run.run,
        {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)}));
  };
  check(false);
  CHECK(world.count(RecordKind::LinesLost) == 0);
  for (int i = 0; i < 30; ++i) check(true);
  CHECK(world.count(RecordKind::LinesLost) == 1);
  for (int i = 0; i < 40; ++i) check(true);
  CHECK(world.count(RecordKind::LinesLost) == 2);
}

}  // namespace quiet_test
