// SPDX-License-Identifier: MIT
// What an edit of the rules files leaves as it was: a rule is known by its condition.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace edit_test {

using namespace healer;
using namespace healer::test;

namespace {

Rule healing(const std::string& text = "if status != 0 then exec \"/bin/heal\"") {
  Rule rule = status_rule(Comparison::NotEqual, 0, {}, 1);
  rule->text = text;
  return rule;
}

/// An edit of it: the same condition, another program.
Rule healing_with(const std::string& program) {
  Rule rule = healing("if status != 0 then exec \"" + program + "\"");
  rule->action.command->arguments = {program};
  return rule;
}

/// A rule with another condition.
Rule other(const std::string& program = "/bin/other") {
  Rule rule = status_rule(Comparison::Greater, 0, {}, 1);
  rule->text = "if status > 0 then exec \"" + program + "\"";
  rule->action.command->arguments = {program};
  return rule;
}

void swap(World& world, std::vector<Rule> rules) {
  world.handle(event::Swap{plan_swap(*world.engine->graph(), rule_set({service("s", std::move(rules))}))});
}

/// The daemon ends, the files are edited, and the next one starts.
World restarted(const World& world, std::vector<Rule> rules) {
  World next(make_graph(rule_set({service("s", std::move(rules))})), world.saved, world.now);
  next.answer = world.answer;
  return next;
}

void end(World& world, ActionId action) { world.handle(event::ActionEnded{.action = action, .elapsed = seconds{3}}); }

std::vector<std::string> programs(const World& world) {
  std::vector<std::string> all;
  for (const effect::Exec& exec : world.execs) all.push_back(exec.command.arguments.front());
  return all;
}

using Programs = std::vector<std::string>;

/// One rule has fired, and its program runs.
void fire(World& world) {
  world.start();
  world.advance(seconds{0});
  REQUIRE(world.execs.size() == 1);
  world.handle(event::ActionStarted{world.execs[0].action, 44});
}

RuleIdentity identity(int text, int condition, ActionKind kind = ActionKind::Alert) {
  return {.text = {1, static_cast<std::uint64_t>(text)},
          .condition = condition == 0 ? Hash128{} : Hash128{2, static_cast<std::uint64_t>(condition)},
          .actions = {},
          .kind = kind};
}

}  // namespace

TEST_CASE("rules are matched by condition, then by text, kind of action and order", "[edit]") {
  using List = std::vector<RuleIdentity>;
  using Found = std::vector<std::int32_t>;
  const auto found = [](const List& before, const List& after) { return match_rules(before, after); };
  CHECK(found({identity(1, 1), identity(2, 2)}, {identity(3, 2), identity(4, 1)}) == Found{1, 0});
  CHECK(found({identity(1, 1)}, {identity(2, 2), identity(3, 1), identity(4, 1)}) == Found{-1, 0, -1});
  // Of equal conditions: the one that was not edited, whatever its place.
  CHECK(found({identity(1, 1), identity(2, 1)}, {identity(3, 1), identity(1, 1)}) == Found{1, 0});
  CHECK(found({identity(1, 1, ActionKind::Alert), identity(2, 1, ActionKind::Exec)},
              {identity(3, 1, ActionKind::Exec), identity(4, 1, ActionKind::Alert)}) == Found{1, 0});
  CHECK(found({identity(1, 1), identity(2, 1)}, {identity(3, 1), identity(4, 1)}) == Found{0, 1});
  CHECK(found({identity(1, 1, ActionKind::Stop)}, {identity(2, 1, ActionKind::Exec)}) == Found{0});
  // Of what an earlier version has saved, the text is known alone.
  CHECK(found({identity(1, 0), identity(2, 0)}, {identity(2, 1), identity(3, 1)}) == Found{1, -1});
}

TEST_CASE("an edited rule starts nothing beside what its former text has started", "[edit]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire(world);
  SECTION("over a reload") {
    swap(world, {healing_with("/bin/heal2")});
    world.advance(seconds{3});
    CHECK(world.execs.size() == 1);
    const ServiceState& state = world.engine->service(world.id("s"));
    CHECK(world.engine->rules(world.id("s"))[0].status == RuleStatus::Failed);
    CHECK_FALSE(state.initialising);
    end(world, world.execs[0].action);
    CHECK(programs(world) == Programs{"/bin/heal", "/bin/heal2"});
  }
  SECTION("over a restart, and one more") {
    World first = restarted(world, {healing_with("/bin/heal2")});
    first.start();
    first.advance(seconds{3});
    CHECK(first.execs.empty());
    World next = restarted(first, {healing_with("/bin/heal3")});
    next.start();
    next.advance(seconds{3});
    CHECK(next.execs.empty());
    end(next, world.execs[0].action);
    CHECK(programs(next) == Programs{"/bin/heal3"});
  }
}

TEST_CASE("a firing that waits runs the program that its rule names when its turn comes", "[edit]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire(world);
  world.advance(seconds{1});
  REQUIRE(world.engine->programs().queued_of("s").size() == 1);
  SECTION("another program") {
    swap(world, {healing_with("/bin/heal2")});
    end(world, world.execs[0].action);
    CHECK(programs(world) == Programs{"/bin/heal", "/bin/heal2"});
    REQUIRE(world.saved.execs.size() == 1);
    CHECK(world.saved.execs[0].exec.command.arguments == Programs{"/bin/heal2"});
  }
  SECTION("none") {
    Rule alert = healing("if status != 0 then alert");
    alert->action = {};
    swap(world, {alert});
    end(world, world.execs[0].action);
    CHECK(world.execs.size() == 1);
    CHECK(world.saved.execs.empty());
  }
}

TEST_CASE("an edit of tolerance, action, else or order keeps that a rule stands failed", "[edit]") {
  Rule alert = healing("if status != 0 then alert");
  alert->action = {};
  Rule patient = healing("if status != 0 for 4 cycles then exec \"/bin/heal\"");
  patient->tolerance = {4, 4, Duration{0}};
  patient->action.repeat = 0;
  Rule with_else = healing("if status != 0 then exec \"/bin/heal\" else if succeeded then exec \"/bin/tell\"");
  with_else->action.repeat = 0;
  with_else->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/tell"}}};
  const Rule edited = GENERATE_COPY(alert, patient, with_else);
  Rule former = healing();
  former->action.repeat = 0;
  World world(rule_set({service("s", {former})}));
  world.answer = [](ServiceId) { return 1; };
  fire(world);
  end(world, world.execs[0].action);
  const bool restart = GENERATE(false, true);
  if (!restart) swap(world, {other("/bin/x"), edited});
  World next = restarted(world, {other("/bin/x"), edited});
  World& after = restart ? next : world;
  if (restart) after.start();
  CHECK(after.engine->rules(after.id("s"))[1].status == RuleStatus::Failed);
  after.advance(milliseconds{3500});
  CHECK(std::ranges::count(programs(after), "/bin/heal") == (restart ? 0 : 1));
  CHECK(after.count(RecordKind::RuleFailed) == (restart ? 1U : 2U));  // of /bin/x, and before the edit
}

TEST_CASE("a new rule starts nothing beside the program of one that the reload has removed", "[edit]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire(world);
  SECTION("over a reload") {
    swap(world, {other()});
    world.advance(seconds{2});
    CHECK(world.execs.size() == 1);
    REQUIRE(world.engine->programs().queued_of("s").size() == 1);
    CHECK(std::ranges::any_of(world.records, [](const Record& record) {
      return record.text ==
             "exec /bin/heal of the previous rules is still running: exec /bin/other will be run when it has ended";
    }));
    end(world, world.execs[0].action);
    CHECK(programs(world) == Programs{"/bin/heal", "/bin/other"});
  }
  SECTION("over a restart") {
    World next = restarted(world, {other()});
    next.start();
    next.advance(seconds{2});
    CHECK(next.execs.empty());
    World last = restarted(next, {other()});
    last.start();
    last.advance(seconds{2});
    CHECK(last.execs.empty());
    end(last, world.execs[0].action);
    CHECK(programs(last) == Programs{"/bin/other"});
  }
}

TEST_CASE("a rule that a reload keeps does not wait for the program of one that it removes", "[edit]") {
  std::int64_t status = -1;  // below 0: no failure of the other one
  World world(rule_set({service("s", {healing(), other()})}));
  world.answer = [&](ServiceId) { return status; };
  fire(world);
  swap(world, {other()});
  status = 1;
  world.advance(seconds{1});
  CHECK(programs(world) == Programs{"/bin/heal", "/bin/other"});
}

TEST_CASE("two rules of one condition that change places keep what each has started", "[edit]") {
  World world(rule_set({service("s", {healing_with("/bin/a"), healing_with("/bin/b")})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{0});
  REQUIRE(programs(world) == Programs{"/bin/a", "/bin/b"});
  const auto runs = [&](std::size_t exec) { world.handle(event::ActionStarted{world.execs[exec].action, 44}); };
  runs(0);
  end(world, world.execs[1].action);
  swap(world, {healing_with("/bin/b"), healing_with("/bin/a2")});
  world.advance(seconds{1});
  REQUIRE(programs(world) == Programs{"/bin/a", "/bin/b", "/bin/b"});  // the other one still runs
  runs(2);
  World next = restarted(world, {healing_with("/bin/a3"), healing_with("/bin/b")});
  next.start();
  end(next, world.execs[0].action);
  CHECK(programs(next) == Programs{"/bin/a3"});
}

TEST_CASE("An acceptance of a rule becomes void when its action is edited", "[edit]") {
  Rule dormant = healing();
  dormant->dormant = true;
  World world(rule_set({service("s", {dormant})}));
  world.start();
  world.handle(event::Command{CommandId{1}, event::Command::Kind::Accept, {world.id("s")}, ByPerson{"root"}});
  REQUIRE(world.engine->rules(world.id("s"))[0].accepted);
  Rule tolerant = dormant;
  tolerant->text = "if status != 0 for 2 cycles then exec \"/bin/heal\"";
  tolerant->tolerance = {2, 2, Duration{0}};
  Rule edited = healing_with("/bin/rebuild");
  edited->dormant = true;
  const auto& [rule, accepted] = GENERATE_COPY(std::pair(tolerant, true), std::pair(edited, false));
  World next = restarted(world, {rule});
  CHECK(next.engine->rules(next.id("s"))[0].accepted == accepted);
  swap(world, {rule});
  CHECK(world.engine->rules(world.id("s"))[0].accepted == accepted);
}

TEST_CASE("a state in which rules are known by their whole text is taken over", "[edit]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 1; };
  fire(world);
  for (SavedRule& rule : world.saved.services.at("s").rules) {
    rule.identity = {.text = rule.key};
    rule.state.born = 0;
  }
  World next = restarted(world, {healing()});
  next.start();
  next.advance(seconds{2});
  CHECK(next.execs.empty());
  CHECK(next.engine->rules(next.id("s"))[0].status == RuleStatus::Failed);
  CHECK(next.saved.services.at("s").rules.at(0).identity == next.engine->graph()->at(next.id("s")).rules[0].identity());
  end(next, world.execs[0].action);
  CHECK(next.execs.size() == 1);
}

TEST_CASE("what a reload makes of rules is told, service by service", "[edit]") {
  World world(rule_set({service("s", {healing(), other()}), service("t", {healing()})}));
  const auto plan = plan_swap(*world.engine->graph(),
                              rule_set({service("s", {healing_with("/bin/heal2"), status_rule(Comparison::Equal, 3)}),
                                        service("t", {healing()})}));
  using Kind = RuleChange::Kind;
  CHECK(rule_changes(*world.engine->graph(), *plan) ==
        std::vector<RuleChange>{{"s", "if status != 0 then exec \"/bin/heal2\"", Kind::Kept},
                                {"s", "if status 0 3 1/1", Kind::New},
                                {"s", "if status > 0 then exec \"/bin/other\"", Kind::Removed}});
}

TEST_CASE("a rule that was not judged since it began is not said to have passed", "[edit]") {
  World world(rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}})})}));
  world.answer = [](ServiceId) { return 1; };
  const auto now_of = [&](std::size_t rule) {
    return explain(*world.engine, world.id("s"), world.now).rules[rule].now;
  };
  world.start();
  CHECK(now_of(0) == "has not been judged yet");
  world.advance(seconds{0});
  CHECK(now_of(0).starts_with("the last run failed"));
  SECTION("a new one") {
    swap(world, {status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}}), other()});
    CHECK(now_of(0).starts_with("the last run failed"));
    CHECK(now_of(1) == "has not been judged yet");
  }
  SECTION("one of a service that is monitored anew") {
    world.handle(event::Command{CommandId{1}, event::Command::Kind::Unmonitor, {world.id("s")}, ByPerson{"root"}});
    world.handle(event::Command{CommandId{2}, event::Command::Kind::Monitor, {world.id("s")}, ByPerson{"root"}});
    CHECK(now_of(0) == "has not been judged yet");
  }
}

TEST_CASE("a service that was judged before is not initialising under the next daemon", "[edit]") {
  World world(rule_set({service("s", {healing()})}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  CHECK(condition_of(*world.engine, world.id("s")) == Condition::Initialising);
  world.advance(seconds{0});
  World next = restarted(world, {healing()});
  CHECK(condition_of(*next.engine, next.id("s")) == Condition::Running);
  next.now.boot += 1;
  World rebooted(make_graph(rule_set({service("s", {healing()})})), world.saved, next.now);
  CHECK(condition_of(*rebooted.engine, rebooted.id("s")) == Condition::Initialising);
}

TEST_CASE("every N cycles go on in their phase under the next daemon", "[edit]") {
  auto block = service("s", {healing()});
  *block->schedule = {.kind = Schedule::Kind::Cycles, .cycles = 10, .text = "every 10 cycles"};
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{24});  // runs at 0, 10 and 20
  CHECK(world.engine->service(world.id("s")).runs == 3);
  World next(make_graph(rule_set({block})), world.saved, world.now);
  next.answer = world.answer;
  next.start();
  next.advance(milliseconds{5900});
  CHECK(next.engine->service(next.id("s")).runs == 0);
  next.advance(milliseconds{100});
  CHECK(next.engine->service(next.id("s")).runs == 1);
  next.advance(seconds{10});
  CHECK(next.engine->service(next.id("s")).runs == 2);
  Instant later = next.now;
  later.boot += 1;
  World rebooted(make_graph(rule_set({block})), next.saved, later);
  rebooted.answer = world.answer;
  rebooted.start();
  rebooted.advance(seconds{0});
  CHECK(rebooted.engine->service(rebooted.id("s")).runs == 1);
}

}  // namespace edit_test
