// SPDX-License-Identifier: MIT
// Scenarios in virtual time.
#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace engine_test {

using namespace healer;
using namespace healer::test;

namespace {

const Rule kOne = status_rule(Comparison::NotEqual, 0);
const Rule kThree = status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}});

event::Command command(World& world, event::Command::Kind kind, std::uint64_t id = 1) {
  return {CommandId{id}, kind, {world.id("s")}, ByPerson{"root"}};
}

}  // namespace

TEST_CASE("nothing acts before its transition is on disk", "[engine]") {
  World world(rule_set({service("s", {kOne})}));
  world.commits = false;
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 1);
  CHECK(world.execs.empty());
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(world.execs.size() == 1);
}

TEST_CASE("a store that is sick does not stop supervision", "[engine]") {
  World world(rule_set({service("s", {kOne})}));
  world.commits = false;
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 1);
  world.handle(event::Committed{.up_to = world.saved.last_sequence, .unjournalled = true, .reason = "disk full"});
  CHECK(world.execs.size() == 1);
  CHECK(world.count(RecordKind::StoreSick) == 1);
  world.handle(event::Committed{.up_to = world.saved.last_sequence});
  CHECK(world.count(RecordKind::StoreWell) == 1);
}

TEST_CASE("cycles keep a fixed rate, whatever the runs take", "[engine]") {
  World world(rule_set({service("s", {kOne})}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{60});
  CHECK(world.engine->service(world.id("s")).runs == 61);
}

TEST_CASE("every N cycles and healer's own intervals", "[engine]") {
  auto block = service("s", {kOne});
  SECTION("cycles") { block->schedule->cycles = 5; }
  SECTION("interval") {
    block->schedule->kind = Schedule::Kind::Interval;
    block->schedule->interval = seconds{5};
  }
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{21});
  CHECK(world.engine->service(world.id("s")).runs == 5);  // 0, 5, 10, 15, 20
}

TEST_CASE("a cron schedule runs once in each matching minute, over restarts and steps of the clock", "[engine]") {
  auto block = service("s", {kOne});
  block->schedule->kind = Schedule::Kind::Cron;
  block->schedule->cron = {.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF};
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(minutes{10} - seconds{1});
  CHECK(world.engine->service(world.id("s")).runs == 10);

  World again(make_graph(rule_set({block})), world.saved, world.now);
  again.answer = world.answer;
  again.start();
  again.advance(Duration{0});
  CHECK(again.engine->service(again.id("s")).runs == 0);  // this minute has run
  again.advance(seconds{1});
  CHECK(again.engine->service(again.id("s")).runs == 1);

  again.now.wall -= minutes{5};  // set back: nothing is repeated until the clock has caught up
  again.handle(event::Wake{});
  again.advance(minutes{5});
  CHECK(again.engine->service(again.id("s")).runs == 1);
  again.advance(minutes{1});
  CHECK(again.engine->service(again.id("s")).runs == 2);
}

TEST_CASE("not every keeps quiet in matching minutes", "[engine]") {
  auto block = service("s", {kOne});
  block->schedule->kind = Schedule::Kind::NotCron;
  block->schedule->cron = {.minutes = 1ULL << utc_civil(World::kStart.wall).minute,
                           .hours = ~0U,
                           .month_days = ~0U,
                           .months = 0xFFFF,
                           .weekdays = 0xFF};
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(minutes{1} - milliseconds{1});
  CHECK(world.engine->service(world.id("s")).runs == 0);
  world.advance(seconds{10});
  CHECK(world.engine->service(world.id("s")).runs == 10);
}

TEST_CASE("for 90 seconds holds over every run since at least that long", "[engine]") {
  World world(rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {1, 1, seconds{90}})})}, seconds{20}));
  std::vector<std::int64_t> statuses{1, 1, 0, 1, 1, 1, 1, 1, 1};  // bad again from 60 s on: 60..140 is 80 s, 160 fires
  std::size_t run = 0;
  world.answer = [&](ServiceId) { return statuses[std::min(run++, statuses.size() - 1)]; };
  world.start();
  world.advance(seconds{140});
  CHECK(world.execs.empty());
  world.advance(seconds{20});
  CHECK(world.execs.size() == 1);
}

TEST_CASE("a command never counts as a cycle", "[engine]") {
  World world(rule_set({service("s", {kThree})}, seconds{60}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  for (std::uint64_t i = 1; i <= 6; ++i) world.handle(command(world, event::Command::Kind::Validate, i));
  CHECK(world.replies.size() == 6);
  CHECK(world.execs.empty());
  world.advance(seconds{120});
  CHECK(world.execs.size() == 1);
}

TEST_CASE("validate answers when the last run has been judged", "[engine]") {
  World world(rule_set({service("s", {kOne})}, seconds{60}));
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 0);
  world.handle(command(world, event::Command::Kind::Validate));
  CHECK(world.replies.empty());
  world.observe(world.id("s"), 1);
  REQUIRE(world.replies.size() == 1);
  CHECK_FALSE(world.replies.front().ok);
  CHECK(world.replies.front().text == "s failed");
}

TEST_CASE("validate answers by the runs just made, not by what stands failed", "[engine]") {
  Rule slow = kOne;
  slow->recovery->tolerance = {3, 3, Duration{0}};
  Rule last = kOne;
  last->action.kind = ActionKind::Unmonitor;
  World world(rule_set({service("stands", {slow}), service("tolerates", {kThree}), service("fires", {kOne, kThree}),
                        service("leaves", {last})},
                       seconds{60}));
  world.start();
  world.advance(Duration{0});
  const auto judge = [&](std::int64_t stands, std::int64_t others) {
    for (const char* name : {"leaves", "fires", "tolerates"}) world.observe(world.id(name), others);
    world.observe(world.id("stands"), stands);
  };
  judge(1, 0);
  event::Command all{CommandId{1}, event::Command::Kind::Validate, world.engine->graph()->order, ByPerson{"root"}};
  world.handle(all);
  judge(0, 0);
  REQUIRE(world.replies.size() == 1);
  CHECK(condition_of(*world.engine, world.id("stands")) == Condition::Failed);
  CHECK(world.replies.back().ok);
  CHECK(world.replies.back().text == "all 4 services are in order");
  world.handle(all);
  judge(0, 1);
  REQUIRE(world.replies.size() == 2);
  CHECK(condition_of(*world.engine, world.id("tolerates")) == Condition::Running);  // it moved no counter
  CHECK_FALSE(world.engine->service(world.id("leaves")).monitored);
  CHECK_FALSE(world.replies.back().ok);
  CHECK(world.replies.back().text == "3 of 4 services failed: tolerates, fires, leaves");
}

TEST_CASE("validate says which services are not monitored, and that it has looked at none", "[engine]") {
  World world(rule_set({service("web", {kOne}), service("db", {kOne}), service("app", {kOne})}, seconds{60}));
  world.answer = [&](ServiceId id) { return id == world.id("app") ? 1 : 0; };
  world.start();
  const auto answer = [&world](event::Command::Kind kind, const std::vector<std::string>& names) {
    event::Command given{CommandId{1}, kind, {}, ByPerson{"root"}};
    for (const std::string& name : names) given.services.push_back(world.id(name));
    world.handle(given);
    return world.replies.back();
  };
  using Kind = event::Command::Kind;
  answer(Kind::Unmonitor, {"web"});
  const effect::Reply none = answer(Kind::Validate, {"web"});
  CHECK_FALSE(none.ok);
  CHECK(none.text == "nothing was checked; not monitored: web");
  const effect::Reply one = answer(Kind::Validate, {"web", "db"});
  CHECK(one.ok);
  CHECK(one.text == "db is in order; not monitored: web");
  const effect::Reply failed = answer(Kind::Validate, {"app", "web"});
  CHECK_FALSE(failed.ok);
  CHECK(failed.text == "app failed; not monitored: web");
}

TEST_CASE("validate names ten of the services that failed", "[engine]") {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  for (int i = 0; i < 12; ++i) services.push_back(service("s" + std::to_string(i), {kThree}));
  World world(rule_set(services, seconds{60}));
  world.answer = [&](ServiceId id) { return id == world.id("s3") ? 0 : 1; };
  world.start();
  world.handle(
      event::Command{CommandId{1}, event::Command::Kind::Validate, world.engine->graph()->order, ByPerson{"root"}});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies.back().text == "11 of 12 services failed: s0, s1, s2, s4, s5, s6, s7, s8, s9, s10 and 1 more");
}

TEST_CASE("unmonitor then monitor begins afresh", "[engine]") {
  World world(rule_set({service("s", {kThree})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{1});  // two failed runs
  world.handle(command(world, event::Command::Kind::Unmonitor));
  world.advance(seconds{10});
  CHECK(world.execs.empty());
  world.handle(command(world, event::Command::Kind::Monitor));
  world.advance(seconds{1});
  CHECK(world.execs.empty());
  world.advance(seconds{1});
  CHECK(world.execs.size() == 1);
  CHECK(world.replies.size() == 2);
}

TEST_CASE("the same exec of the same rule never overlaps itself, and runs once afterwards", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  SECTION("by default") {
    World world(rule_set({service("s", {rule})}));
    world.answer = [](ServiceId) { return 1; };
    world.start();
    world.advance(seconds{3});
    REQUIRE(world.execs.size() == 1);
    CHECK(world.count(RecordKind::ActionHeld) == 3);
    world.answer = [](ServiceId) { return std::nullopt; };
    world.handle(event::ActionEnded{.action = world.execs.front().action});
    CHECK(world.execs.size() == 2);
    world.handle(event::ActionEnded{.action = world.execs.back().action});
    CHECK(world.execs.size() == 2);
  }
  SECTION("unless it may") {
    rule->action.overlapping = true;
    World world(rule_set({service("s", {rule})}));
    world.answer = [](ServiceId) { return 1; };
    world.start();
    world.advance(seconds{3});
    CHECK(world.execs.size() == 4);
  }
}

TEST_CASE("an action that was committed but not started is started by the next daemon; a started one is adopted",
          "[engine]") {
  const RuleSet rules = rule_set({service("s", {kOne})});
  World world(rules);
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 1);
  REQUIRE(world.execs.size() == 1);

  World second(make_graph(rules), world.saved, world.now);
  second.start();
  REQUIRE(second.execs.size() == 1);
  CHECK(second.execs.front().action == world.execs.front().action);

  world.handle(event::ActionStarted{world.execs.front().action, 4711});
  World third(make_graph(rules), world.saved, world.now);
  third.start();
  CHECK(third.execs.empty());
  CHECK(std::ranges::any_of(third.effects, [](const Effect& e) { return std::holds_alternative<effect::Adopt>(e); }));
}

TEST_CASE("content tests act on every match, changed tests on every change", "[engine]") {
  Rule content;
  content->condition = RuleCondition{{Matches{0, false}}};
  content->mode = Mode::EachMatch;
  content->event = EventKind::Content;
  content->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/content"}}, .overlapping = true};
  Rule changed;
  changed->condition = RuleCondition{{Changed{Attribute::Status}}};
  changed->mode = Mode::EachChange;
  changed->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/changed"}}, .overlapping = true};
  World world(rule_set({service("s", {content, changed})}));
  world.start();
  std::string fired;
  const std::vector<std::pair<int, bool>> runs{{0, true}, {1, true}, {1, false}, {2, true}, {0, false}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    world.advance(i == 0 ? Duration{0} : Duration{seconds{1}});
    world.observe(world.id("s"), runs[i].first, Outcome::Exited, "out", runs[i].second ? 1 : 0);
    for (const auto& exec : std::exchange(world.execs, {}))
      fired += exec.command.arguments.front() + std::to_string(i + 1) + " ";
  }
  CHECK(fired == "/bin/content1 /bin/content2 /bin/changed2 /bin/content4 /bin/changed4 /bin/changed5 ");
}

TEST_CASE("a run that only moves what is remembered does not save its service whole, once it was", "[engine]") {
  Rule rule;
  rule->condition = RuleCondition{{Changed{Attribute::Status}, Compare{Metric::Status, Comparison::Greater, 9}},
                                  {Op::Leaf, Op::Leaf, Op::And}};
  const RuleSet rules = rule_set({service("s", {rule})});
  // What the commits since hold of the service: "whole", or what has changed.
  std::size_t seen = 0;
  const auto saved = [&seen](const World& world) {
    std::string text;
    for (; seen < world.effects.size(); ++seen) {
      const auto* commit = std::get_if<effect::Commit>(&world.effects[seen]);
      if (commit == nullptr) continue;
      for (std::size_t i = 0; i < commit->services.size(); ++i) text += "whole ";
      for (const auto& [name, changed] : commit->remembered)
        for (const Baseline& baseline : changed)
          text += name + ' ' + std::string(to_string(baseline.what)) + ' ' + format_value(*baseline.value) + ' ';
    }
    return text;
  };
  World world(rules);
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 0);
  CHECK(saved(world) == "whole ");
  world.advance(seconds{1});
  world.observe(world.id("s"), 0);
  CHECK(saved(world).empty());
  world.advance(seconds{1});
  world.observe(world.id("s"), 5);
  CHECK(saved(world) == "s status 5 ");
  CHECK(world.saved.services.at("s") == world.engine->save(world.id("s"), *world.engine->graph(), World::kStart));

  World next(make_graph(rules), world.saved, world.now);
  seen = 0;
  next.start();
  next.advance(Duration{0});
  next.observe(next.id("s"), 6);
  CHECK(saved(next) == "s status 6 ");
  CHECK(*next.saved.services.at("s").memory.find(Attribute::Status) == Value{6});
}

TEST_CASE("what is remembered of a file is kept, also where its path was edited while nobody ran", "[engine]") {
  Rule rule;
  rule->condition = RuleCondition{{Changed{Attribute::Size}, Compare{Metric::Size, Comparison::Greater, 1e9}},
                                  {Op::Leaf, Op::Leaf, Op::And}};
  const auto rules = [&rule](const std::string& path) {
    auto block = service("s", {rule});
    block->kind = kind_named("file");
    block->path = path;
    return rule_set({block});
  };
  const auto check = [](World& world, std::int64_t size) {
    const effect::Measure run = world.open.back();
    world.open.clear();
    Facts facts;
    facts.path = PathFacts{.has_size = true, .size = size};
    world.handle(event::measured(
        run.service, run.run,
        {.output = std::make_shared<const std::string>(), .facts = std::make_shared<const Facts>(facts)}));
  };
  const auto size = [](const World& world) {
    return world.engine->service(world.id("s")).memory.find(Attribute::Size);
  };
  World first(rules("/a"));
  first.start();
  first.advance(Duration{0});
  check(first, 5);
  World other(make_graph(rules("/b")), first.saved, first.now);
  CHECK(size(other) == nullptr);
  other.start();
  other.advance(Duration{0});
  check(other, 6);
  const World again(make_graph(rules("/b")), other.saved, other.now);
  REQUIRE(size(again) != nullptr);
  CHECK(*size(again) == Value{6});
  const World back(make_graph(rules("/a")), other.saved, other.now);
  CHECK(size(back) == nullptr);
}

TEST_CASE("after the journal was sick, services are saved whole again", "[engine]") {
  Rule rule;
  rule->condition = RuleCondition{{Changed{Attribute::Status}, Compare{Metric::Status, Comparison::Greater, 9}},
                                  {Op::Leaf, Op::Leaf, Op::And}};
  World world(rule_set({service("s", {rule})}));
  world.start();
  world.advance(Duration{0});
  world.observe(world.id("s"), 0);
  CHECK(world.engine->service(world.id("s")).saved_whole);
  for (const bool sick : {true, false})
    world.handle(event::Committed{.up_to = 0, .unjournalled = sick, .reason = "no disk"});
  CHECK_FALSE(world.engine->service(world.id("s")).saved_whole);
}

TEST_CASE("conditions: and binds tighter than or", "[engine]") {
  Rule rule = kOne;
  // status = 1 or status > 2 and status < 5
  rule->condition =
      RuleCondition{{Compare{Metric::Status, Comparison::Equal, 1}, Compare{Metric::Status, Comparison::Greater, 2},
                     Compare{Metric::Status, Comparison::Less, 5}},
                    {Op::Leaf, Op::Leaf, Op::Leaf, Op::And, Op::Or}};
  rule->action.repeat = 1;
  rule->action.overlapping = true;
  std::string fired;
  for (std::int64_t status = 0; status < 7; ++status) {
    World world(rule_set({service("s", {rule})}));
    world.start();
    world.advance(Duration{0});
    world.observe(world.id("s"), status);
    fired += world.execs.empty() ? '-' : 'x';
  }
  CHECK(fired == "-x-xx--");
}

TEST_CASE("dormant rules, shadow and dry run are judged and recorded, not acted on", "[engine]") {
  RuleSet rules;
  std::size_t alerts = 0;
  auto block = service("s", {kOne});
  *block->recipients = {{.address = "a@b"}};
  SECTION("dormant") {
    block->rules[0]->dormant = true;
    rules = rule_set({block});
  }
  SECTION("shadow") {
    rules = rule_set({block});
    rules.settings.shadow = true;
  }
  SECTION("dry run holds every action but alerts") {
    rules = rule_set({block});
    rules.settings.dry_run = true;
    alerts = 1;
  }
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{3});
  CHECK(world.execs.empty());
  CHECK(world.alerts.size() == alerts);
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  CHECK(world.count(RecordKind::ActionHeld) == 1);
  if (block->rules[0]->dormant) {
    world.handle(command(world, event::Command::Kind::Accept));
    CHECK(world.replies.back().text == "1 dormant rule of 1 service accepted");
    world.advance(seconds{1});
    CHECK(world.execs.size() == 1);
    world.handle(command(world, event::Command::Kind::Accept));
    CHECK(world.replies.back().text == "nothing to accept: no rule of 1 service is dormant");
  }
}

TEST_CASE("alerts go once per transition and recipient, reminders by the count since the firing", "[engine]") {
  auto block = service("s", {kOne});
  *block->recipients = {{.address = "all@b"}, {.address = "third@b", .reminder = 3}};
  EventMask none;
  block->recipients->push_back({.address = "never@b", .events = none});
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{8});  // runs 1..9
  world.answer = [](ServiceId) { return 0; };
  world.advance(seconds{2});
  std::string mails;
  for (const auto& alert : world.alerts) {
    mails += alert.cause->event_text + ":";
    for (const auto& recipient : alert.recipients) mails += recipient.address + " ";
  }
  CHECK(mails ==
        "Status failed:all@b third@b Status failed:third@b Status failed:third@b Status failed:third@b "
        "Status succeeded:all@b third@b ");
}

TEST_CASE("unmonitor acts last and stops the service", "[engine]") {
  Rule first = kOne;
  first->action = {.kind = ActionKind::Unmonitor};
  Rule second = kOne;
  second->text += " second";
  World world(rule_set({service("s", {first, second})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{5});
  CHECK(world.execs.size() == 1);
  CHECK(world.engine->service(world.id("s")).runs == 1);
  CHECK_FALSE(world.engine->service(world.id("s")).monitored);
}

TEST_CASE("after a new boot counts begin again, failed states stay", "[engine]") {
  const RuleSet rules = rule_set({service("s", {kThree}), service("t", {kOne})});
  World world(rules);
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{1});  // s: two failed runs; t: fired
  REQUIRE(world.execs.size() == 1);
  Instant later = world.now;
  SECTION("boot") {
    later.boot = 8;
    later.mono = seconds{20};
  }
  SECTION("gap") {
    later.mono += seconds{10};
    later.wall += seconds{10};
  }
  World next(make_graph(rules), world.saved, later);
  for (auto& exec : world.execs) next.handle(event::ActionEnded{.action = exec.action});
  next.answer = world.answer;
  next.start();
  next.execs.clear();
  next.advance(seconds{1});
  CHECK(next.execs.empty());
  CHECK(next.engine->rules(next.id("t"))[0].status == RuleStatus::Failed);
  next.advance(seconds{1});
  CHECK(next.execs.size() == 1);
}

TEST_CASE("in steady OK nothing is written", "[engine]") {
  World world(rule_set({service("s", {kThree, status_rule(Comparison::Equal, 2, {2, 5, Duration{0}})})}));
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{2});
  const auto sequence = world.saved.last_sequence;
  world.advance(minutes{10});
  CHECK(world.saved.last_sequence == sequence);
}

TEST_CASE("an exec that runs for over an hour is warned of once", "[engine]") {
  World world(rule_set({service("s", {kOne})}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(hours{3});
  CHECK(world.count(RecordKind::ActionLong) == 1);
}

TEST_CASE("a person ends the program of a rule's action, which has failed then", "[engine]") {
  Rule rule = kOne;
  rule->action.repeat = 1;
  auto block = service("s", {rule});
  EventMask mask;
  mask.set(static_cast<std::size_t>(EventKind::Exec));
  *block->recipients = {{.address = "exec@b", .events = mask, .listed = true}};
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{0});
  REQUIRE(world.execs.size() == 1);
  const ActionId action = world.execs.front().action;
  const auto cancel = [&](ActionId id) {
    event::Command command{
        .id = CommandId{7}, .kind = event::Command::Kind::Cancel, .services = {}, .by = ByPerson{"root"}};
    command.job = JobId{id.number()};
    world.handle(command);
    return std::exchange(world.replies, {});
  };
  const auto ended = [&] {
    return std::ranges::count_if(world.effects, [&](const Effect& effect) {
      const auto* const end = std::get_if<effect::EndAction>(&effect);
      return end != nullptr && end->action == action;
    });
  };
  const auto last = [&](RecordKind kind) {
    const auto found = std::ranges::find(world.records.rbegin(), world.records.rend(), kind, &Record::kind);
    return found == world.records.rend() ? Record{} : *found;
  };
  SECTION("at once, whatever the disk does, and once") {
    world.handle(event::ActionStarted{action, 4711});
    world.commits = false;
    CHECK(cancel(action).empty());
    CHECK(ended() == 1);
    world.commits = true;
    world.handle(event::Committed{.up_to = 1'000'000});
    CHECK(ended() == 1);
    REQUIRE(world.replies.size() == 1);
    CHECK(std::exchange(world.replies, {}).front().text == "exec /bin/heal cancelled");
    CHECK(last(RecordKind::ActionHeld).text == "exec /bin/heal is to end: cancelled by root");
    CHECK(last(RecordKind::ActionHeld).subject == action.number());
    const auto again = cancel(action);
    REQUIRE(again.size() == 1);
    CHECK_FALSE(again.front().ok);
    CHECK(again.front().text == "exec /bin/heal is being ended: cancelled by root");
    CHECK(ended() == 1);
    world.alerts.clear();
    world.handle(event::ActionEnded{.action = action, .elapsed = seconds{3}, .output = "half\n"});  // with status 0
    CHECK(last(RecordKind::ActionFailed).text == "exec /bin/heal was ended after 3 s: cancelled by root");
    CHECK(last(RecordKind::ActionFailed).output == "half\n");
    REQUIRE(world.alerts.size() == 1);
    CHECK(world.alerts.front().cause->description == "exec /bin/heal was ended after 3 s: cancelled by root");
    CHECK(world.execs.size() == 1);
    CHECK(world.saved.execs.empty());
    CHECK_FALSE(cancel(action).front().ok);
  }
  SECTION("and not what waits for its end") {
    world.handle(event::ActionStarted{action, 4711});
    world.advance(seconds{2});
    REQUIRE(world.saved.execs.size() == 2);
    CHECK(cancel(action).front().ok);
    CHECK(last(RecordKind::ActionHeld).text == "exec /bin/heal is to end: cancelled by root; it will not be run again");
    world.handle(event::ActionEnded{
        .action = action, .outcome = Outcome::Signalled, .status = 15, .elapsed = seconds{2}, .output = {}});
    CHECK(world.execs.size() == 1);
    CHECK(world.saved.execs.empty());
    world.advance(seconds{1});  // the rule asks for it anew
    CHECK(world.execs.size() == 2);
  }
  SECTION("that has not begun") {
    CHECK(cancel(action).front().ok);
    CHECK(ended() == 1);
    world.handle(event::ActionEnded{.action = action, .outcome = Outcome::NotStarted, .status = 127, .output = {}});
    CHECK(last(RecordKind::ActionFailed).text == "exec /bin/heal was not started: cancelled by root");
    CHECK(world.saved.execs.empty());
  }
}

TEST_CASE("a failed exec is mailed only to those who requested exec events by name", "[engine]") {
  auto block = service("s", {kOne});
  EventMask exec;
  exec.set(static_cast<std::size_t>(EventKind::Exec));
  *block->recipients = {{.address = "all@b"}, {.address = "exec@b", .events = exec, .listed = true}};
  World world(rule_set({block}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(Duration{0});
  world.alerts.clear();
  world.handle(event::ActionEnded{.action = world.execs.front().action, .outcome = Outcome::Exited, .status = 3});
  REQUIRE(world.alerts.size() == 1);
  REQUIRE(world.alerts.front().recipients.size() == 1);
  CHECK(world.alerts.front().recipients.front().address == "exec@b");
  CHECK(world.alerts.front().cause->description == "exec /bin/heal exited with status 3 after 0 ms");
}

TEST_CASE("a herd of more than a hundred services is spread", "[engine]") {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  for (int i = 0; i < 1000; ++i) services.push_back(service("s" + std::to_string(i), {kOne}));
  World world(rule_set(std::move(services), seconds{30}));
  world.start();
  world.advance(Duration{0});
  CHECK(world.open.size() == 100);
  world.advance(seconds{5});
  CHECK(world.open.size() == 1000);
}

TEST_CASE("what people and healer itself do is mailed to who wants to know", "[engine]") {
  RuleSet rules = rule_set({service("s", {status_rule(Comparison::NotEqual, 0)})});
  EventMask action, instance;
  action.set(static_cast<std::size_t>(EventKind::Action));
  instance.set(static_cast<std::size_t>(EventKind::Instance));
  rules.settings.mail.recipients = {{.address = "healer@x", .events = instance, .format = {}}};
  auto block = std::make_shared<ServiceBlock>(*rules.services.front());
  *block->recipients = {{.address = "all@x", .events = EventMask{}.set(), .format = {}},
                        {.address = "action@x", .events = action, .format = {}},
                        {.address = "instance@x", .events = instance, .format = {}}};
  rules.services = {block};
  World world(rules);
  const auto alerts_sent = [&] {
    std::string text;
    for (const effect::Alert& alert : std::exchange(world.alerts, {})) {
      for (const Recipient& recipient : alert.recipients) text += recipient.address + " ";
      text += alert.cause->event_text + " " + alert.cause->service + ", " + alert.cause->action_text + ": " +
              alert.cause->description + "\n";
    }
    return text;
  };
  world.start();
  CHECK(alerts_sent() == "healer@x Monit instance changed healer, start: healer test started\n");
  world.handle(event::Command{CommandId{1}, event::Command::Kind::Unmonitor, {world.id("s")}, ByPerson{"root"}});
  CHECK(alerts_sent() == "all@x action@x Action done s, alert: unmonitor action done\n");
  world.handle(event::Command{CommandId{2}, event::Command::Kind::Monitor, {world.id("s")}, ByPerson{"root"}});
  CHECK(alerts_sent() == "all@x action@x Action done s, alert: monitor action done\n");
  auto another = std::make_shared<ServiceBlock>(*service("another", {}));
  RuleSet more = rules;
  more.services.push_back(another);
  world.handle(event::Swap{plan_swap(*world.engine->graph(), more)});
  CHECK(alerts_sent() ==
        "healer@x Monit instance changed healer, start: rules reloaded: 2 services, 1 added, 0 removed, 0 changed\n");
  world.handle(event::Swap{plan_swap(*world.engine->graph(), more)});
  CHECK(alerts_sent().empty());  // nothing has changed
  world.handle(event::ReloadFailed{"line 3"});
  CHECK(alerts_sent().starts_with("healer@x Rules not loaded healer, alert: the rules files have errors"));
  world.handle(event::ListReported{"list NODE: the row 'a' leaves", false});
  CHECK(alerts_sent().empty());
  world.handle(event::ListReported{"list NODE: could not be read: no", true});
  CHECK(alerts_sent() == "healer@x List healer, alert: list NODE: could not be read: no\n");
  world.handle(event::StateDamaged{"state file s is damaged: x; it was moved to s.corrupt-1"});
  CHECK(alerts_sent() ==
        "healer@x State damaged healer, alert: state file s is damaged: x; it was moved to s.corrupt-1\n");
  CHECK(world.count(RecordKind::StateDamaged) == 1);
  CHECK(world.count(RecordKind::StoreSick) == 0);
  CHECK(to_string(RecordKind::StateDamaged) == "state-damaged");
  CHECK(record_kind("state-damaged") == RecordKind::StateDamaged);
  CHECK(record_kind("store-sick") == RecordKind::StoreSick);
  world.handle(event::Stopping{});
  CHECK(alerts_sent() == "healer@x Monit instance changed healer, stop: healer stopped\n");
}

}  // namespace engine_test
