// SPDX-License-Identifier: MIT
// A healing that a healer began which had no word of its state file, and which this one goes on with in the middle of a
// step: what its programs know it by stays as it was.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "engine/healing/variables.hpp"
#include "engine/rules/rule_set.hpp"
#include "store/healing_json.hpp"
#include "support/fleet_world.hpp"
#include "tests/store/any_store.hpp"
#include "tests/store/raw.hpp"
#include "tests/support/paths.hpp"

namespace healing_upgrade_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;
using healer::test::FleetWorld;

namespace {

// What that healer, which wrote kept_healing.json, has told the program of the step "shutdown".
constexpr std::string_view kHealing = "ee90fbc5-e4d0-8d54-934f-65a1d5eaaca5";
constexpr std::string_view kStep = "a6b79bd8-36af-8b8b-abf3-bc8b3b747cf3";

std::string told(const FleetWorld& world, std::string_view name) {
  for (const auto& [variable, parts] : world.execs.back().place->environment)
    if (variable == name) return parts.at(0).text;
  return {};
}

}  // namespace

TEST_CASE("a healing that an older healer began keeps its identity in the middle of a step", "[store]") {
  const auto graph = make_graph(healer::test::fleet_rules({}));
  // What was under way then, beside the healing: the program of its step.
  FleetWorld before(healer::test::Fleet{});
  before.fail(0);
  before.pass("guard");
  REQUIRE(before.wait_for("shutdown") == "n0");
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = SqliteStore::open(path, {});
    REQUIRE(store);
    effect::Commit all;
    all.sequence = before.saved.last_sequence;
    all.services.assign(before.saved.services.begin(), before.saved.services.end());
    for (const PendingExec& pending : before.saved.execs) {
      all.pending.emplace_back(pending.exec);
      if (pending.started) all.started.push_back(pending.exec.action);
    }
    all.healings = before.saved.healings;
    (*store)->submit(all);
  }
  {
    Raw raw(path);
    raw("DELETE FROM meta WHERE name LIKE 'word%'");
    raw("UPDATE healings SET state = '" +
        healer::test::read_file(healer::test::source_folder() + "/tests/store/kept_healing.json") + "'");
    REQUIRE(raw("SELECT count(*) FROM healings WHERE healing = json_extract(state, '$.id')") == "1");
  }

  auto store = SqliteStore::open(path, {});
  REQUIRE(store);
  const SavedState left = (*store)->load().value();
  REQUIRE(left.word != Hash128{});
  REQUIRE(left.healings.size() == 1);
  CHECK(uuid_of(left.healings[0].identity) == kHealing);
  FleetWorld next(graph, left, before.failed, before.now);
  next.handle(event::ActionEnded{
      .action = before.execs.back().action, .outcome = Outcome::Exited, .status = 7, .elapsed = seconds{1}});
  REQUIRE(next.wait_for("shutdown") == "n0");  // once more
  CHECK(told(next, "HEALER_HEALING") == kHealing);
  CHECK(told(next, "HEALER_STEP") == kStep);
  REQUIRE(next.saved.healings.size() == 1);
  const auto again = healing_from_json(to_json(next.saved.healings[0]));
  REQUIRE(again);
  CHECK(uuid_of(again->identity) == kHealing);
  // Its target is healed, and fails again later: that healing is one of this healer.
  next.end_program(0);
  REQUIRE(next.wait_for("rebuild") == "n0");
  CHECK(told(next, "HEALER_HEALING") == kHealing);
  next.heal(0);
  next.end_program(0);
  next.advance(minutes{20});
  REQUIRE(next.engine->healings().idle());
  next.fail(0);
  REQUIRE(next.wait_for("guard") == "n0");
  REQUIRE(next.engine->healings().all().size() == 1);
  const Healing& young = next.engine->healings().all().begin()->second;
  CHECK(young.identity == identity_of(young, left.word));
  CHECK(young.identity != identity_of(young, {}));
}

}  // namespace healing_upgrade_test
