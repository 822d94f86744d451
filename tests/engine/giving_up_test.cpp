// SPDX-License-Identifier: MIT
// What a rule takes out of monitoring is given up, and counts as failed, until a person or a time takes it up again.
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/judging/health.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace giving_up_test {

using namespace healer;
using namespace healer::test;

namespace {

using Kind = event::Command::Kind;

/// Gives up at the first failed run; `lasting` as in `unmonitor for D`.
Rule limit(Duration lasting = Duration{0}) {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->action = {.kind = ActionKind::Unmonitor, .command = {}};
  rule->action.lasting = lasting;
  rule->text = "if status != 0 then unmonitor";
  return rule;
}

/// "web" depends on "bin", whose rule gives up; ops gets mail of both.
RuleSet web_and_bin(Duration lasting = Duration{0}) {
  auto bin = service("bin", {limit(lasting)});
  auto web = service("web", {status_rule(Comparison::NotEqual, 0)});
  web->depends = {"bin"};
  for (const auto& block : {bin, web}) *block->recipients = {Recipient{.address = "ops@example.org"}};
  return rule_set({bin, web});
}

void say(World& world, Kind kind, const std::string& name, std::optional<Duration> span = {}) {
  event::Command command{.id = CommandId{5}, .kind = kind, .services = {world.id(name)}, .by = ByPerson{"anna"}};
  if (span) command.until = world.now.wall + *span;
  world.handle(command);
}

std::string condition(const World& world, const std::string& name) {
  return std::string(to_string(condition_of(*world.engine, world.id(name))));
}

std::string note(const World& world, const std::string& name) {
  return explain(*world.engine, world.id(name), world.now).notes.front();
}

/// The last that was mailed of a service.
std::shared_ptr<const effect::Cause> mail(const World& world, const std::string& name) {
  std::shared_ptr<const effect::Cause> last;
  for (const effect::Alert& alert : world.alerts)
    if (alert.cause->service == name) last = alert.cause;
  return last;
}

/// Both were given up.
World given_up(Duration lasting = Duration{0}) {
  World world(web_and_bin(lasting));
  world.answer = [&world](ServiceId id) { return world.engine->graph()->at(id).name == "bin" ? 1 : 0; };
  world.start();
  world.advance(milliseconds{1});
  world.answer = [](ServiceId) { return 0; };
  world.advance(seconds{5});
  return world;
}

}  // namespace

TEST_CASE("what a rule has unmonitored is given up, with what depends on it, and names the rule", "[engine]") {
  World world = given_up();
  CHECK(condition(world, "bin") == "given up");
  CHECK(condition(world, "web") == "given up");
  CHECK(world.engine->composites().health(world.id("web")) == Health::GivenUp);
  CHECK(note(world, "bin")
            .starts_with("It was given up 5 s ago by its rule 'if status != 0 then unmonitor': it is not "
                         "checked, and counts as failed"));
  CHECK(note(world, "web").starts_with("It was given up 5 s ago with bin, on which it depends, by the rule"));
  std::vector<std::string> records;
  for (const Record& record : world.records)
    if (record.kind == RecordKind::Unmonitored) records.push_back(record.service + ": " + record.text);
  CHECK(records ==
        std::vector<std::string>{"web: unmonitored by rule of bin, on which it depends: if status != 0 then unmonitor",
                                 "bin: unmonitored by rule: if status != 0 then unmonitor"});

  SECTION("the mails say so, that of the dependent, too") {
    REQUIRE(mail(world, "web"));
    CHECK(mail(world, "web")->event_text == "Given up");
    CHECK(mail(world, "web")->description ==
          "it depends on bin, which is given up by its rule: if status != 0 then unmonitor\n"
          "not monitored until somebody says `healerctl monitor web`");
    REQUIRE(mail(world, "bin"));
    CHECK(mail(world, "bin")->event_text == "Status failed");
    CHECK(mail(world, "bin")
              ->description.ends_with("\nbin is given up by its rule: if status != 0 then unmonitor\n"
                                      "what depends on it, too: web\n"
                                      "not monitored until somebody says `healerctl monitor bin`"));
  }
  SECTION("a person who checks all is told that it is not in order") {
    world.handle(event::Command{
        .id = CommandId{5}, .kind = Kind::Validate, .services = world.engine->graph()->order, .by = ByPerson{"anna"}});
    CHECK_FALSE(world.replies.back().ok);
    CHECK(world.replies.back().text == "2 of 2 services failed: bin (given up), web (given up)");
  }
  SECTION("it outlives the daemon") {
    World next(web_and_bin(), world.saved);
    next.start();
    CHECK(condition(next, "bin") == "given up");
    CHECK(note(next, "web").find("with bin, on which it depends") != std::string::npos);
  }
  SECTION("a state that does not tell it goes by the rules that stand failed") {
    SavedState old = world.saved;
    for (auto& [name, one] : old.services) {
      one.taken_out.reset();
      one.reports_taken_out = false;
    }
    World next(web_and_bin(), old);
    next.start();
    CHECK(condition(next, "bin") == "given up");
    CHECK(condition(next, "web") == "unmonitored");
  }
  SECTION("a person takes it up") {
    say(world, Kind::Monitor, "web");
    CHECK(world.engine->service(world.id("bin")).monitored);
    CHECK(condition(world, "web") == "initialising");
    CHECK(world.engine->monitoring().taken_out(world.id("web")) == nullptr);
  }
  SECTION("a person unmonitors it: then it is not given up any more") {
    say(world, Kind::Unmonitor, "bin");
    CHECK(condition(world, "bin") == "unmonitored");
    CHECK(condition(world, "web") == "unmonitored");
    world.advance(seconds{5});
    CHECK(note(world, "web").starts_with("It was unmonitored by anna 5 s ago"));
    World next(web_and_bin(), world.saved);
    next.start();
    CHECK(condition(next, "bin") == "unmonitored");
  }
  SECTION("a second person's word changes nothing") {
    say(world, Kind::Unmonitor, "bin");
    const std::size_t before = world.count(RecordKind::Unmonitored);
    say(world, Kind::Unmonitor, "bin");
    CHECK(world.count(RecordKind::Unmonitored) == before);
  }
}

TEST_CASE("a rule does not take from a person what the person has unmonitored", "[engine]") {
  World world(web_and_bin());
  world.answer = [&world](ServiceId id) { return world.engine->graph()->at(id).name == "bin" ? 1 : 0; };
  world.start();
  say(world, Kind::Unmonitor, "web");
  world.advance(seconds{2});
  CHECK(condition(world, "bin") == "given up");
  CHECK(condition(world, "web") == "unmonitored");
}

TEST_CASE("a composite counts what was given up as failed", "[engine][composite]") {
  Rule any = status_rule(Comparison::NotEqual, 0);
  any->condition = RuleCondition{{Members{{Quota::Kind::Any}}}};
  any->condition->hash = hash128("any");
  auto whole = service("whole", {any});
  whole->kind = kind_named("composite");
  whole->program = {};
  whole->other.edit().composite = {{"bin"}, {}};
  World world(rule_set({service("bin", {limit()}), whole}));
  world.answer = [](ServiceId) { return 1; };
  world.start();
  world.advance(seconds{2});
  CHECK(condition(world, "bin") == "given up");
  CHECK(condition(world, "whole") == "failed");
  say(world, Kind::Unmonitor, "bin");
  world.advance(seconds{2});
  CHECK(condition(world, "whole") != "running");  // nothing is left to judge it by
  CHECK(world.engine->composites().health(world.id("whole")) != Health::Ok);
}

TEST_CASE("what is unmonitored for a time is monitored again by itself, its counts anew", "[engine]") {
  World world = given_up(hours{1});
  CHECK(note(world, "web").ends_with("it is monitored again in 59 m 54 s, or after `healerctl monitor web`."));
  CHECK(world.records.back().text == "unmonitored by rule for 1 h: if status != 0 then unmonitor");
  SECTION("in time") {
    world.advance(minutes{59});
    CHECK(condition(world, "bin") == "given up");
    world.advance(minutes{2});
    CHECK(condition(world, "bin") == "running");
    CHECK(condition(world, "web") == "running");
    CHECK(world.engine->rules(world.id("bin")).front().status == RuleStatus::Ok);
    CHECK(world.count(RecordKind::Monitored) == 2);
  }
  SECTION("when the wall clock is set ahead") {
    world.now.wall += hours{2};
    world.handle(event::Wake{});
    world.advance(seconds{2});
    CHECK(condition(world, "bin") == "running");
  }
  SECTION("over a restart") {
    world.advance(minutes{30});
    World next(world.engine->graph(), world.saved, world.now);
    next.answer = [](ServiceId) { return 0; };
    next.start();
    next.advance(minutes{29});
    CHECK(condition(next, "bin") == "given up");
    next.advance(minutes{2});
    CHECK(condition(next, "bin") == "running");
  }
  SECTION("that was over before the next daemon came") {
    Instant later = world.now;
    later.mono += hours{3};
    later.wall += hours{3};
    World next(world.engine->graph(), world.saved, later);
    next.answer = [](ServiceId) { return 0; };
    next.start();
    next.advance(seconds{2});
    CHECK(condition(next, "bin") == "running");
  }
  SECTION("not where a person has unmonitored it meanwhile") {
    say(world, Kind::Unmonitor, "bin");
    world.advance(hours{2});
    CHECK(condition(world, "bin") == "unmonitored");
  }
}

TEST_CASE("a person unmonitors for a time, or for another one", "[engine]") {
  World world(web_and_bin());
  world.answer = [](ServiceId) { return 0; };
  world.start();
  world.advance(seconds{2});
  say(world, Kind::Unmonitor, "bin", hours{2});
  CHECK(world.replies.back().text == "bin unmonitored for 2 h");
  CHECK(condition(world, "web") == "unmonitored");
  CHECK(note(world, "web").find("it is monitored again in 2 h") != std::string::npos);
  say(world, Kind::Unmonitor, "bin", minutes{10});
  world.advance(minutes{11});
  CHECK(condition(world, "bin") == "running");
  CHECK(condition(world, "web") == "running");
}

}  // namespace giving_up_test
