// SPDX-License-Identifier: MIT
// Services made of others.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/judging/health.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "engine/words/explain.hpp"
#include "simulation/simulator.hpp"
#include "support/engine_world.hpp"

namespace composite_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = Quota::Kind;

const Rule kOne = status_rule(Comparison::NotEqual, 0);
const Rule kThree = status_rule(Comparison::NotEqual, 0, {3, 3, Duration{0}});

Rule members_rule(Quota quota, Tolerance tolerance = {}) {
  Rule rule = status_rule(Comparison::NotEqual, static_cast<std::int64_t>(quota.number), tolerance);
  rule->condition = RuleCondition{{Members{quota}}};
  rule->text = "if members " + std::to_string(static_cast<int>(quota.kind)) + " " + rule->text.substr(3);
  rule->condition->hash =
      hash128("members " + std::to_string(static_cast<int>(quota.kind)) + " " + std::to_string(quota.number));
  return rule;
}

const Rule kTwoFailed = members_rule({Kind::AtLeast, 2});
const Rule kAnyFailed = members_rule({Kind::Any});
const Rule kAllFailed = members_rule({Kind::All});

std::shared_ptr<ServiceBlock> composite(std::string name, std::vector<Rule> rules, std::vector<std::string> members,
                                        std::vector<std::string> groups = {}) {
  auto block = service(std::move(name), std::move(rules));
  block->kind = kind_named("composite");
  block->program = {};
  std::string all = to_string(block->key);
  for (const auto& part : {members, groups})
    for (const std::string& one : part) all += " " + one;
  block->key = hash128(all);
  block->other.edit().composite = {std::move(members), std::move(groups)};
  return block;
}

std::vector<std::shared_ptr<ServiceBlock>> with(std::vector<std::shared_ptr<ServiceBlock>> blocks,
                                                std::vector<std::shared_ptr<ServiceBlock>> more) {
  blocks.insert(blocks.end(), more.begin(), more.end());
  return blocks;
}

std::vector<std::shared_ptr<ServiceBlock>> three() {
  return {service("a", {kOne}), service("b", {kOne}), service("c", {kOne})};
}

/// Programs that answer at once with the status that is set for their service.
struct Answers {
  explicit Answers(World& world) {
    world.answer = [this, &world](ServiceId id) -> std::optional<std::int64_t> {
      const auto found = status.find(world.engine->graph()->at(id).name);
      return found == status.end() ? 0 : found->second;
    };
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  std::map<std::string, std::optional<std::int64_t>> status;  // none: it hangs
};

/// Whose programs were started, in their order.
std::string started(const World& world) {
  std::string all;
  for (const effect::Exec& exec : world.execs) all += (all.empty() ? "" : " ") + exec.cause->service;
  return all;
}

std::string seen(const World& world, std::string_view name) {
  const auto& last = world.engine->service(world.id(name)).last;
  return last ? *last->output : "nothing";
}

void swap(World& world, RuleSet next) { world.handle(event::Swap{plan_swap(*world.engine->graph(), std::move(next))}); }

void tell(World& world, event::Command::Kind kind, std::string_view name) {
  world.handle(event::Command{CommandId{1}, kind, {world.id(name)}, ByPerson{"root"}});
}

}  // namespace

TEST_CASE("what quotas ask for", "[engine][composite]") {
  CHECK_FALSE(Quota{Kind::Any}.met(0, 3));
  CHECK(Quota{Kind::Any}.met(1, 3));
  CHECK_FALSE(Quota{Kind::All}.met(2, 3));
  CHECK(Quota{Kind::All}.met(3, 3));
  CHECK_FALSE(Quota{Kind::All}.met(0, 0));
  CHECK_FALSE(Quota{Kind::AtLeast, 2}.met(1, 3));
  CHECK(Quota{Kind::AtLeast, 2}.met(2, 3));
  CHECK_FALSE(Quota{Kind::MoreThan, 40}.met(2, 5));  // that is 40%
  CHECK(Quota{Kind::MoreThan, 40}.met(3, 5));
  CHECK_FALSE(Quota{Kind::MoreThan, 0}.met(0, 5));
  CHECK_FALSE(Quota{Kind::MoreThan, 0}.met(0, 0));
}

TEST_CASE("a composite acts at once when the last member that is needed fails, and recovers at once",
          "[engine][composite]") {
  World world(rule_set(with({composite("web", {kTwoFailed}, {"a", "b", "c"})}, three()), seconds{10}));
  Answers answers(world);
  for (const char* name : {"a", "b", "c"}) answers.status[name];
  world.start();
  world.advance(Duration{0});
  CHECK(seen(world, "web") == "nothing");  // its members are being looked at
  for (const char* name : {"a", "b", "c"}) world.observe(world.id(name), 0);
  CHECK(seen(world, "web") == "no member of 3 failed");
  CHECK(world.engine->service(world.id("web")).runs == 1);

  world.advance(seconds{10});
  world.observe(world.id("a"), 1);
  CHECK(seen(world, "web") == "1 of 3 members failed: a");
  CHECK(started(world) == "a");
  world.advance(seconds{2});
  world.observe(world.id("b"), 1);
  CHECK(started(world) == "a b web");  // c is still being looked at
  CHECK(world.execs.back().cause->description == "2 of 3 members failed: a, b");
  CHECK(world.execs.back().cause->event_text == "Status failed");
  CHECK(world.engine->composites().health(world.id("web")) == Health::Failed);
  CHECK(world.engine->service(world.id("web")).runs == 1);  // that was no run
  world.observe(world.id("c"), 0);
  CHECK(world.engine->service(world.id("web")).runs == 2);
  CHECK(world.count(RecordKind::RuleFailed) == 3);

  world.advance(seconds{8});
  world.observe(world.id("a"), 0);
  CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
  CHECK(world.records.back().text == "1 of 3 members failed: b");
  CHECK(world.count(RecordKind::RuleRecovered) == 2);
}

TEST_CASE("that a composite has recovered by its healing is told as its members are then", "[engine][composite]") {
  Rule heals = kAnyFailed;
  heals->action = {.kind = ActionKind::Heal, .heal = std::make_shared<const HealOrder>(HealOrder{.workflow = "mend"})};
  RuleSet rules = rule_set(with({composite("web", {heals}, {"a", "b", "c"})}, three()), seconds{10});
  rules.workflows = {std::make_shared<const Workflow>(
      Workflow{.name = "mend",
               .steps = {{.name = "rest", .what = step::Wait{.length = seconds{3}}},
                         {.name = "verify", .what = step::Recovered{.within = minutes{1}}}},
               .key = hash128("mend")})};
  World world(std::move(rules));
  Answers answers(world);
  world.start();
  world.advance(seconds{5});
  for (const char* name : {"a", "b"}) answers.status[name] = 1;
  world.advance(seconds{7});
  REQUIRE(seen(world, "web") == "2 of 3 members failed: a, b");
  for (const char* name : {"a", "b"}) answers.status[name] = 0;
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
  const auto recovered = std::ranges::find_if(world.records, [](const Record& record) {
    return record.kind == RecordKind::RuleRecovered && record.service == "web";
  });
  REQUIRE(recovered != world.records.end());
  CHECK(recovered->text == "no member of 3 failed");
  CHECK(seen(world, "web") == "no member of 3 failed");
}

TEST_CASE("with a tolerance a composite is counted once a cycle", "[engine][composite]") {
  const bool first = GENERATE(true, false);  // in the file
  auto own = composite("web", {members_rule({Kind::AtLeast, 2}, {3, 3, Duration{0}})}, {"a", "b", "c"});
  World world(rule_set(first ? with({own}, three()) : with(three(), {own})));
  Answers answers(world);
  world.start();
  world.advance(milliseconds{1500});
  answers.status = {{"a", 1}, {"b", 1}};
  world.advance(seconds{2});  // two runs
  CHECK(started(world) == "a b");
  tell(world, event::Command::Kind::Validate, "c");
  tell(world, event::Command::Kind::Validate, "web");
  CHECK(started(world) == "a b");
  CHECK(world.replies.back().text == "web failed");
  world.advance(seconds{1});
  CHECK(started(world) == "a b web");
  CHECK(world.engine->service(world.id("web")).runs == 6);  // five, and the one that was asked for
}

TEST_CASE("members that are not judged or not monitored are left out of the whole", "[engine][composite]") {
  World world(rule_set(with(three(), {composite("web", {kAllFailed}, {"a", "b", "c"})})));
  Answers answers(world);
  answers.status = {{"a", 1}};
  world.start();
  world.advance(Duration{0});
  CHECK(seen(world, "web") == "1 of 3 members failed: a");
  tell(world, event::Command::Kind::Unmonitor, "b");
  CHECK(started(world) == "a");
  tell(world, event::Command::Kind::Unmonitor, "c");
  CHECK(started(world) == "a web");
  CHECK(seen(world, "web") == "1 of 1 member failed: a; left out: b, c");
  // Nothing judged: it neither fires nor recovers.
  tell(world, event::Command::Kind::Unmonitor, "a");
  REQUIRE(world.engine->service(world.id("web")).trouble->unknown);
  CHECK(world.engine->service(world.id("web")).trouble->unknown->why ==
        "no member has been checked; left out: a, b, c");
  CHECK(world.engine->composites().health(world.id("web")) == Health::Failed);
  world.advance(seconds{3});
  CHECK(world.engine->composites().health(world.id("web")) == Health::Failed);
  CHECK(world.count(RecordKind::RuleRecovered) == 0);
  answers.status["b"] = std::nullopt;
  tell(world, event::Command::Kind::Monitor, "b");
  world.advance(Duration{0});
  CHECK(world.engine->composites().health(world.id("web")) == Health::Failed);
  world.observe(world.id("b"), 0);
  CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
  CHECK(started(world) == "a web");
}

TEST_CASE("nothing judged fires nothing", "[engine][composite]") {
  auto a = service("a", {kOne});
  a->on_reboot = ServiceBlock::OnReboot::NoStart;
  World world(
      rule_set({a, composite("web", {kAllFailed, kAnyFailed}, {"a"}), composite("none", {kAllFailed}, {}, {"g"})}));
  Answers answers(world);
  world.start();
  world.advance(seconds{5});
  CHECK(started(world).empty());
  CHECK(world.engine->composites().health(world.id("web")) == Health::Unjudged);
  CHECK(condition_of(*world.engine, world.id("web")) == Condition::Initialising);
  CHECK(world.count(RecordKind::RunTimedOut) == 0);
}

TEST_CASE("a paused member counts as its rules say", "[engine][composite]") {
  World world(rule_set({service("a", {kOne}), composite("web", {kAnyFailed}, {"a"})}));
  Answers answers(world);
  world.start();
  world.advance(Duration{0});
  tell(world, event::Command::Kind::Pause, "a");
  answers.status = {{"a", 1}};
  world.advance(seconds{1});
  CHECK(started(world) == "web");
}

TEST_CASE("composites of composites are judged at once, each once, members first", "[engine][composite]") {
  World world(rule_set(with({composite("top", {kAllFailed}, {"left", "right", "a"}),
                             composite("left", {kAnyFailed}, {"a", "b"}), composite("right", {kAnyFailed}, {"a", "c"})},
                            three()),
                       seconds{10}));
  Answers answers(world);
  world.start();
  world.advance(seconds{5});
  const std::size_t before = world.records.size();
  answers.status = {{"a", 1}};
  world.advance(seconds{5});
  CHECK(started(world) == "a left right top");
  CHECK(world.records.size() == before + 4);
  CHECK(seen(world, "top") == "3 of 3 members failed: left, right, a");
  CHECK(world.engine->graph()->ranks[world.id("top").index()] == 2);
}

TEST_CASE("the members of a group follow the group", "[engine][composite]") {
  const auto in_group = [](std::string name) {
    auto block = service(std::move(name), {kOne});
    block->groups = {"Web"};
    block->key = hash128("in group " + block->name);
    return block;
  };
  const auto web = [] { return composite("web", {kAllFailed}, {"c"}, {"web"}); };
  World world(rule_set({web(), in_group("a"), service("b", {kOne}), service("c", {kOne})}));
  Answers answers(world);
  answers.status = {{"a", 1}};
  world.start();
  world.advance(milliseconds{500});
  CHECK(seen(world, "web") == "1 of 2 members failed: a");
  SECTION("one comes in: it is a member once it was judged") {
    swap(world, rule_set({web(), in_group("a"), in_group("b"), service("c", {kOne})}));
    CHECK(seen(world, "web") == "1 of 3 members failed: a");
    CHECK(started(world) == "a");
  }
  SECTION("those that pass go: at once all that are left have failed") {
    auto alone = composite("web", {kAllFailed}, {}, {"web"});
    swap(world, rule_set({alone, in_group("a"), service("b", {kOne}), service("c", {kOne})}));
    CHECK(seen(world, "web") == "1 of 1 member failed: a");
    CHECK(started(world) == "a web");
  }
  SECTION("a new one has to be judged first") {
    answers.status["d"] = std::nullopt;
    swap(world, rule_set({web(), in_group("a"), in_group("d"), service("b", {kOne}), service("c", {kOne})}));
    CHECK(seen(world, "web") == "1 of 2 members failed: a; left out: d");
    world.advance(milliseconds{100});
    world.observe(world.id("d"), 1);
    CHECK(seen(world, "web") == "2 of 3 members failed: a, d");
  }
  SECTION("all are gone") {
    swap(world, rule_set({web(), service("x", {kOne})}));
    REQUIRE(world.engine->service(world.id("web")).trouble->unknown);
    CHECK(world.engine->service(world.id("web")).trouble->unknown->why == "no member has been checked");
    world.advance(seconds{3});
    CHECK(started(world) == "a");
  }
}

TEST_CASE("a reload keeps whether a composite stands failed, whatever its members are now", "[engine][composite]") {
  World world(rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "b", "c"})})));
  Answers answers(world);
  answers.status = {{"a", 1}, {"b", 1}};
  world.start();
  world.advance(milliseconds{500});
  REQUIRE(started(world) == "a b web");
  swap(world, rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "b"})})));
  CHECK(world.engine->composites().health(world.id("web")) == Health::Failed);
  world.advance(seconds{2});
  CHECK(started(world) == "a b web");
  swap(world, rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "c"})})));
  CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
  SECTION("a composite becomes a program, and a program a composite") {
    swap(world, rule_set(with(three(), {service("web", {kOne})})));
    world.advance(seconds{2});
    CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
    swap(world, rule_set({service("a", {kOne}), composite("b", {kAnyFailed}, {"a"}), service("web", {kOne})}));
    world.advance(seconds{2});
    CHECK(seen(world, "b") == "1 of 1 member failed: a");
    CHECK(world.engine->composites().health(world.id("b")) == Health::Failed);
  }
}

TEST_CASE("what a composite was stays so over a restart, and over a reboot until its members were judged",
          "[engine][composite]") {
  const auto rules = [] { return rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "b", "c"})})); };
  World world(rules());
  Answers answers(world);
  answers.status = {{"a", 1}, {"b", 1}};
  world.start();
  world.advance(milliseconds{1500});
  REQUIRE(started(world) == "a b web");

  Instant at = world.now;
  const bool reboot = GENERATE(false, true);
  if (reboot) ++at.boot;
  World next(world.engine->graph(), world.saved, at);
  Answers later(next);
  later.status = {{"a", std::nullopt}, {"b", 0}, {"c", 0}};
  next.start();
  next.advance(milliseconds{500});
  CHECK(next.engine->rules(next.id("web")).front().status == (reboot ? RuleStatus::Failed : RuleStatus::Ok));
  if (reboot) {
    next.observe(next.id("a"), 0);
    CHECK(next.engine->composites().health(next.id("web")) == Health::Ok);
  }
  CHECK(next.count(RecordKind::RuleFailed) == 0);
}

TEST_CASE("a member that hangs holds a composite up for a cycle at most", "[engine][composite]") {
  World world(rule_set(
      with(three(), {composite("web", {members_rule({Kind::AtLeast, 2}, {2, 2, Duration{0}})}, {"a", "b", "c"})})));
  Answers answers(world);
  world.start();
  world.advance(milliseconds{500});
  answers.status = {{"a", 1}, {"b", 1}, {"c", std::nullopt}};
  world.advance(milliseconds{500});  // the second cycle
  CHECK(world.engine->service(world.id("web")).runs == 1);
  world.advance(milliseconds{1000});
  CHECK(world.engine->service(world.id("web")).runs == 2);
  world.advance(milliseconds{1000});
  CHECK(world.engine->service(world.id("web")).runs == 3);
  CHECK(started(world) == "a b web");
  CHECK(world.engine->times(world.id("web")).irregular->overruns == 0);
}

TEST_CASE("a composite with a calendar is judged by it alone", "[engine][composite]") {
  auto own = composite("web", {kAnyFailed}, {"a"});
  own->schedule->kind = Schedule::Kind::Cron;
  own->schedule->cron = {.minutes = ~0ULL, .hours = ~0U, .month_days = ~0U, .months = 0xFFFF, .weekdays = 0xFF};
  World world(rule_set({service("a", {kOne}), own}));
  Answers answers(world);
  world.start();
  world.advance(seconds{10});
  answers.status = {{"a", 1}};
  world.advance(seconds{10});
  CHECK(started(world) == "a");
  world.advance(seconds{60});
  CHECK(started(world) == "a web");
}

TEST_CASE("a composite may be depended upon, stopped and started, and have an 'else'", "[engine][composite]") {
  Rule rule = kAnyFailed;
  rule->recovery->action = {.kind = ActionKind::Exec, .command = Command{.arguments = {"/bin/well"}}};
  auto dependent = service("d", {kOne});
  dependent->depends = {"web"};
  World world(rule_set({service("a", {kOne}), composite("web", {rule}, {"a"}), dependent}));
  Answers answers(world);
  world.start();
  world.advance(Duration{0});
  answers.status = {{"a", 1}};
  world.advance(seconds{1});
  answers.status = {{"a", 0}};
  world.advance(seconds{1});
  CHECK(started(world) == "a web web");
  CHECK(world.execs.back().command.arguments.front() == "/bin/well");
  tell(world, event::Command::Kind::Unmonitor, "web");
  CHECK(world.engine->composites().health(world.id("d")) == Health::Unmonitored);
  tell(world, event::Command::Kind::Start, "web");
  world.advance(seconds{2});
  CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
  tell(world, event::Command::Kind::Restart, "web");
  CHECK(world.replies.back().ok);
  world.advance(seconds{2});
  CHECK(world.engine->composites().health(world.id("web")) == Health::Ok);
}

TEST_CASE("a composite that takes itself out changes what is made of it", "[engine][composite]") {
  Rule rule = kAnyFailed;
  rule->action = {.kind = ActionKind::Unmonitor, .command = {}};
  World world(rule_set({service("a", {kOne}), service("b", {kOne}), composite("inner", {rule}, {"a"}),
                        composite("outer", {kAllFailed}, {"inner", "b"})}));
  Answers answers(world);
  world.start();
  world.advance(Duration{0});
  answers.status = {{"a", 1}, {"b", 1}};
  world.advance(seconds{1});
  CHECK(started(world) == "a b outer");
  CHECK(seen(world, "outer") == "2 of 2 members failed: inner, b");
}

TEST_CASE("many members are not all named", "[engine][composite]") {
  MembersSeen seen{.failed = 14, .whole = 20, .left_out = 1, .failed_names = {"a", "b"}, .left_out_names = {"z"}};
  CHECK(describe(seen) == "14 of 20 members failed: a, b and 12 more; left out: z");
}

TEST_CASE("explain tells of the members of a composite", "[engine][composite]") {
  World world(rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "b", "c"})})));
  Answers answers(world);
  answers.status = {{"a", 1}, {"c", std::nullopt}};
  world.start();
  world.advance(milliseconds{20});
  const Explanation explanation = explain(*world.engine, world.id("web"), world.now);
  REQUIRE(explanation.notes.size() == 3);
  CHECK(explanation.notes[0] == "Its members: a (failed), b (ok), c (not judged).");
  CHECK(explanation.notes[1] == "A run is under way for 20 ms; it waits for its members to be checked.");
}

TEST_CASE("in a simulation composites follow their members", "[engine][composite]") {
  const RuleSet rules = rule_set(with(three(), {composite("web", {kTwoFailed}, {"a", "b", "c"})}));
  const ScriptReading reading =
      read_script("a: 0 1 1 1 0\nb: 0 0 1 1 1\nexpect web failed at 3 seconds\nexpect web running\n", rules);
  REQUIRE(reading.errors.empty());
  const Timeline timeline = simulate(rules, reading.script, utc_civil);
  CHECK(timeline.unmet.empty());
  std::string web;
  for (const TimelineEntry& entry : timeline.entries)
    if (entry.service == "web" && !entry.kind.starts_with("action"))
      web += fmt::format("{} {} {}\n", format_duration(entry.at), entry.kind, entry.text);
  CHECK(web ==
        "2 s rule-failed 2 of 3 members failed: a, b\n"
        "2 s exec /bin/heal\n"
        "4 s rule-recovered 1 of 3 members failed: b\n");

  const ScriptReading wrong = read_script("web: 0 1\n", rules);
  REQUIRE(wrong.errors.size() == 1);
  CHECK(wrong.errors.front().message == "'web' is a composite: it is not checked itself");
}

TEST_CASE("the health of a service", "[engine][composite]") {
  World world(rule_set({service("s", {status_rule(Comparison::NotEqual, 0, {2, 2, Duration{0}})})}));
  const ServiceId s = world.id("s");
  const auto command = [&](event::Command::Kind kind) {
    world.handle(event::Command{CommandId{1}, kind, {s}, ByPerson{"root"}});
  };
  CHECK(world.engine->composites().health(s) == Health::Unjudged);
  world.start();
  world.advance(Duration{0});
  CHECK(world.engine->composites().health(s) == Health::Unjudged);  // its first run is under way
  world.observe(s, 1);
  CHECK(world.engine->composites().health(s) == Health::Ok);  // no rule stands failed yet
  world.advance(seconds{1});
  world.observe(s, 1);
  CHECK(world.engine->composites().health(s) == Health::Failed);
  command(event::Command::Kind::Pause);
  CHECK(world.engine->composites().health(s) == Health::Failed);

  World same_boot(world.engine->graph(), world.saved, world.now);
  CHECK(same_boot.engine->composites().health(s) == Health::Failed);
  Instant later = world.now;
  ++later.boot;
  World other_boot(world.engine->graph(), world.saved, later);
  CHECK(other_boot.engine->composites().health(s) == Health::Unjudged);

  command(event::Command::Kind::Unmonitor);
  CHECK(world.engine->composites().health(s) == Health::Unmonitored);
  command(event::Command::Kind::Monitor);
  CHECK(world.engine->composites().health(s) == Health::Unjudged);
}

}  // namespace composite_test
