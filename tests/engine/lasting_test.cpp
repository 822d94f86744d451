// SPDX-License-Identifier: MIT
// What must last, and what must not, over crashes, gaps, sick stores, reloads and clocks.
#include <set>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace lasting_test {

using namespace healer;
using namespace healer::test;

namespace {

const Rule kOne = status_rule(Comparison::NotEqual, 0);
const Rule kThree = status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}});

void swap(World& world, RuleSet next) { world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))}); }

World restart(const World& world, const RuleSet& rules, Duration away = Duration{0}) {
  const Instant at{world.now.boot, world.now.mono + away, world.now.wall + away};
  return World(make_graph(rules), world.saved, at);
}

event::Command command(World& world, event::Command::Kind kind, std::uint64_t id = 1) {
  return {CommandId{id}, kind, {world.id("s")}, ByPerson{"root"}};
}

/// Times (seconds since the start) at which runs begin, while `span` passes.
std::vector<double> starts(World& world, Duration span) {
  std::vector<double> times;
  const Duration begin = world.now.mono;
  world.answer = [&](ServiceId) {
    times.push_back(static_cast<double>((world.now.mono - begin).count()) / 1000);
    return 0;
  };
  world.advance(span);
  return times;
}

std::shared_ptr<ServiceBlock> cron_service(CronSpec spec) {
  auto block = service("s", {kOne});
  block->schedule->kind = Schedule::Kind::Cron;
  block->schedule->cron = spec;
  return block;
}

constexpr CronSpec kAlways{.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF};

/// A zone that is an hour ahead until `change`, and `after` from then on.
CivilClock zone(WallTime change, seconds after) {
  return [change, after](WallTime when) {
    const seconds offset = when < change ? seconds{3600} : after;
    CivilTime civil = utc_civil(when + offset);
    civil.offset = offset;
    return civil;
  };
}

}  // namespace

TEST_CASE("a duration goes on over a restart, however long it has lasted already", "[engine]") {
  const RuleSet rules = rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {1, 1, minutes{10}})})});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(minutes{8});
  World next = restart(world, rules, seconds{1});
  next.answer = world.answer;
  next.start();
  next.advance(minutes{2} - seconds{2});
  CHECK(next.execs.empty());
  next.advance(seconds{1});
  CHECK(next.execs.size() == 1);
}

TEST_CASE("a content test that matches on and on goes on matching after a restart", "[engine]") {
  Rule rule;
  rule->condition = RuleCondition{{Matches{0, false}}};
  rule->tolerance = {3, 3, Duration{0}};
  rule->mode = Mode::EachMatch;
  rule->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/content"}}, .overlapping = true};
  rule->dormant = true;  // held, so that nothing but the counting is written
  const RuleSet rules = rule_set({service("s", {rule})});
  World world(rules);
  world.start();
  for (int run = 0; run < 100; ++run) {
    world.advance(run == 0 ? Duration{0} : Duration{seconds{1}});
    world.observe(world.id("s"), 0, Outcome::Exited, "x", 1);
  }
  World next = restart(world, rules, seconds{1});
  next.start();
  next.advance(Duration{0});
  next.observe(next.id("s"), 0, Outcome::Exited, "x", 1);
  CHECK(next.count(RecordKind::RuleMatched) == 1);
}

TEST_CASE("the counts of a daily check go on over a restart in between, not over missed days", "[engine]") {
  CronSpec daily = kAlways;
  daily.minutes = 1;
  daily.hours = 1U << 3;
  auto block = cron_service(daily);
  block->rules = {kThree};
  block->rules[0].key = hash128("three");
  const RuleSet rules = rule_set({block});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(days{2});
  REQUIRE(world.engine->service(world.id("s")).runs == 2);
  SECTION("restarted at once") {
    World next = restart(world, rules, minutes{1});
    next.answer = world.answer;
    next.start();
    next.advance(days{1});
    CHECK(next.execs.size() == 1);
  }
  SECTION("away for five days") {
    World next = restart(world, rules, days{5});
    next.answer = world.answer;
    next.start();
    next.advance(days{2});
    CHECK(next.execs.empty());
    next.advance(days{1});
    CHECK(next.execs.size() == 1);
  }
}

TEST_CASE("ids of actions and alerts are never issued twice, even where the store lost commits", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  rule->action.overlapping = true;
  auto block = service("s", {rule});
  *block->recipients = {{.address = "a@b", .reminder = 1}};
  const RuleSet rules = rule_set({block});
  const SavedState nothing;
  std::set<std::uint64_t> seen;
  Instant at = World::kStart;
  for (int life = 0; life < 4; ++life) {
    World world(make_graph(rules), nothing, at);  // nothing was ever written
    world.answer = [](ServiceId) { return 1; };
    world.start();
    world.advance(seconds{5});
    for (const auto& exec : world.execs) CHECK(seen.insert(exec.action.number()).second);
    for (const auto& alert : world.alerts) CHECK(seen.insert(alert.alert.number()).second);
    at = world.now;
    at.mono += milliseconds{50};
    at.wall += milliseconds{50};
  }
  CHECK(seen.size() == 4U * 12U);
}

TEST_CASE("a firing held back by a running exec is run once by the next daemon too", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  const RuleSet rules = rule_set({service("s", {rule})});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{3});
  REQUIRE(world.execs.size() == 1);
  world.handle(event::ActionStarted{world.execs[0].action, 99});

  World next = restart(world, rules);
  next.start();
  REQUIRE(next.execs.empty());  // the first one still runs
  next.handle(event::ActionEnded{.action = world.execs[0].action, .unseen = true});
  REQUIRE(next.execs.size() == 1);
  CHECK(next.execs[0].action != world.execs[0].action);
  CHECK(next.execs[0].cause->when == World::kStart.wall + seconds{3});  // the latest of those held back
  next.handle(event::ActionEnded{.action = next.execs[0].action});
  CHECK(next.execs.size() == 1);
  CHECK(next.saved.execs.empty());
}

TEST_CASE("of several firings that an earlier daemon has left one is run, and none is kept for ever", "[engine]") {
  Rule overlapping = kOne;
  overlapping->action.overlapping = true;
  overlapping->action.repeat = 1;
  World world(rule_set({service("s", {overlapping})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(milliseconds{3500});  // none of them was started before it was killed
  REQUIRE(world.saved.execs.size() == 4);
  World next = restart(world, rule_set({service("s", {})}));
  next.start();
  REQUIRE(next.execs.size() == 1);
  next.handle(event::ActionStarted{next.execs[0].action, 1});
  const std::vector<PendingExec> left = next.saved.execs;
  for (const PendingExec& pending : left)  // the others are looked for: they may run, but do not
    next.handle(event::ActionEnded{.action = pending.exec.action, .unseen = true});
  CHECK(next.execs.size() == 1);
  CHECK(next.saved.execs.empty());
}

TEST_CASE("a held back firing waits for its own commit too", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  World world(rule_set({service("s", {rule})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.execs.size() == 1);
  world.commits = false;
  world.advance(seconds{1});
  world.handle(event::ActionEnded{.action = world.execs[0].action});
  CHECK(world.execs.size() == 1);
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(world.execs.size() == 2);
}

TEST_CASE("A queued exec that is dropped is reported", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  RuleSet rules = rule_set({service("s", {rule})});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{1});
  REQUIRE(world.count(RecordKind::ActionHeld) == 1);
  world.answer = nullptr;
  RuleSet next = rules;
  SECTION("dry run") { next.settings.dry_run = true; }
  SECTION("the rule is gone") { next = rule_set({service("s", {status_rule(Comparison::Greater, 5)})}); }
  swap(world, next);
  world.handle(event::ActionEnded{.action = world.execs[0].action});
  CHECK(world.execs.size() == 1);
  CHECK(world.count(RecordKind::ActionHeld) == 2);
  CHECK(world.saved.execs.empty());
}

TEST_CASE("Actions withheld in shadow mode are not kept forever", "[engine]") {
  auto block = service("s", {kOne});
  *block->recipients = {{.address = "a@b"}};
  RuleSet rules = rule_set({block});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.saved.alerts.size() == 1);
  rules.settings.shadow = true;
  World next = restart(world, rules);
  next.start();
  CHECK(next.alerts.empty());
  CHECK(next.execs.empty());
  CHECK(next.saved.alerts.empty());
  REQUIRE(next.saved.execs.size() == 1);  // it may run: it is looked for
  SECTION("it does not run") {
    next.handle(event::ActionEnded{.action = next.saved.execs[0].exec.action, .unseen = true});
    CHECK(next.saved.execs.empty());
  }
  SECTION("it runs, and none is started beside it later") {
    const ActionId first = next.saved.execs[0].exec.action;
    next.handle(event::ActionStarted{first, 7});
    Rule again = kOne;
    again->action.repeat = 1;
    auto edited = service("s", {again});
    edited->key = hash128("edited");
    next.answer = [](ServiceId) { return 1; };
    swap(next, rule_set({edited}));
    next.advance(seconds{3});
    CHECK(next.execs.empty());
    REQUIRE(next.engine->programs().queued_of("s").size() == 1);
    next.handle(event::ActionEnded{.action = first, .unseen = true});
    CHECK(next.execs.size() == 1);
  }
}

TEST_CASE("acts that a damaged state holds without a command or a cause are dropped, and nothing else is", "[engine]") {
  const RuleSet rules = rule_set({service("s", {kOne})});
  World before(rules);
  before.start();
  before.advance(Duration{0});
  before.observe(before.id("s"), 1);
  REQUIRE(before.saved.execs.size() == 1);
  PendingExec bare = before.saved.execs.front(), lonely = bare;
  bare.exec.action = ActionId{before.saved.last_id + 1};
  bare.exec.command.arguments.clear();
  lonely.exec.action = ActionId{before.saved.last_id + 2};
  lonely.exec.cause = nullptr;
  lonely.exec.foreground = true;
  before.saved.execs.insert(before.saved.execs.end(), {bare, lonely});
  before.saved.alerts.push_back({AlertId{before.saved.last_id + 3}, {}, nullptr});
  before.saved.last_id += 3;
  World after = restart(before, rules);
  after.start();
  CHECK(after.saved.execs.size() == 1);
  CHECK(after.saved.alerts.empty());
  CHECK(after.count(RecordKind::ActionHeld) == 2);
}

TEST_CASE("a service that is written in another case now is the same to the next daemon", "[engine]") {
  World first(rule_set({service("web", {})}));
  first.start();
  first.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Unmonitor,
                              .services = {first.id("web")},
                              .by = ByPerson{"root"}});
  World second(rule_set({service("Web", {})}), first.saved);
  second.start();
  CHECK_FALSE(second.engine->service(second.id("web")).monitored);
  CHECK(second.saved.services.count("web") == 0);
  REQUIRE(second.saved.services.count("Web") == 1);
  CHECK_FALSE(second.saved.services.at("Web").monitored);
}

TEST_CASE("State of removed services is forgotten at the start", "[engine]") {
  const RuleSet both = rule_set({service("s", {kOne}), service("t", {kOne})});
  World world(both);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.saved.services.size() == 2);
  World next = restart(world, rule_set({service("s", {kOne})}));
  next.start();
  CHECK(next.saved.services.size() == 1);
}

TEST_CASE("services that a reload adds are spread, and each keeps its rate from its first run on", "[engine]") {
  World world(rule_set({service("a", {kOne})}, seconds{30}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{29});
  std::vector<std::shared_ptr<ServiceBlock>> services{service("a", {kOne})};
  for (int i = 0; i < 1000; ++i) services.push_back(service("s" + std::to_string(i), {kOne}));
  world.answer = nullptr;
  swap(world, rule_set(std::move(services), seconds{30}));
  world.advance(Duration{0});
  CHECK(world.open.size() == 100);
  world.advance(seconds{5});
  CHECK(world.open.size() == 1001);
  world.open.clear();
  world.engine->handle(event::Wake{}, world.now, world);
  CHECK(world.count(RecordKind::RunOverrun) == 0);  // none is due again within the cycle
}

TEST_CASE("a service that is monitored again runs at once, then a whole period later", "[engine]") {
  World world(rule_set({service("s", {kThree})}, seconds{60}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{50});
  world.handle(command(world, event::Command::Kind::Unmonitor));
  world.advance(seconds{9});
  world.handle(command(world, event::Command::Kind::Monitor));
  CHECK(starts(world, seconds{130}) == std::vector<double>{0, 60, 120});
}

TEST_CASE("a reload that changes the cycle never lets two runs come close together", "[engine]") {
  const auto rules = [](Duration cycle) { return rule_set({service("s", {kThree})}, cycle); };
  World world(rules(seconds{60}));
  world.start();
  starts(world, seconds{61});  // runs at 0 and 60
  SECTION("longer") {
    swap(world, rules(seconds{62}));
    CHECK(starts(world, seconds{125}) == std::vector<double>{63, 125});
  }
  SECTION("shorter") {
    swap(world, rules(seconds{10}));
    CHECK(starts(world, seconds{20}) == std::vector<double>{9, 19});
  }
  SECTION("of the service's own schedule") {
    auto block = service("s", {kThree});
    block->schedule->cycles = 2;
    block->key = hash128("other");
    swap(world, rule_set({block}, seconds{60}));
    CHECK(starts(world, seconds{180}) == std::vector<double>{59, 179});
  }
}

TEST_CASE("a run that a reload cuts off is made again with the new program", "[engine]") {
  World world(rule_set({service("s", {kOne})}, hours{24}));
  world.start();
  world.advance(Duration{0});
  REQUIRE(world.open.size() == 1);
  const RunId cut = world.open.front().run;
  auto changed = service("s", {kOne});
  changed->program->command.arguments = {"/bin/other"};
  changed->key = hash128("other");
  swap(world, rule_set({changed}, hours{24}));
  REQUIRE(world.open.size() == 1);
  CHECK(world.open.front().run != cut);
  world.observe(world.id("s"), 1);
  CHECK(world.execs.size() == 1);
}

TEST_CASE("when the hour comes twice, a cron schedule of that hour runs once, one of every hour goes on", "[engine]") {
  const WallTime two = std::chrono::floor<hours>(World::kStart.wall) + hours{24};  // UTC hour at which it is set back
  CronSpec spec = kAlways;
  std::size_t expected = 3 * 60;
  SECTION("every minute") {}
  SECTION("at a fixed hour") {
    spec.minutes = 1ULL << 30;
    spec.hours = 1U << utc_civil(two).hour;
    expected = 1;
  }
  const Instant start{.boot = 1, .mono = hours{1}, .wall = two - hours{1} - minutes{1}};
  World world(make_graph(rule_set({cron_service(spec)})), {}, start);
  world.engine = std::make_unique<Engine>(world.engine->graph(), zone(two, seconds{0}), SavedState{}, start);
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(hours{3} - seconds{1});
  CHECK(world.engine->service(world.id("s")).runs == expected);
}

TEST_CASE("when an hour is left out, its cron schedule runs once after the gap", "[engine]") {
  const WallTime two = std::chrono::floor<hours>(World::kStart.wall) + hours{24};
  CronSpec spec = kAlways;
  spec.minutes = 1ULL << 30;
  spec.hours = 1U << utc_civil(two + hours{1}).hour;  // local time goes from this hour's start on by one hour
  const Instant start{.boot = 1, .mono = hours{1}, .wall = two - hours{1}};
  World world(make_graph(rule_set({cron_service(spec)})), {}, start);
  world.engine = std::make_unique<Engine>(world.engine->graph(), zone(two, seconds{7200}), SavedState{}, start);
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(hours{4});
  CHECK(world.engine->service(world.id("s")).runs == 1);
  world.advance(hours{21});
  CHECK(world.engine->service(world.id("s")).runs == 2);
}

TEST_CASE("a cron list matches each of its minutes once; steps of the clock repeat nothing", "[engine]") {
  CronSpec spec = kAlways;
  spec.minutes = 1ULL << 5 | 1ULL << 20 | 1ULL << 50;
  const Instant start{.boot = 1, .mono = hours{1}, .wall = std::chrono::floor<hours>(World::kStart.wall)};
  World world(make_graph(rule_set({cron_service(spec)})), {}, start);
  world.answer = [](ServiceId) { return 0; };
  world.start();
  const auto runs = [&] { return world.engine->service(world.id("s")).runs; };
  world.advance(hours{2});
  CHECK(runs() == 6);
  world.advance(minutes{6});  // :06, it has run at :05
  CHECK(runs() == 7);
  world.now.wall -= minutes{2};  // :04 again
  world.handle(event::Wake{});
  world.advance(minutes{10});
  CHECK(runs() == 7);
  world.now.wall += minutes{5} + seconds{30};  // from :14 to :19:30
  world.handle(event::Wake{});
  world.advance(minutes{1});
  CHECK(runs() == 8);
  world.now.wall += hours{5} + minutes{10};  // over sixteen matching minutes: they have not occurred
  world.handle(event::Wake{});
  world.advance(minutes{1});
  CHECK(runs() == 8);
  world.now.wall -= days{400};  // it was wrong before: the schedule follows
  world.handle(event::Wake{});
  world.advance(hours{1});
  CHECK(runs() == 11);
}

TEST_CASE("the first runs wait for the start delay", "[engine]") {
  RuleSet rules = rule_set({service("s", {kOne})}, seconds{30});
  rules.settings.start_delay = seconds{45};
  World world(rules);
  world.start();
  CHECK(starts(world, seconds{110}) == std::vector<double>{45, 75, 105});
}

TEST_CASE("windows of 64 runs count all 64", "[engine]") {
  World world(rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {2, 64, Duration{0}})})}));
  std::size_t run = 0;
  std::size_t second = 64;
  SECTION("the first failure is the 64th from the end") {}
  SECTION("it is the 65th") { second = 65; }
  world.answer = [&](ServiceId) { return ++run == 1 || run == second ? 1 : 0; };
  world.start();
  world.advance(seconds{70});
  CHECK(world.execs.size() == (second == 64 ? 1U : 0U));
}

TEST_CASE("a slot that is used again begins afresh, whatever still travels from before", "[engine]") {
  World world(rule_set({service("s", {kOne}), service("t", {kOne})}));
  world.start();
  world.advance(Duration{0});
  const auto old = world.open;
  REQUIRE(old.size() == 2);
  const ServiceId slot = world.id("s");
  swap(world, rule_set({service("t", {kOne})}));
  swap(world, rule_set({service("t", {kOne}), service("u", {kOne})}));
  REQUIRE(world.id("u") == slot);
  world.advance(Duration{0});
  for (const auto& run : old)
    if (run.service == slot)
      world.handle(event::measured(slot, run.run, {.status = 1, .output = std::make_shared<const std::string>()}));
  CHECK(world.execs.empty());
  CHECK(world.engine->service(slot).initialising);
}

TEST_CASE("a rule that is moved to another service begins anew there and is gone where it was", "[engine]") {
  World world(rule_set({service("a", {kThree, kOne}), service("b", {kOne})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{1});
  REQUIRE(world.execs.size() == 2);
  swap(world, rule_set({service("a", {kOne}), service("b", {kOne, kThree})}));
  world.advance(seconds{2});
  CHECK(world.execs.size() == 2);
  world.advance(seconds{1});
  REQUIRE(world.execs.size() == 3);
  CHECK(world.execs.back().cause->service == "b");
}

TEST_CASE("A start tells of the death of the daemon before, once, and not of an orderly end") {
  RuleSet rules = rule_set({service("s", {kOne})});
  EventMask all;
  rules.settings.mail.recipients = {{.address = "root@localhost", .events = all.set(), .format = {}}};
  World first(rules);
  first.start();
  CHECK(first.records.front().text == "healer test started");
  CHECK(first.records.front().severity == Severity::Info);
  first.answer = [](ServiceId) { return 0; };
  const auto word = [&](Instant at) {
    World second(make_graph(rules), first.saved, at);
    second.start();
    REQUIRE(second.alerts.size() >= 1);
    CHECK(second.alerts.back().cause->event == EventKind::Instance);
    CHECK(second.alerts.back().cause->description == second.records.front().text);
    return second.records.front().text;
  };
  const auto later = [&](Duration span, std::uint64_t boot = 7) {
    return Instant{boot, first.now.mono + span, first.now.wall + span};
  };
  SECTION("killed") {
    first.advance(minutes{10});
    first.handle(event::ReloadFailed{"line 3"});  // the last thing that it recorded
    CHECK(word(later(minutes{3})) ==
          "healer test started; the previous healerd died: its last record is of 04:34:00 (3 m ago)");
    CHECK(word(later(hours{30})) ==
          "healer test started; the previous healerd died: its last record is of 2026-11-21 04:34:00 (1 d 6 h ago)");
    CHECK(word(later(-minutes{3})) ==
          "healer test started; the previous healerd died: its last record is of 04:34:00 (0 ms ago)");
    CHECK(word(later(minutes{3}, 8)) ==
          "healer test started; the machine was rebooted while the previous healerd was running: its last record is of "
          "04:34:00 (3 m ago)");
  }
  SECTION("killed, and then stopped in good order") {
    World second(make_graph(rules), first.saved, later(minutes{3}));
    second.start();
    CHECK(second.records.front().severity == Severity::Warning);
    second.handle(event::Stopping{});
    first.saved = second.saved;
    CHECK(word(later(minutes{6})) == "healer test started");
  }
  SECTION("stopped; what comes of its mails after that is no life") {
    first.advance(minutes{10});
    first.handle(event::Stopping{});
    first.handle(event::MailOutcome{AlertId{1}, event::MailOutcome::Kind::Sent, "mail sent"});
    CHECK(word(later(minutes{3})) == "healer test started");
    CHECK(word(later(minutes{3}, 8)) == "healer test started");
  }
}

}  // namespace lasting_test
