// SPDX-License-Identifier: MIT
#include "store/healing_json.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/healing/variables.hpp"
#include "support/rounds.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/store/healings.hpp"

namespace healing_json_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;
using Json = nlohmann::ordered_json;

namespace {

/// The plan of a healing with all there is, small enough to be read.
Healing some_healing() { return AnyHealing(7).healing(12); }

}  // namespace

TEST_CASE("every field of a healing and its plan is in its text, with every kind of step", "[store]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{201}));
  AnyHealing any(seed);
  Healing healing = any.healing(seed);
  Workflow plan = *healing.plan;
  plan.steps.push_back(any.step(seed % std::variant_size_v<StepWhat>));
  healing.plan = std::make_shared<const Workflow>(plan);
  const std::string text = to_json(healing);
  const auto back = healing_from_json(text);
  INFO(text);
  REQUIRE(back);
  CHECK(same(*back, healing));
  CHECK(to_json(*back) == text);
}

TEST_CASE("a healing that claims its place is read with what it claims it for", "[store]") {
  Healing healing = some_healing();
  healing.at =
      stage::Claiming{GENERATE(stage::Claiming::For::Try, stage::Claiming::For::OnFailure, stage::Claiming::For::Undo)};
  const auto back = healing_from_json(to_json(healing));
  REQUIRE(back);
  CHECK(back->at == healing.at);
}

TEST_CASE("what an earlier healer wrote of another stage is left out", "[store]") {
  Json json = Json::parse(to_json(some_healing()));
  json["position"] = 1;
  json["under_way"] = Json::array();
  json["not_before"] = {{"wall", 5}, {"mono", 5}, {"boot", 1}, {"length", 5}};
  json["reason"] = "again: try 1 failed";
  json["held_by"] = "again";
  json.erase("detour");
  const auto read = [&](const char* stage) {
    json["stage"] = stage;
    const auto back = healing_from_json(json.dump());
    REQUIRE(back);
    return back->at;
  };
  const Deadline due{.wall = WallTime{Duration{5}}, .mono = Duration{5}, .boot = 1, .length = Duration{5}};
  const stage::Waiting waits{.reason = "again: try 1 failed", .held_by = Brake::Again, .not_before = due};
  CHECK(read("between") == HealingStage(stage::Between{waits}));
  CHECK(read("confirming") == HealingStage(stage::Confirming{}));
  CHECK(read("failing") == HealingStage(stage::Failing{{.position = 1}}));
}

TEST_CASE("every field of what is remembered is in its text", "[store]") {
  const auto seed = GENERATE(range(std::uint64_t{1}, std::uint64_t{101}));
  AnyHealing any(seed);
  auto target = any.any<TargetMemory>();
  if (seed % 2 == 0) target.plan = nullptr;
  const auto workflow = any.any<WorkflowMemory>();
  const auto brake = any.any<ClosedBrake>();
  INFO(to_json(target) << to_json(workflow) << to_json(brake));
  REQUIRE(target_from_json(to_json(target)));
  CHECK(same(*target_from_json(to_json(target)), target));
  REQUIRE(workflow_from_json(to_json(workflow)));
  CHECK(*workflow_from_json(to_json(workflow)) == workflow);
  REQUIRE(brake_from_json(to_json(brake)));
  CHECK(*brake_from_json(to_json(brake)) == brake);
}

TEST_CASE("a target of which an earlier healer did not note that it had recovered has not", "[store]") {
  const auto target = target_from_json(
      R"({"target":"n0","rehearsed":false,"cooldown":{"wall":5,"mono":5,"boot":1,"length":5},"healing":7,)"
      R"("end":"failed","ended":9})");
  REQUIRE(target);
  CHECK(target->in_vain());
  CHECK_FALSE(target->recovered);
}

TEST_CASE("what a later healer has added is passed over, what is missing has its default", "[store]") {
  const Healing healing = some_healing();
  Json json = Json::parse(to_json(healing));
  SECTION("more") {
    json["moon"] = {{"phase", {1, 2, 3}}};
    json["plan"]["moon"] = "full";
    for (Json& step : json["plan"]["steps"]) step["what"]["moon"] = nullptr;
    const auto back = healing_from_json(json.dump());
    REQUIRE(back);
    CHECK(same(*back, healing));
  }
  SECTION("a brake, as before there was a word of it, or one of a later healer") {
    json["stage"] = "held";
    json["reason"] = "limit reached: 1 of 1 running";
    json.erase("held_by");
    if (GENERATE(true, false)) json["held_by"] = "moon";
    const auto back = healing_from_json(json.dump());
    REQUIRE(back);
    CHECK(back->held_by() == Brake::Limit);
  }
  SECTION("less") {
    const auto back = healing_from_json(R"({"id": 12, "target": "web1", "plan": {"name": "heal", "steps": [
        {"name": "fix", "what": {"kind": "program"}}, {"what": {"kind": "recovered"}}]}})");
    REQUIRE(back);
    Workflow plan;
    plan.name = "heal";
    plan.steps = {{.name = "fix", .what = step::Program{}}, {.what = step::Recovered{}}};
    Healing expected;
    expected.id = HealingId(12);
    expected.target = "web1";
    expected.plan = std::make_shared<const Workflow>(plan);
    expected.cause = std::make_shared<const effect::Cause>();
    expected.identity = identity_of(expected, {});
    CHECK(same(*back, expected));
  }
}

TEST_CASE("a plan of an earlier healer runs as whom it says, by number", "[store]") {
  const auto back = healing_from_json(
      R"({"id": 12, "target": "web1", "plan": {"name": "heal", "steps": [{"name": "fix", "what": {"kind": "program",
          "command": {"arguments": ["/bin/fix"], "identity":
              {"uid": 33, "gid": 34, "user": "www-data", "home": "/var/www"}, "timeout": 0}}}]}})");
  REQUIRE(back);
  const auto& command = std::get<step::Program>(back->plan->steps.at(0).what).command;
  CHECK(command.identity == Identity{.uid = 33, .gid = 34, .user = "www-data", .home = "/var/www"});
  CHECK_FALSE(command.identity->is_open());
  const auto again = healing_from_json(to_json(*back));
  REQUIRE(again);
  CHECK(same(*again, *back));
  CHECK(hash_of_plan(*again) == hash_of_plan(*back));

  // One of today keeps the names.
  Healing named = *back;
  Workflow plan = *named.plan;
  std::get<step::Program>(plan.steps.at(0).what).command.identity = Identity{.user = "www-data", .group = "www"};
  named.plan = std::make_shared<const Workflow>(plan);
  const auto kept = healing_from_json(to_json(named));
  REQUIRE(kept);
  CHECK(same(*kept, named));
  CHECK(hash_of_plan(*kept) == hash_of_plan(named));
  CHECK(hash_of_plan(named) != hash_of_plan(*back));
}

TEST_CASE("a text that is not what was written is an error that says where", "[store]") {
  const auto error = [](std::string_view text) {
    const auto back = healing_from_json(text);
    REQUIRE_FALSE(back);
    return back.error().what;
  };
  const auto with = [](std::string_view plan) {
    return R"({"id": 12, "plan": {"steps": [{"name": "fix", "what": )" + std::string(plan) + "}]}}";
  };
  REQUIRE(healing_from_json(with(R"({"kind": "wait", "length": 5})")));
  CHECK(error("") == "it is empty");
  CHECK(error("\xff") == "it cannot be read from byte 1 on");
  CHECK(error("[]") == "it is not an object");
  CHECK(error("{}") == "it has no id");
  CHECK(error(R"({"id": 12})") == "it has no plan");
  CHECK(error(R"({"id": -12})") == "id: it is not a number of that kind");
  CHECK(error(R"({"id": 12, "plan": null})") == "plan: it is not an object");
  CHECK(error(R"({"id": 12, "target": 5})") == "target: it is not a text");
  CHECK(error(R"({"id": 12, "target": {"bytes": "fg"}})") == "target: its bytes are not valid");
  CHECK(error(R"({"id": 12, "target": {"bytes": "f"}})") == "target: its bytes are not valid");
  CHECK(error(R"({"id": 12, "rule": "x"})") == "rule: it is not a hash");
  CHECK(error(R"({"id": 12, "asked": 9223372036854775807})") == "asked: it is too far");
  CHECK(error(R"({"id": 12, "round": 4294967296})") == "round: it is not a number of that kind");
  CHECK(error(R"({"id": 12, "saved": [["NAME"]]})") == "saved: it is not a pair");
  CHECK(error(R"({"id": 12, "stage": "stepping", "position": 1, "plan": {}, "under_way": [{}]})") ==
        "position: there is no such step");
  CHECK(error(R"({"id": 12, "stage": "guarding", "plan": {}})") == "stage: its plan has no guard");
  CHECK(error(R"({"id": 12, "stage": "failing", "plan": {"on_failure": [{}]}, "under_way": [{}, {}]})") ==
        "under_way: there are no such steps");
  CHECK(
      error(
          R"({"id": 12, "stage": "failing", "plan": {"on_failure": [{}]}, "under_way": [{"state": "requesting"}]})") ==
      "under_way: that step makes no request");
  CHECK(error(R"({"id": 12, "stage": "failing", "plan": {"on_failure": [{"what": {"kind": "http"}}]},
                  "under_way": [{"state": "polling"}]})") ==
        "under_way: that step does not ask until something is done");
  CHECK(error(R"({"id": 12, "stage": "failing", "plan": {}, "detour": {"position": 1, "under_way": [{}]}})") ==
        "detour: position: there is no such step");
  CHECK(error(with("5")) == "plan: steps: what: it has no kind");
  CHECK(error(with(R"({"kind": "dance"})")) == "plan: steps: what: it is an unknown word");
  CHECK(error(with(R"({"kind": "wait", "length": true})")) ==
        "plan: steps: what: length: it is not a number of that kind");
  std::string deep = R"({"kind": "wait"})";
  for (int i = 0; i < 1000; ++i) deep = R"({"kind": "parallel", "steps": [{"what": )" + deep + "}]}";
  CHECK(error(with(deep)).ends_with("it is too deep"));
}

TEST_CASE("no damage to a text is worse than an error", "[store]") {
  const std::string whole = to_json(some_healing());
  std::mt19937 random(5);
  int errors = 0;
  for (int i = 0; i < healer::test::rounds(3000); ++i) {
    std::string text = whole;
    switch (random() % 3) {
      case 0: text.resize(random() % text.size()); break;
      case 1: text[random() % text.size()] = static_cast<char>(random()); break;
      default: text.erase(random() % text.size(), random() % 20); break;
    }
    const auto back = healing_from_json(text);
    if (!back) {
      ++errors;
      CHECK_FALSE(back.error().what.empty());
    } else {
      CHECK(healing_from_json(to_json(*back)));
    }
  }
  CHECK(errors > healer::test::rounds(1000));
}

}  // namespace healing_json_test
