// SPDX-License-Identifier: MIT
// Steps that start, stop and restart services leave alone what a rule would.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/process_world.hpp"

namespace healing_bring_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;

Step bring(Bringing what, const std::string& service) {
  return {.name = std::string(verb(what)) + " " + service, .what = step::Bring{.what = what, .service = service}};
}

/// `sick` is healed by these steps where it is missing; `web` depends on `db`.
RuleSet rules_of(std::vector<Step> steps) {
  Rule heals = missing_rule(ActionKind::Heal);
  heals->action.heal = std::make_shared<const HealOrder>(HealOrder{.workflow = "mend"});
  RuleSet rules =
      rule_set({process("sick", {heals}), process("db"), process("web", {missing_rule()}, {"db"}), process("other")});
  for (auto& service : rules.services) {
    auto block = std::make_shared<ServiceBlock>(*service);
    *block->recipients = {Recipient{.address = "ops@example"}};
    if (block->name == "web") block->groups = {"webs"};
    service = block;
  }
  rules.workflows = {std::make_shared<const Workflow>(
      Workflow{.name = "mend", .steps = std::move(steps), .tries = 1, .key = hash128("mend")})};
  return rules;
}

template <typename Change>
void change(RuleSet& rules, std::string_view name, Change how) {
  for (auto& service : rules.services) {
    if (service->name != name) continue;
    auto block = std::make_shared<ServiceBlock>(*service);
    how(*block);
    service = block;
  }
}

struct Bringer : ProcessWorld {
  explicit Bringer(RuleSet rules) : ProcessWorld(std::move(rules)) {
    for (const char* name : {"sick", "db", "web", "other"}) bring_up(name);
    start();
    run(seconds{5});
  }
  void pause(const std::string& name) {
    handle(event::Command{.id = CommandId{900},
                          .kind = Kind::Pause,
                          .services = {id(name)},
                          .by = ByPerson{"anna"},
                          .reason = "disk swap"});
  }
  /// The target fails; why its healing has failed, or "done".
  std::string heal() {
    programs.clear();
    die("sick");
    run(minutes{2});
    REQUIRE(engine->healings().idle());
    const auto end = std::ranges::find_if(records, [](const Record& record) {
      return record.kind == RecordKind::HealingFailed || record.kind == RecordKind::HealingEnded;
    });
    REQUIRE(end != records.end());
    return end->kind == RecordKind::HealingEnded ? "done" : end->text.substr(end->text.find(": ") + 2);
  }
  [[nodiscard]] bool watched(const std::string& name) const { return engine->service(id(name)).monitored; }
};

using Programs = std::vector<std::string>;

}  // namespace

TEST_CASE("a step fails, and does nothing, where a rule would leave its service alone", "[healing]") {
  const Bringing what = GENERATE(Bringing::Start, Bringing::Stop, Bringing::Restart);
  RuleSet rules = rules_of({bring(what, "web")});
  const std::string step = "step \"" + std::string(verb(what)) + " web\" not done: ";
  SECTION("passive") {
    change(rules, "web", [](ServiceBlock& web) { web.activity = ServiceBlock::Activity::Passive; });
    Bringer world(std::move(rules));
    CHECK(world.heal() == step + "web is passive");
    CHECK(world.programs.empty());
  }
  SECTION("paused") {
    Bringer world(std::move(rules));
    world.pause("web");
    CHECK(world.heal() == step + "web was paused by anna: disk swap");
    CHECK(world.programs.empty());
  }
  SECTION("in maintenance") {
    rules.settings.maintenance = {
        {.begin = {.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF},
         .text = {},
         .length = minutes{10},
         .group = "webs"}};
    Bringer world(std::move(rules));
    CHECK(world.heal() == step + "maintenance of web");
    CHECK(world.programs.empty());
  }
  SECTION("unmonitored by a person") {
    Bringer world(std::move(rules));
    world.command(Kind::Unmonitor, {"web"});
    CHECK(world.heal() == step + "web is not monitored");
    CHECK(world.programs.empty());
    CHECK_FALSE(world.watched("web"));
  }
  SECTION("stopped by a person") {
    Bringer world(std::move(rules));
    world.command(Kind::Stop, {"db"});
    world.run(seconds{5});
    CHECK(world.heal() == step + "web is not monitored");
    CHECK(world.programs.empty());
    CHECK_FALSE(world.watched("db"));
  }
}

TEST_CASE("a step fails, and does nothing, where a rule would leave alone what its service depends on", "[healing]") {
  const Bringing what = GENERATE(Bringing::Start, Bringing::Restart);
  const std::string step = "step \"" + std::string(verb(what)) + " web\" not done: ";
  SECTION("it is not monitored") {
    RuleSet before = rules_of({bring(what, "web")});
    change(before, "web", [](ServiceBlock& web) {
      web.depends = {};
      web.key = hash128("alone");
    });
    Bringer world(std::move(before));
    world.command(Kind::Unmonitor, {"db"});
    world.handle(event::Swap{plan_swap(*world.engine->graph(), rules_of({bring(what, "web")}))});
    world.run(seconds{5});
    REQUIRE(world.watched("web"));
    CHECK(world.heal() == step + "web depends on db, which is not monitored");
    CHECK_FALSE(world.watched("db"));
    CHECK(world.programs.empty());
  }
  SECTION("it is down, and paused") {
    Bringer world(rules_of({bring(what, "web")}));
    world.pause("db");
    world.die("db");
    world.run(seconds{5});
    CHECK(world.heal() == step + "web depends on db, which is not running");
    CHECK(world.programs.empty());
  }
}

TEST_CASE("what depends on a restarted service, and is paused or passive, is left running", "[healing]") {
  RuleSet rules = rules_of({bring(Bringing::Restart, "db")});
  const bool passive = GENERATE(true, false);
  if (passive) change(rules, "web", [](ServiceBlock& web) { web.activity = ServiceBlock::Activity::Passive; });
  Bringer world(std::move(rules));
  if (!passive) world.pause("web");
  CHECK(world.heal() == "done");
  CHECK(world.programs == Programs{"stop db", "start db"});
}

TEST_CASE("a healing starts again what it has stopped itself, in another try, too", "[healing]") {
  const bool other = GENERATE(true, false);
  RuleSet rules = rules_of({bring(Bringing::Stop, "db"), bring(Bringing::Start, other ? "web" : "db")});
  Bringer world(std::move(rules));
  CHECK(world.heal() == "done");
  const Programs start =
      other ? Programs{"stop web", "stop db", "start db", "start web"} : Programs{"stop web", "stop db", "start db"};
  CHECK(world.programs == start);
  CHECK(world.watched("db"));
}

TEST_CASE("a step starts what a rule has given up, as people want it healed", "[healing]") {
  RuleSet rules = rules_of({bring(Bringing::Restart, "other")});
  change(rules, "other", [](ServiceBlock& other) { other.rules = {missing_rule(ActionKind::Unmonitor)}; });
  Bringer world(std::move(rules));
  world.die("other");
  world.run(seconds{5});
  REQUIRE_FALSE(world.watched("other"));
  CHECK(world.heal() == "done");
  CHECK(world.programs == Programs{"start other"});
  CHECK(world.watched("other"));
}

TEST_CASE("a pause of the target that comes between two steps holds no step back", "[healing]") {
  RuleSet rules =
      rules_of({{.name = "rest", .what = step::Wait{.length = seconds{20}}}, bring(Bringing::Start, "sick")});
  Bringer world(std::move(rules));
  world.die("sick");
  world.run(seconds{10});
  world.pause("sick");
  world.run(minutes{1});
  CHECK(world.engine->healings().idle());
  CHECK(world.programs == Programs{"start sick"});
}

TEST_CASE("a restart of healer in a step that starts a service changes nothing of it", "[healing]") {
  Bringer world(rules_of({bring(Bringing::Stop, "db"), bring(Bringing::Start, "web")}));
  world.doings["start db"].takes = seconds{10};
  world.die("sick");
  world.run(seconds{6});
  world.crash(seconds{1});
  world.run(minutes{2});
  CHECK(world.engine->healings().idle());
  CHECK(world.is_up("web"));
  CHECK(world.count(RecordKind::HealingFailed) == 0);
}

}  // namespace healing_bring_test
