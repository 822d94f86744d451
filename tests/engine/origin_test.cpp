// SPDX-License-Identifier: MIT
// Who wants a thing is a kind, not a word: people whose names read like another origin.
#include "engine/events/origin.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "engine/rules/rule_set.hpp"
#include "support/process_world.hpp"
#include "support/records.hpp"

namespace origin_test {

using namespace healer;
using namespace healer::test;
using Kind = event::Command::Kind;
using Programs = std::vector<std::string>;

namespace {

/// web depends on db; both run.
struct Pair {
  ProcessWorld world{rule_set({process("web", {missing_rule()}, {"db"}), process("db")}, seconds{5})};

  explicit Pair(const std::string& person) {
    world.person = person;
    world.bring_up("db");
    world.bring_up("web");
    world.start();
    world.run(seconds{1});
    REQUIRE(world.programs.empty());
  }
};

}  // namespace

TEST_CASE("what is saved of an origin is read as the same") {
  const Origin by = GENERATE(Origin(ByDaemon{}), Origin(ByRule{}), Origin(ByHealing{.id = HealingId{7}}),
                             Origin(ByPerson{"anna"}), Origin(ByPerson{"rule"}), Origin(ByPerson{"healing 7"}),
                             Origin(ByPerson{"healer"}), Origin(ByPerson{"daemon"}), Origin(ByPerson{"person"}),
                             Origin(ByPerson{"person rule"}), Origin(ByPerson{"person "}), Origin(ByPerson{""}));
  CHECK(origin_of(saved_text(by)) == by);
}

TEST_CASE("an origin that an older healer has saved is read") {
  CHECK(origin_of("rule") == Origin(ByRule{}));
  CHECK(origin_of("healing 12") == Origin(ByHealing{.id = HealingId{12}}));
  for (const std::string name : {"anna", "uid 1000", "SIGUSR1", "healing", "healing ", "healing 7x", "healing -7",
                                 "healing 99999999999999999999", "Rule"})
    CHECK(origin_of(name) == Origin(ByPerson{name}));
}

TEST_CASE("people read the same words of a person as of what is called so") {
  CHECK(words_of(ByPerson{"rule"}) == words_of(ByRule{}));
  CHECK(kind_of(ByPerson{"rule"}) == "person");
  CHECK(kind_of(ByRule{}) == "rule");
  CHECK(kind_of(ByHealing{}) == "healing");
  CHECK(kind_of(ByDaemon{}) == "daemon");
  CHECK(is_healing(ByHealing{.id = HealingId{7}, .run = 2}, HealingId{7}));
  CHECK_FALSE(is_healing(ByHealing{.id = HealingId{7}}, HealingId{8}));
  CHECK_FALSE(is_healing(ByPerson{"healing 7"}, HealingId{7}));
}

TEST_CASE("the stop of a person called rule, healing 7 or daemon is a person's stop") {
  Pair pair(GENERATE(as<std::string>(), "anna", "rule", "healing 7", "daemon", "healer"));
  ProcessWorld& world = pair.world;
  world.command(Kind::Pause, {"web"});
  world.command(Kind::Stop, {"db"});
  world.run(seconds{1});
  // A rule or a healing would have left running what is paused.
  CHECK(world.programs == Programs{"stop web", "stop db"});
  REQUIRE(world.engine->monitoring().taken_out(world.id("db")) != nullptr);
  CHECK(world.engine->monitoring().taken_out(world.id("db"))->by == Origin(ByPerson{world.person}));
  CHECK_FALSE(world.engine->monitoring().taken_out(world.id("db"))->given_up());
}

TEST_CASE("the restart of a person called rule is theirs over the end of the daemon") {
  Pair pair(GENERATE(as<std::string>(), "rule", "healing 7"));
  ProcessWorld& world = pair.world;
  world.doings["stop db"] = {.takes = seconds{8}};
  world.command(Kind::Restart, {"db"});
  world.run(seconds{2});
  REQUIRE(world.engine->jobs().size() == 1);
  world.crash(seconds{1});
  REQUIRE(world.engine->jobs().size() == 1);
  CHECK(world.engine->jobs().begin()->second.by == Origin(ByPerson{world.person}));
  // No other person's restart goes before it, as it would before that of a rule.
  world.command(Kind::Restart, {"db"});
  REQUIRE(world.replies.size() == 1);
  CHECK(world.replies[0].text.find("is under way") != std::string::npos);
}

}  // namespace origin_test
