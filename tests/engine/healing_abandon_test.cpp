// SPDX-License-Identifier: MIT
// Healings whose target is taken away: by a person's unmonitor or stop, or by an edit of the rules.
#include <algorithm>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

namespace healing_abandon_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;

namespace {

RuleSet changed(const Fleet& fleet, const std::function<void(Workflow&)>& change) {
  RuleSet rules = fleet_rules(fleet);
  Workflow plan = *rules.workflows.front();
  change(plan);
  plan.key = hash128("rebuild changed");
  rules.workflows.front() = std::make_shared<const Workflow>(std::move(plan));
  return rules;
}

FleetWorld world_of(RuleSet rules, int targets) {
  return FleetWorld(make_graph(std::move(rules)), {}, std::vector<bool>(static_cast<std::size_t>(targets)),
                    World::kStart);
}

/// Says it of services, and returns the answer.
std::string say(FleetWorld& world, Kind kind, const std::vector<std::string>& names = {"n0"}, std::uint64_t job = 0) {
  event::Command command{.id = CommandId{77}, .kind = kind, .services = {}, .by = ByPerson{"anna"}, .job = JobId{job}};
  for (const std::string& name : names) command.services.push_back(world.id(name));
  const std::size_t before = world.replies.size();
  world.handle(command);
  return world.replies.size() == before ? "" : world.replies.back().text;
}

void reload(FleetWorld& world, RuleSet rules) {
  world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(rules))});
}

std::string number(const FleetWorld& world) { return std::to_string(only(world).id.number()); }

/// Fails target 0, and lets its healing come to the program "rebuild", which goes on.
void to_rebuild(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  REQUIRE(world.wait_for("rebuild") == "n0");
}

std::string last_end(const World& world) {
  for (auto record = world.records.rbegin(); record != world.records.rend(); ++record)
    if (record->kind == RecordKind::HealingEnded || record->kind == RecordKind::HealingFailed) return record->text;
  return {};
}

const WorkflowMemory& memory_of(const FleetWorld& world, std::string_view workflow) {
  const auto& all = world.engine->healings().memory().workflows;
  return *std::ranges::find(all, workflow, &WorkflowMemory::workflow);
}

/// Nothing of a healing begins any more, in hours.
void check_nothing_follows(FleetWorld& world) {
  const std::size_t programs = world.execs.size();
  world.advance(hours{3});
  CHECK(world.execs.size() == programs);
  CHECK(world.engine->healings().idle());
}

}  // namespace

TEST_CASE("a program that runs when its target is unmonitored goes on to its end, and nothing follows", "[healing]") {
  FleetWorld world({.targets = 1, .breaker = Breaker{.failed = 1, .within = hours{1}}, .escalate = true});
  to_rebuild(world);
  CHECK(say(world, Kind::Unmonitor) ==
        "n0 unmonitored\nhealing " + number(world) +
            " of n0 with rebuild is abandoned: step \"rebuild\" goes on to its end, and nothing follows");
  CHECK(only(world).locks());
  const int status = GENERATE(0, 1);
  world.end_program(status);
  CHECK(world.engine->healings().idle());
  CHECK(last_end(world) ==
        std::string("healing of n0 with rebuild abandoned: its target was unmonitored by anna; done: "
                    "\"shutdown\"") +
            (status == 0 ? " and \"rebuild\"" : "; failed: \"rebuild\""));
  CHECK(world.alerts_of("Healing abandoned") == 1);
  CHECK(world.alerts_of("Healing failed") == 0);
  CHECK_FALSE(memory_of(world, "rebuild").open);
  CHECK(memory_of(world, "rebuild").failures.empty());
  CHECK(memory_of(world, "rebuild").counts.failed == 0);
  CHECK(memory_of(world, "rebuild").counts.abandoned == 1);
  CHECK(world.engine->healings().rests("n0", world.now));  // its cooldown
  check_nothing_follows(world);
  CHECK_FALSE(world.engine->healings().rests("n0", world.now));
}

TEST_CASE("what only waits ends at once when its target is unmonitored", "[healing]") {
  const Kind kind = GENERATE(Kind::Unmonitor, Kind::Stop);
  const std::string how = kind == Kind::Stop ? "stopped" : "unmonitored";
  SECTION("for the recovery") {
    FleetWorld world({.targets = 1, .escalate = true});
    to_rebuild(world);
    world.end_program(0);
    say(world, kind);
    CHECK(last_end(world) == "healing of n0 with rebuild abandoned: its target was " + how +
                                 " by anna; done: \"shutdown\" and \"rebuild\"");
    check_nothing_follows(world);
  }
  SECTION("for a time") {
    FleetWorld world = world_of(
        changed({.targets = 1}, [](Workflow& plan) { plan.steps[1].what = step::Wait{.length = hours{1}}; }), 1);
    world.fail(0);
    world.pass("guard");
    world.pass("shutdown");
    say(world, kind);
    CHECK(last_end(world).ends_with("; done: \"shutdown\""));
    check_nothing_follows(world);
  }
  SECTION("for the next attempt") {
    FleetWorld world({.targets = 1});
    world.fail(0);
    world.pass("guard");
    world.wait_for("shutdown");
    world.end_program(1);
    say(world, kind);
    CHECK(last_end(world).ends_with("; no step was done; failed: \"shutdown\""));
    check_nothing_follows(world);
  }
  SECTION("for the next try") {
    FleetWorld world({.targets = 1});
    to_rebuild(world);
    world.end_program(1);
    REQUIRE(only(world).stage() == Healing::Stage::Between);
    say(world, kind);
    CHECK(last_end(world).ends_with("; done: \"shutdown\"; failed: \"rebuild\""));
    check_nothing_follows(world);
  }
  SECTION("for the brakes of an escalation") {
    FleetWorld world({.targets = 1, .tries = 1, .escalate = true});
    to_rebuild(world);
    world.end_program(1);
    REQUIRE(only(world).escalated);
    say(world, kind);
    CHECK(last_end(world).starts_with("healing of n0 with redeploy abandoned"));
    check_nothing_follows(world);
    CHECK(memory_of(world, "rebuild").counts.failed == 1);
    CHECK(memory_of(world, "redeploy").counts.failed == 0);
  }
  SECTION("for the approval of an escalation") {
    FleetWorld world({.targets = 1, .tries = 1, .escalate = true});
    to_rebuild(world);
    reload(world, fleet_rules({.targets = 1, .tries = 1, .escalate = true, .over_all = HealingMode::Approval}));
    world.end_program(1);
    world.advance(seconds{2});
    REQUIRE(only(world).stage() == Healing::Stage::Approval);
    say(world, kind);
    CHECK(last_end(world).starts_with("healing of n0 with redeploy abandoned"));
  }
}

TEST_CASE("the answer to a request that is under way is waited for, its result is not", "[healing]") {
  FleetWorld world({.targets = 1, .calls = true});
  world.fail(0);
  world.pass("guard");
  REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
  world.answer_request(201, {}, {"token"});
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  world.answer_request(200, {"true"});
  REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
  const bool polls = GENERATE(true, false);
  if (polls) {
    world.answer_request(202);
    REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  }
  say(world, Kind::Unmonitor);
  const std::size_t asked = world.requests.size();
  CHECK(world.engine->healings().idle() == polls);
  if (polls) {
    CHECK(world.ended_requests.back() == world.requests.back().request);
    CHECK(last_end(world).ends_with("; done: \"token\" and \"mark\""));
  } else {
    world.answer_request(202);
    CHECK(last_end(world).ends_with("; done: \"token\", \"mark\" and \"update\""));
  }
  check_nothing_follows(world);
  CHECK(world.requests.size() == asked);
}

TEST_CASE("a guard that is asked when its target is unmonitored lets nothing begin, whatever it says", "[healing]") {
  FleetWorld world({.targets = 1});
  world.fail(0);
  world.wait_for("guard");
  CHECK(say(world, Kind::Unmonitor).ends_with("is abandoned: its guard goes on to its end, and nothing follows"));
  world.end_program(GENERATE(0, 1));
  CHECK(last_end(world) ==
        "healing of n0 with rebuild abandoned: its target was unmonitored by anna; no step was done");
  CHECK(world.alerts_of("Healing refused") == 0);
  check_nothing_follows(world);
}

TEST_CASE("of parallel steps those that run go on, and those that wait end", "[healing]") {
  FleetWorld world =
      world_of(changed({.targets = 1},
                       [](Workflow& plan) {
                         Step wait{.name = "wait", .what = step::Wait{.length = hours{1}}};
                         plan.steps[1] = {.name = "both", .what = step::Parallel{.steps = {plan.steps[1], wait}}};
                       }),
               1);
  to_rebuild(world);
  say(world, Kind::Unmonitor);
  CHECK_FALSE(world.engine->healings().idle());
  world.end_program(0);
  CHECK(last_end(world).ends_with("; done: \"shutdown\" and \"rebuild\""));
  check_nothing_follows(world);
}

TEST_CASE("`on failure` and `on cancel` go no further than the program that runs", "[healing]") {
  const bool cancels = GENERATE(true, false);
  FleetWorld world = world_of(changed({.targets = 1, .tries = 1},
                                      [](Workflow& plan) {
                                        plan.on_cancel.push_back(plan.steps[0]);
                                        plan.on_failure = plan.on_cancel;
                                      }),
                              1);
  to_rebuild(world);
  if (cancels) say(world, Kind::Cancel, {}, only(world).id.number());
  world.end_program(1);
  REQUIRE(world.wait_for("undo") == "n0");
  say(world, Kind::Unmonitor);
  world.end_program(0);
  CHECK(last_end(world).starts_with("healing of n0 with rebuild abandoned: its target was unmonitored by anna; "));
  check_nothing_follows(world);
}

TEST_CASE("an abandoned healing can be cancelled: its program is ended, and nothing is undone", "[healing]") {
  FleetWorld world({.targets = 1});
  to_rebuild(world);
  say(world, Kind::Unmonitor);
  say(world, Kind::Cancel, {}, only(world).id.number());
  CHECK(std::ranges::any_of(world.effects, [&](const Effect& effect) {
    const auto* const ended = std::get_if<effect::EndAction>(&effect);
    return ended != nullptr && ended->action == world.execs.back().action;
  }));
  world.end_program(-15);
  CHECK(last_end(world).ends_with("; cancelled by anna"));
  check_nothing_follows(world);
}

TEST_CASE("it is the act that counts, not whether somebody watches", "[healing]") {
  SECTION("a person's healing of an unmonitored target goes on") {
    FleetWorld world({.targets = 1});
    world.advance(seconds{3});
    say(world, Kind::Unmonitor);
    world.handle(event::Command{.id = CommandId{78},
                                .kind = Kind::Heal,
                                .services = {world.id("n0")},
                                .by = ByPerson{"anna"},
                                .workflow = "rebuild"});
    world.pass("guard");
    world.pass("shutdown");
    CHECK(world.wait_for("rebuild") == "n0");
  }
  SECTION("to monitor it again takes nothing back, and what fails then is healed after the cooldown") {
    FleetWorld world({.targets = 1});
    to_rebuild(world);
    say(world, Kind::Unmonitor);
    say(world, Kind::Monitor);
    world.advance(seconds{5});
    world.end_program(0);
    world.advance(seconds{5});
    CHECK(last_end(world).starts_with("healing of n0 with rebuild abandoned"));
    CHECK(world.programs("guard") == 1);
    world.advance(minutes{9});
    CHECK(world.programs("guard") == 1);
    CHECK(world.wait_for("guard") == "n0");
  }
  SECTION("what a healing's own step stops is not taken away") {
    RuleSet rules = changed({.targets = 1}, [](Workflow& plan) {
      plan.steps[0] = {.name = "stop", .what = step::Bring{.what = Bringing::Stop, .service = "n0"}};
    });
    FleetWorld world = world_of(std::move(rules), 1);
    world.fail(0);
    world.pass("guard");
    CHECK(world.wait_for("rebuild") == "n0");
  }
}

TEST_CASE("one of several services that is taken away changes only what is looked at", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2, .of_rows = true});
  auto other = std::make_shared<ServiceBlock>(*rules.services[1]);
  other->row = rules.services[0]->row;  // two services of one target
  rules.services[1] = other;
  FleetWorld world = world_of(std::move(rules), 2);
  world.fail(0);
  world.pass("guard");
  world.pass("shutdown");
  world.wait_for("rebuild");
  CHECK(say(world, Kind::Unmonitor, {"n1"}) == "n1 unmonitored");
  CHECK(world.engine->healings().all().begin()->second.abandoned.empty());
  CHECK(say(world, Kind::Unmonitor, {"n0"}).find("is abandoned") != std::string::npos);
}

TEST_CASE("Unmonitoring a target drops its held back healing and reports it", "[healing]") {
  FleetWorld world({.targets = 1});
  say(world, Kind::Pause);
  world.fail(0);
  world.advance(seconds{5});
  const std::string id = number(world);
  CHECK(say(world, Kind::Unmonitor) ==
        "n0 unmonitored\nhealing " + id + " of n0 with rebuild is dropped: it had not begun");
  CHECK(world.engine->healings().idle());
}

TEST_CASE("an edit that takes the target from the rules abandons its healing", "[healing]") {
  const bool row = GENERATE(true, false);
  const Fleet fleet{.targets = 2, .escalate = true, .listed = row, .written = true};
  Fleet without = fleet;
  without.absent = {0};
  FleetWorld world(fleet);
  to_rebuild(world);
  const auto next = plan_swap(*world.engine->graph(), fleet_rules(without));
  CHECK(world.engine->healing().lost_to(*next->graph) ==
        std::vector{"healing " + number(world) +
                    " of n0 with rebuild: abandoned, as the rules no longer have it; step \"rebuild\" goes on to its "
                    "end, and nothing follows"});
  world.handle(event::Swap{next});
  CHECK(world.engine->healing().lost_to(*next->graph).empty());
  CHECK_FALSE(world.engine->healings().idle());
  world.end_program(1);
  CHECK(last_end(world) ==
        "healing of n0 with rebuild abandoned: the rules no longer have it; done: \"shutdown\"; failed: \"rebuild\"");
  CHECK(world.alerts_of("Healing abandoned") == 1);
  check_nothing_follows(world);
}

TEST_CASE("an edit that takes the target from the rules abandons its healing where leaving would have been gone",
          "[healing]") {
  const auto rules = [](const Fleet& fleet) {
    return changed(fleet, [](Workflow& plan) { plan.steps[2].what = step::Recovered{.or_gone = true}; });
  };
  FleetWorld world = world_of(rules({.targets = 2}), 2);
  to_rebuild(world);
  world.end_program(0);
  reload(world, rules({.targets = 2, .absent = {0}}));
  CHECK(last_end(world).starts_with("healing of n0 with rebuild abandoned"));
}

TEST_CASE("a row that leaves a list that is read abandons nothing", "[healing]") {
  const bool spelled_anew = GENERATE(true, false);  // the list that stood in the rules is read from now on
  FleetWorld world({.targets = 2, .listed = true, .written = spelled_anew});
  to_rebuild(world);
  reload(world, fleet_rules({.targets = 2, .listed = true, .written = spelled_anew, .absent = {}}));
  RuleSet rules = fleet_rules({.targets = 2, .listed = true, .absent = {0}});
  if (spelled_anew) rules.lists = {"node"};
  reload(world, std::move(rules));
  CHECK(only(world).abandoned.empty());
  world.end_program(1);
  CHECK(world.wait_for("guard") == "n0");  // of its second try
}

TEST_CASE("an edit that takes a row around those of a list that is read abandons what is healed there", "[healing]") {
  // For each SITE in a, b { for each NODE from file { ... } }: n0 and n1 are of site a, n2 and n3 of b.
  const auto rules_of = [](const std::set<int>& absent, const LeftOut& left_out) {
    RuleSet rules = fleet_rules({.targets = 4, .escalate = true, .listed = true, .absent = absent});
    for (auto& one : rules.services) {
      auto block = std::make_shared<ServiceBlock>(*one);
      Row row = *block->row;
      row.variables.insert(row.variables.begin(), {"SITE", block->name < "n2" ? "a" : "b"});
      row.lists.insert(row.lists.begin(), "SITE");
      block->row = std::make_shared<const Row>(std::move(row));
      one = std::move(block);
    }
    rules.left_out = left_out;
    return rules;
  };
  const LeftOut unread{.lists = {"node"}, .rows = {}};
  FleetWorld world = world_of(rules_of({}, {}), 4);
  SECTION("while a program runs") {
    to_rebuild(world);
    SECTION("at once") { reload(world, rules_of({0, 1}, {})); }
    SECTION("when the list is known again") {
      reload(world, rules_of({0, 1, 2, 3}, unread));
      CHECK(only(world).abandoned.empty());
      reload(world, rules_of({0, 1}, {}));
    }
    SECTION("while healer was away") {
      const ActionId program = world.execs.back().action;
      FleetWorld next(make_graph(rules_of({0, 1}, {})), world.saved, world.failed, world.now);
      CHECK_FALSE(only(next).abandoned.empty());
      next.handle(event::ActionEnded{.action = program, .status = 1, .elapsed = seconds{1}});
      check_nothing_follows(next);
      return;
    }
    CHECK(only(world).abandoned == "the rules no longer have it");
    world.end_program(1);
    CHECK(world.alerts_of("Healing abandoned") == 1);
  }
  SECTION("while it waits for approval") {
    RuleSet asks = rules_of({}, {});
    Workflow plan = *asks.workflows.front();
    plan.mode = HealingMode::Approval;
    asks.workflows.front() = std::make_shared<const Workflow>(std::move(plan));
    reload(world, std::move(asks));
    world.fail(0);
    world.advance(minutes{1});
    REQUIRE(only(world).stage() == Healing::Stage::Approval);
    reload(world, rules_of({0, 1}, {}));
    CHECK(world.engine->healings().idle());
    CHECK(world.alerts_of("Healing dropped") == 1);
  }
  SECTION("but not what the list alone has lost") {
    to_rebuild(world);
    reload(world, rules_of({0}, {}));
    CHECK(only(world).abandoned.empty());
    return;
  }
  check_nothing_follows(world);
}

TEST_CASE("an edit that takes a list from the rules abandons what is healed of its rows", "[healing]") {
  FleetWorld world({.targets = 2, .listed = true});
  to_rebuild(world);
  reload(world, fleet_rules({.targets = 2, .absent = {0}}));
  CHECK_FALSE(only(world).abandoned.empty());
}

TEST_CASE("the probation of a target that was taken away ends", "[healing]") {
  FleetWorld world({.targets = 1, .tries = 1, .probation = hours{2}, .tell = "${TARGET} needs a person"});
  to_rebuild(world);
  world.heal(0);
  world.end_program(0);
  world.advance(minutes{11});
  world.handle(event::Command{.id = CommandId{78},
                              .kind = Kind::Heal,
                              .services = {world.id("n0")},
                              .by = ByPerson{"anna"},
                              .workflow = "rebuild"});
  world.pass("guard");
  say(world, Kind::Unmonitor);
  world.pass("shutdown");
  REQUIRE(world.engine->healings().idle());
  say(world, Kind::Monitor);
  world.advance(minutes{11});
  world.fail(0);
  CHECK(world.wait_for("guard") == "n0");  // not its `on failure`
}

TEST_CASE("the ramp is not set back by what was abandoned", "[healing]") {
  FleetWorld world = world_of(changed({.targets = 4},
                                      [](Workflow& plan) {
                                        plan.limits.clear();
                                        plan.ramp = {1, 2};
                                      }),
                              4);
  to_rebuild(world);
  world.heal(0);
  world.end_program(0);
  world.advance(seconds{5});
  REQUIRE(memory_of(world, "rebuild").ramp == 1);
  world.fail(1);
  REQUIRE(world.wait_for("guard") == "n1");
  say(world, Kind::Unmonitor, {"n1"});
  world.end_program(0);
  CHECK(memory_of(world, "rebuild").ramp == 1);
}

TEST_CASE("an abandoned healing goes on as one after a restart", "[healing]") {
  const Fleet fleet{.targets = 1, .escalate = true};
  FleetWorld world(fleet);
  to_rebuild(world);
  say(world, Kind::Unmonitor);
  const ActionId program = world.execs.back().action;
  FleetWorld next(make_graph(fleet_rules(fleet)), world.saved, world.failed, world.now);
  CHECK(only(next).abandoned == "its target was unmonitored by anna");
  const bool unseen = GENERATE(true, false);
  next.handle(event::ActionEnded{.action = program, .status = 0, .unseen = unseen, .elapsed = seconds{1}});
  CHECK(last_end(next).ends_with(unseen ? "; failed: \"rebuild\"" : "; done: \"shutdown\" and \"rebuild\""));
  check_nothing_follows(next);
}

TEST_CASE("a target that was taken from the rules while healer was away is abandoned at its start", "[healing]") {
  const bool listed = GENERATE(true, false);
  const Fleet fleet{.targets = 2, .escalate = true, .listed = listed};
  Fleet without = fleet;
  without.absent = {0};
  FleetWorld world(fleet);
  to_rebuild(world);
  world.end_program(0);
  FleetWorld next(make_graph(fleet_rules(without)), world.saved, world.failed, world.now);
  // A row of a list that is read may only be missing from it.
  CHECK(next.engine->healings().idle() != listed);
  CHECK(next.alerts_of("Healing abandoned") == (listed ? 0 : 1));
}

TEST_CASE("a step that ended while healer was away leads to nothing where an edit has taken its target", "[healing]") {
  const Fleet fleet{.targets = 2, .escalate = true};
  FleetWorld world(fleet);
  world.fail(0);
  world.pass("guard");
  REQUIRE(world.wait_for("shutdown") == "n0");
  const ActionId program = world.execs.back().action;
  Fleet without = fleet;
  without.absent = {0};
  FleetWorld next(make_graph(fleet_rules(without)), world.saved, world.failed, world.now);
  next.handle(event::ActionEnded{.action = program, .status = 0, .elapsed = seconds{1}});
  CHECK(last_end(next) == "healing of n0 with rebuild abandoned: the rules no longer have it; done: \"shutdown\"");
  check_nothing_follows(next);
}

TEST_CASE("a composite is healed as long as one of its members is watched", "[healing]") {
  RuleSet rules = fleet_rules({.targets = 2});
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Alert};
  auto whole = service("whole", {rule});
  whole->kind = kind_named("composite");
  whole->program = {};
  whole->other.edit().composite.members = {"n0", "n1"};
  rules.services.push_back(std::move(whole));
  FleetWorld world = world_of(std::move(rules), 2);
  world.advance(seconds{3});
  world.handle(event::Command{.id = CommandId{78},
                              .kind = Kind::Heal,
                              .services = {world.id("whole")},
                              .by = ByPerson{"anna"},
                              .workflow = "rebuild"});
  world.pass("guard");
  world.wait_for("shutdown");
  REQUIRE(world.engine->healings().all().begin()->second.target == "whole");
  CHECK(say(world, Kind::Unmonitor, {"n0"}) == "n0 unmonitored");
  CHECK(say(world, Kind::Unmonitor, {"n1"}).find("of whole with rebuild is abandoned") != std::string::npos);
}

}  // namespace healing_abandon_test
