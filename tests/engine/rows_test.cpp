// SPDX-License-Identifier: MIT
// Rows of lists: a reading of the list is a run of each.
#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "support/engine_world.hpp"

namespace rows_test {

using namespace healer;
using namespace healer::test;

namespace {

const std::string kReady = ".ready";

/// if json '.ready' != "True" [N times]
Rule not_ready(Tolerance tolerance = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0, tolerance);
  rule->condition = RuleCondition{
      {Queried{JsonTest{.filter = kReady, .comparison = Comparison::NotEqual, .value = "True", .quoted = true}}}};
  rule->condition->hash = hash128("not ready");
  rule->text = "if json '.ready' != \"True\" " + std::to_string(tolerance.count);
  return rule;
}

std::shared_ptr<ServiceBlock> row(std::string name, std::vector<Rule> rules, Duration delay = Duration{0}) {
  auto block = service(std::move(name), std::move(rules));
  block->kind = kind_named("row");
  block->program = {};
  block->program->filters = {kReady};
  block->other.edit().listed = {.list = hash128("nodes"), .row = block->name, .delay = delay};
  return block;
}

/// What a reading has found of a row. Nothing: the filter has failed.
std::shared_ptr<const Evidence> found(std::optional<std::string> ready, WallTime known = {}) {
  auto facts = std::make_shared<Facts>();
  facts->further.edit().row = RowSeen{known};
  ValueSeen value{.filter = kReady, .value = std::nullopt};
  if (ready) value.value = "\"" + *ready + "\"";
  if (!ready) value.why = "the filter finds no value";
  facts->further.edit().values = {value};
  Evidence seen;
  seen.output = std::make_shared<const std::string>();
  seen.facts = std::move(facts);
  return std::make_shared<const Evidence>(std::move(seen));
}

void read(World& world, std::optional<std::string> ready, WallTime known = {}, Duration ago = Duration{0}) {
  world.handle(
      event::RowsRead{.began = world.now.mono - ago, .rows = {{world.id("node1"), found(std::move(ready), known)}}});
}

std::uint64_t runs(const World& world) { return world.engine->service(world.id("node1")).runs; }

}  // namespace

TEST_CASE("each reading of its list is a run of a row, and without one nothing is counted", "[engine][rows]") {
  World world(rule_set({row("node1", {not_ready({2, 2, Duration{0}})})}, seconds{30}));
  world.start();
  world.advance(hours{2});
  CHECK(world.open.empty());  // nothing is looked at
  CHECK(runs(world) == 0);
  read(world, "False");
  world.advance(hours{1});  // the list cannot be read
  CHECK(runs(world) == 1);
  CHECK(world.count(RecordKind::RuleFailed) == 0);
  read(world, "False");
  CHECK(world.count(RecordKind::RuleFailed) == 1);
  CHECK(world.records.back().text.find("json .ready is \"False\"") != std::string::npos);
  read(world, std::nullopt);  // neither holds nor clears
  CHECK(world.count(RecordKind::RuleRecovered) == 0);
  read(world, "True");
  CHECK(world.count(RecordKind::RuleRecovered) == 1);
}

TEST_CASE("a look at a row is not answered by a reading that had begun before", "[engine][rows]") {
  World world(rule_set({row("node1", {not_ready()})}, seconds{30}));
  world.start();
  world.advance(minutes{1});
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Validate,
                              .services = {world.id("node1")},
                              .by = ByPerson{"root"}});
  REQUIRE(world.open.size() == 1);
  world.advance(seconds{1});
  read(world, "True", {}, seconds{5});
  CHECK(runs(world) == 0);
  CHECK(world.replies.empty());
  world.advance(seconds{1});
  read(world, "False", {}, milliseconds{500});
  CHECK(runs(world) == 1);
  CHECK(world.replies.size() == 1);
  CHECK(world.count(RecordKind::RuleFailed) == 1);
}

TEST_CASE("a look finds nothing where the list cannot be read, which is no failure of the row", "[engine][rows]") {
  World world(rule_set({row("node1", {not_ready()})}, seconds{30}));
  world.start();
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Validate,
                              .services = {world.id("node1")},
                              .by = ByPerson{"root"}});
  REQUIRE(world.open.size() == 1);
  Evidence unknown;
  unknown.answer = Answer::Unknown;
  unknown.output = std::make_shared<const std::string>("the list NODE could not be read: answered 503");
  world.handle(event::measured(world.id("node1"), world.open.front().run, unknown));
  CHECK(world.count(RecordKind::RunTimedOut) == 0);
  CHECK(world.count(RecordKind::RuleFailed) == 0);
  CHECK(world.replies.size() == 1);
  read(world, "True");
  CHECK_FALSE(world.engine->service(world.id("node1")).trouble->unknown);
}

TEST_CASE("a row is not judged before its name was known for as long as its delay", "[engine][rows]") {
  World world(rule_set({row("node1", {not_ready()}, minutes{20})}, seconds{30}));
  world.start();
  const WallTime known = world.now.wall;
  world.advance(minutes{19});
  read(world, "False", known);
  CHECK(world.count(RecordKind::RuleFailed) == 0);
  CHECK(runs(world) == 0);
  const auto explained = explain(*world.engine, world.id("node1"), world.now);
  bool is_told = false;
  for (const std::string& note : explained.notes)
    is_told = is_told || note.find("not judged before 1 m") != std::string::npos;
  CHECK(is_told);
  world.advance(minutes{1});
  read(world, "False", known);
  CHECK(world.count(RecordKind::RuleFailed) == 1);

  World other(rule_set({row("node1", {not_ready()}, minutes{20})}, seconds{30}));
  other.start();
  read(other, "False");  // it has been known for as long as anybody knows
  CHECK(other.count(RecordKind::RuleFailed) == 1);
}

TEST_CASE("a row that is not monitored is not judged", "[engine][rows]") {
  World world(rule_set({row("node1", {not_ready()})}, seconds{30}));
  world.start();
  const auto command = [&](event::Command::Kind kind) {
    world.handle(
        event::Command{.id = CommandId{1}, .kind = kind, .services = {world.id("node1")}, .by = ByPerson{"root"}});
  };
  command(event::Command::Kind::Unmonitor);
  read(world, "False");
  CHECK(runs(world) == 0);
  command(event::Command::Kind::Monitor);
  CHECK(world.open.empty());
  read(world, "False");
  CHECK(runs(world) == 1);
}

}  // namespace rows_test
