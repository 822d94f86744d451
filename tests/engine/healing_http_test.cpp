// SPDX-License-Identifier: MIT
// Steps of healings that call over HTTP, on the engine in virtual time: what an answer means, doubt, `until`, secrets.
#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "engine/healing/request.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"
#include "support/healing_view.hpp"

using namespace healer;
using namespace healer::test;
using Kind = event::Answered::Kind;

namespace {

const Fleet kCalls{.targets = 1, .tries = 1, .calls = true};
const std::string kSecret = "s3cret/token";

std::string header_of(const effect::Request& request) { return request.headers.at(0).at(0).text; }

void pass_token(FleetWorld& world) {
  REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
  world.answer_request(201, {}, {kSecret});
}

void pass_mark(FleetWorld& world) {
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  world.answer_request(200, {"true"});
}

/// As far as to the update's first question.
void begin_update(FleetWorld& world) {
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  pass_mark(world);
  REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
  world.answer_request(202);
}

std::string last_step(const World& world) {
  for (auto record = world.records.rbegin(); record != world.records.rend(); ++record)
    if (record->kind == RecordKind::HealingStep && record->text.find("step \"") != std::string::npos)
      return record->text;
  return {};
}

bool any_record(const World& world, std::string_view text) {
  return std::ranges::any_of(world.records,
                             [&](const Record& record) { return record.text.find(text) != std::string::npos; });
}

/// The daemon is killed, and another begins with what was saved.
FleetWorld restarted(const FleetWorld& world, const Fleet& fleet) {
  return {make_graph(fleet_rules(fleet)), world.saved, world.failed, world.now};
}

}  // namespace

TEST_CASE("a healing calls over HTTP: it saves a token, marks, updates and asks until that is done",
          "[healing][http]") {
  FleetWorld world(kCalls);
  begin_update(world);
  CHECK(only(world).under_way().front().state == StepRun::State::Polling);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
    CHECK(header_of(world.requests.back()) == "X-Auth-Token: " + kSecret);
    const Instant asked = world.now;
    world.answer_request(200, {"\"UPDATE_IN_PROGRESS\"", "\"UPDATE_IN_PROGRESS\""});
    world.advance(milliseconds{4'900});
    CHECK(world.requests_taken == world.requests.size());  // every 5 seconds
    CHECK(world.now.mono == asked.mono + milliseconds{4'900});
  }
  REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  world.heal(0);
  world.answer_request(200, {"\"UPDATE_COMPLETE\"", "\"UPDATE_COMPLETE\""});
  CHECK(last_step(world) ==
        "healing of n0 with rebuild, step \"update\": PATCH https://heat.example/v1/stack answered 202 in 120 ms, and "
        "was done 15 s later");
  world.advance(seconds{3});
  CHECK(world.engine->healings().idle());
  CHECK(world.alerts_of("Healing recovered") == 1);
}

TEST_CASE("a request is not made before the journal has it, and not at all where it was cancelled before that",
          "[healing][http]") {
  FleetWorld world(kCalls);
  world.fail(0);
  world.wait_for("guard");
  world.commits = false;
  world.end_program(0);
  CHECK(world.requests.empty());
  const HealingId id = only(world).id;
  const Sequence before = world.saved.last_sequence;
  SECTION("it is on disk") {
    world.handle(event::Committed{.up_to = before});
    CHECK(world.requests.size() == 1);
  }
  SECTION("nothing can be written: it waits") {
    world.handle(event::Committed{.up_to = before, .unjournalled = true, .reason = "the disk is full"});
    CHECK(world.requests.empty());
    world.handle(event::Committed{.up_to = world.saved.last_sequence});
    CHECK(world.requests.size() == 1);
  }
  SECTION("cancelled meanwhile") {
    world.handle(event::Command{.id = CommandId{1},
                                .kind = event::Command::Kind::Cancel,
                                .services = {},
                                .by = ByPerson{"anna"},
                                .job = JobId{id.number()}});
    world.handle(event::Committed{.up_to = world.saved.last_sequence});
    CHECK(world.requests.empty());
  }
}

TEST_CASE("nothing secret is in the journal or in what people read", "[healing][http]") {
  FleetWorld world(kCalls);
  begin_update(world);
  CHECK(only(world).saved.empty());
  for (const Record& record : world.records) CHECK(record.text.find(kSecret) == std::string::npos);
  for (const Healing& healing : world.saved.healings) CHECK(healing.saved.empty());
}

TEST_CASE("people are told of an answer without its secrets, and its tests know the whole", "[healing][http]") {
  FleetWorld world(kCalls);
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  CHECK(world.requests.back().hidden == std::vector<std::string>{kSecret});
  event::Answered answer{
      .request = world.requests.back().request, .status = 200, .values = {"\"a secret\""}, .shown = {"\"*****\""}};
  const auto recorded = world.engine->healing().without_secrets(answer);
  REQUIRE(recorded);
  CHECK(std::get<event::Answered>(*recorded).values == std::vector<std::optional<std::string>>{"\"*****\""});
  CHECK(std::get<event::Answered>(*recorded).shown.empty());
  SECTION("it is not as expected") {
    world.handle(answer);
    CHECK(any_record(world, "answered 200, but .marked is \"*****\"; tried again"));
  }
  SECTION("it is, and only the whole shows that") {
    answer.values = {"true"};
    const auto rest = world.engine->healing().without_secrets(answer);
    REQUIRE(rest);
    CHECK(std::get<event::Answered>(*rest).values == std::vector<std::optional<std::string>>{"true"});
    world.handle(answer);
    CHECK(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
  }
}

TEST_CASE("a step that has failed says why, and is tried again as often as it says", "[healing][http]") {
  FleetWorld world(kCalls);
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  SECTION("a status that is not expected") {
    world.answer_request(500);
    CHECK(last_step(world) ==
          "healing of n0 with rebuild, step \"mark\": PATCH https://heat.example/v1/resources/n0: answered 500, "
          "expected 200 to 299; tried again in 1 s");
  }
  SECTION("what the answer says") {
    world.answer_request(200, {"false"});
    CHECK(any_record(world, "answered 200, but .marked is false; tried again"));
  }
  SECTION("a value that is not known is none") {
    world.answer_request(200, {std::nullopt});
    CHECK(any_record(world, "answered 200, but .marked has no value; tried again"));
  }
  SECTION("nobody is there") {
    world.fail_request(Kind::Failed, "could not connect to heat.example:443: connection refused");
    CHECK(any_record(world, "resources/n0: could not connect to heat.example:443: connection refused; tried again"));
  }
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  world.answer_request(404);
  CHECK(world.engine->healings().idle());
  CHECK(any_record(world, "step \"mark\" PATCH https://heat.example/v1/resources/n0: answered 404"));
}

TEST_CASE("a step in doubt is run again only if it may be repeated", "[healing][http]") {
  FleetWorld world(kCalls);
  world.fail(0);
  world.pass("guard");
  const auto doubt = [&](int how) {
    how == 0   ? world.fail_request(Kind::InDoubt, "heat.example:443 did not answer within 30 s")
    : how == 1 ? world.answer_request(502)
               : world.answer_request(504);
  };
  const int how = GENERATE(0, 1, 2);
  SECTION("repeatable: once, even though no retry is written") {
    REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
    doubt(how);
    REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
    doubt(how);
    CHECK(world.engine->healings().idle());
    CHECK(world.requests.size() == 2);
  }
  SECTION("not repeatable") {
    pass_token(world);
    pass_mark(world);
    REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
    doubt(how);
    CHECK(world.engine->healings().idle());
    CHECK(any_record(world, "whether it was done is unknown, and it is not 'repeatable'"));
  }
}

TEST_CASE("until: what fails ends it, what has not come in time has failed, doubtful answers are asked again",
          "[healing][http]") {
  FleetWorld world(kCalls);
  begin_update(world);
  REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  SECTION("fail") {
    world.answer_request(200, {"\"UPDATE_FAILED\"", "\"UPDATE_FAILED\""});
    CHECK(world.engine->healings().idle());
    CHECK(any_record(world, "answered 202 in 120 ms, and then failed: .status is \"UPDATE_FAILED\""));
  }
  SECTION("time") {
    const Duration began = world.now.mono;
    while (!world.engine->healings().idle() && world.now.mono < began + hours{1}) {
      if (world.requests_taken <= world.requests.size()) world.fail_request(Kind::InDoubt, "no answer");
      world.advance(seconds{1});
    }
    CHECK(world.now.mono - began >= minutes{10});
    CHECK(world.now.mono - began <= minutes{10} + seconds{2});
    CHECK(any_record(world, "and was not done within 10 m: no answer"));
  }
  SECTION("an answer that does not come: the time runs all the same, and nobody waits for it") {
    const ActionId last = world.requests.back().request;
    world.advance(minutes{10} + seconds{1});
    CHECK(world.engine->healings().idle());
    CHECK(world.ended_requests == std::vector{last});
  }
}

TEST_CASE("a person who cancels ends the request, and the questions", "[healing][http]") {
  FleetWorld world(kCalls);
  const bool polls = GENERATE(false, true);
  if (polls) {
    begin_update(world);
    REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  } else {
    world.fail(0);
    world.pass("guard");
    world.wait_for_request("POST", "/v3/auth/tokens");
  }
  const ActionId last = world.requests.back().request;
  world.handle(event::Command{.id = CommandId{1},
                              .kind = event::Command::Kind::Cancel,
                              .services = {},
                              .by = ByPerson{"anna"},
                              .job = JobId{only(world).id.number()}});
  CHECK(world.ended_requests == std::vector{last});
  CHECK(world.wait_for("undo") == "n0");
  world.end_program(0);
  CHECK(world.engine->healings().idle());
}

TEST_CASE("after a death of the daemon a request is made again only where it may be repeated", "[healing][http]") {
  FleetWorld first(kCalls);
  first.fail(0);
  first.pass("guard");
  SECTION("it may") {
    REQUIRE(first.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
    FleetWorld world = restarted(first, kCalls);
    CHECK(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
    CHECK(any_record(world, "it is made again, as it may be repeated"));
  }
  SECTION("it may not") {
    pass_token(first);
    pass_mark(first);
    REQUIRE(first.wait_for_request("PATCH", "/v1/stack") != ActionId{});
    FleetWorld world = restarted(first, kCalls);
    CHECK(world.engine->healings().idle());
    CHECK(any_record(world, "healer was restarted before the answer came; whether it was done is unknown"));
  }
}

TEST_CASE("a daemon that ends begins nothing, takes answers, and asks no more whether something is done",
          "[healing][http]") {
  FleetWorld world(kCalls);
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  REQUIRE(world.wait_for_request("PATCH", "/resources/n0") != ActionId{});
  const auto stops = [&] { return world.handle(event::Stopping{.waits = true}); };
  SECTION("a request under way") {
    stops();
    CHECK(world.engine->healings().askers().awaited() ==
          std::vector<std::string>{
              "the answer to PATCH https://heat.example/v1/resources/n0 (healing of n0 with rebuild, "
              "step \"mark\")"});
    world.answer_request(200, {"true"});
    CHECK(world.requests_taken == world.requests.size());  // the next step does not begin
    CHECK(only(world).under_way().front().state == StepRun::State::Fresh);
    CHECK(world.engine->healings().askers().awaited().empty());
  }
  SECTION("a question under way") {
    world.answer_request(200, {"true"});
    REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
    world.answer_request(202);
    REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
    stops();
    CHECK(world.engine->healings().askers().awaited().empty());
    CHECK(only(world).under_way().front().state == StepRun::State::Polling);
  }
  const std::size_t asked = world.requests.size();
  world.handle(event::Stopping{});
  CHECK(any_record(world, "healer stopped"));
  world.advance(minutes{1});
  CHECK(world.requests.size() == asked);
  FleetWorld next = restarted(world, kCalls);
  next.heal(0);
  CHECK(next.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});  // whose secret was lost; and so it goes on
}

TEST_CASE("until goes on after a death of the daemon, for the rest of its time, with a token that was asked for anew",
          "[healing][http]") {
  FleetWorld first(kCalls);
  begin_update(first);
  first.wait_for_request("GET", "/v1/stack");
  first.answer_request(200, {"\"UPDATE_IN_PROGRESS\"", "\"UPDATE_IN_PROGRESS\""});
  first.advance(minutes{9});
  FleetWorld world = restarted(first, kCalls);
  REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
  CHECK(only(world).progress()->detour.has_value());
  CHECK(any_record(world, "TOKEN was lost when healer was restarted"));
  world.answer_request(201, {}, {"another"});
  REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  CHECK_FALSE(only(world).progress()->detour.has_value());
  CHECK(header_of(world.requests.back()) == "X-Auth-Token: another");
  SECTION("it is done") {
    world.heal(0);
    world.answer_request(200, {"\"UPDATE_COMPLETE\"", "\"UPDATE_COMPLETE\""});
    world.advance(seconds{3});
    CHECK(world.engine->healings().idle());
    CHECK(world.alerts_of("Healing recovered") == 1);
  }
  SECTION("it is not") {
    world.advance(minutes{1} + seconds{1});
    CHECK(world.engine->healings().idle());
  }
  CHECK(std::ranges::count(world.requests, "PATCH", &effect::Request::method) == 0);
}

TEST_CASE("a daemon that dies while it asks for a lost token asks for it again", "[healing][http]") {
  FleetWorld first(kCalls);
  begin_update(first);
  FleetWorld second = restarted(first, kCalls);
  REQUIRE(second.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
  FleetWorld world = restarted(second, kCalls);
  REQUIRE(world.wait_for_request("POST", "/v3/auth/tokens") != ActionId{});
  world.answer_request(201, {}, {"another"});
  CHECK(world.wait_for_request("GET", "/v1/stack") != ActionId{});
}

TEST_CASE("what a lost secret cannot be saved again fails the first step that needs it", "[healing][http]") {
  Fleet fleet = kCalls;
  RuleSet rules = fleet_rules(fleet);
  auto once = std::make_shared<Workflow>(*rules.workflows[0]);
  once->steps[0].repeatable = false;
  rules.workflows[0] = once;
  auto graph = make_graph(std::move(rules));
  FleetWorld first(graph, {}, {false}, World::kStart);
  begin_update(first);
  FleetWorld world(graph, first.saved, first.failed, first.now);
  CHECK(world.engine->healings().idle());
  CHECK(any_record(world, "step \"update\" has no value for ${TOKEN}"));
}

TEST_CASE("the first failure of parallel requests ends the others", "[healing][http]") {
  RuleSet rules = fleet_rules(kCalls);
  auto both = std::make_shared<Workflow>(*rules.workflows[0]);
  const auto ask = [](const std::string& name) {
    return Step{.name = name, .what = step::Http{.request = {.method = "POST", .url = "https://h.example/" + name}}};
  };
  both->steps = {{.name = "both", .what = step::Parallel{{ask("a"), ask("b")}}}};
  rules.workflows[0] = both;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.pass("guard");
  REQUIRE(world.wait_for_request("POST", "/b") != ActionId{});
  REQUIRE(world.requests.size() == 2);
  world.handle(event::Answered{.request = world.requests[0].request, .status = 500});
  CHECK(world.ended_requests == std::vector{world.requests[1].request});
  CHECK(world.engine->healings().idle());
  world.handle(event::Answered{.request = world.requests[1].request, .status = 200});  // too late: nobody minds
  CHECK(world.engine->healings().idle());
}

TEST_CASE("what a program has written is saved by filter and by expression, secrets nowhere", "[healing][http]") {
  RuleSet rules = fleet_rules({.targets = 1, .tries = 1});
  auto workflow = std::make_shared<Workflow>(*rules.workflows[0]);
  auto& program = std::get<step::Program>(workflow->steps[0].what);
  program.saves = {{.from = Saving::From::Json, .what = ".[] | select(.name == $TARGET)", .name = "ID"},
                   {.from = Saving::From::Regex, .what = "key ([a-z]+)", .name = "KEY", .secret = true}};
  rules.workflows[0] = workflow;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.pass("guard");
  REQUIRE(world.wait_for("shutdown") == "n0");
  const ActionId action = world.execs.back().action;
  const std::vector<Saving> asked = world.engine->healing().savings_of(action, world.now);
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].what == "\"n0\" as $TARGET | .[] | select(.name == $TARGET)");
  CHECK(asked[1].what == "key ([a-z]+)");
  event::ActionEnded ended{.action = action, .output = "key hidden", .saved = {"vm-7", "hidden"}};
  SECTION("all is there") {
    world.handle(ended);
    CHECK(only(world).saved == Variables{{"ID", "vm-7"}});
    REQUIRE(world.wait_for("rebuild") == "n0");
    const auto& environment = world.execs.back().place->environment;
    CHECK(std::ranges::any_of(environment, [](const auto& variable) {
      return variable.first == "HEALER_KEY" && variable.second.at(0).text == "hidden";
    }));
    CHECK(world.saved.healings.at(0).saved == Variables{{"ID", "vm-7"}});
  }
  SECTION("what is found counts, whatever of the output is told") {
    ended.output = "an excerpt";
    world.handle(ended);
    CHECK(only(world).saved == Variables{{"ID", "vm-7"}});
  }
  SECTION("the filter finds nothing: it was done, and is not done again") {
    ended.saved = {std::nullopt, "hidden"};
    world.handle(ended);
    CHECK(any_record(world, "but its output has nothing to save as ID"));
    CHECK(any_record(world, "with rebuild failed: step \"shutdown\""));
    CHECK(world.programs("shutdown") == 1);
  }
  SECTION("what is found holds a NUL") {
    ended.saved = {std::string("vm-7\0x", 6), "hidden"};
    world.handle(ended);
    CHECK(any_record(world, "but its output contains control characters in what is to be saved as ID"));
    CHECK(world.programs("shutdown") == 1);
    CHECK_FALSE(any_record(world, "tried again"));
  }
  SECTION("it fails: nobody is told what it has written") {
    ended.status = 1;
    ended.output = "fatal: the key is hidden";
    world.handle(ended);
    CHECK(any_record(world, "step \"shutdown\": exited with status 1 after"));
    CHECK_FALSE(any_record(world, "hidden"));
  }
  SECTION("what is recorded of its end") {
    const std::optional<Event> rest = world.engine->healing().without_secrets(ended);
    REQUIRE(rest);
    const auto& rest_ended = std::get<event::ActionEnded>(*rest);
    CHECK(rest_ended.output.empty());
    CHECK(rest_ended.saved == std::vector<std::optional<std::string>>{"vm-7", ""});
    CHECK_FALSE(world.engine->healing().without_secrets(event::ActionEnded{.action = ActionId{99}, .output = "plain"}));
  }
}

TEST_CASE("of an answer that holds a secret is recorded what its tests say of it, also of questions",
          "[healing][http]") {
  RuleSet rules = fleet_rules(kCalls);
  auto calls = std::make_shared<Workflow>(*rules.workflows[0]);
  auto& update = std::get<step::Http>(calls->steps[2].what);
  update.expect_json = {{.filter = ".key", .comparison = Comparison::NotEqual, .value = "", .quoted = true},
                        {.filter = ".n", .comparison = Comparison::Greater, .value = "3"}};
  update.saves = {{.from = Saving::From::Json, .what = ".key", .name = "KEY", .secret = true},
                  {.from = Saving::From::Json, .what = ".id", .name = "ID"}};
  rules.workflows[0] = calls;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  pass_mark(world);
  REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
  const auto recorded = [&](std::vector<std::optional<std::string>> values) {
    const auto rest = world.engine->healing().without_secrets(event::Answered{.request = world.requests.back().request,
                                                                              .status = 202,
                                                                              .values = std::move(values),
                                                                              .saved = {"hidden", "vm-7"}});
    REQUIRE(rest);
    CHECK(std::get<event::Answered>(*rest).saved == std::vector<std::optional<std::string>>{"", "vm-7"});
    return std::get<event::Answered>(*rest).values;
  };
  const auto kept = recorded({"\"hidden\"", "17"});
  REQUIRE(kept.size() == 2);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(kept[i]);
    CHECK(is_met(update.expect_json[i], kept[i]));
  }
  CHECK(kept[0]->find("hidden") == std::string::npos);
  CHECK(kept[1] != "17");
  CHECK(recorded({"\"\"", "2"}) == std::vector<std::optional<std::string>>{std::nullopt, std::nullopt});
  world.answer_request(202, {"\"hidden\"", "17"}, {"hidden", "vm-7"});
  REQUIRE(world.wait_for_request("GET", "/v1/stack") != ActionId{});
  CHECK(recorded({"\"hidden\"", "\"hidden\""}) == std::vector<std::optional<std::string>>{std::nullopt, std::nullopt});
  const auto done = recorded({"\"UPDATE_COMPLETE\"", "\"UPDATE_COMPLETE\""});
  CHECK(is_met(update.until->met[0], done[0]));
  CHECK_FALSE(done[1]);
  const auto late = world.engine->healing().without_secrets(
      event::Answered{.request = ActionId{99}, .status = 202, .values = {"\"hidden\""}, .saved = {"hidden"}});
  REQUIRE(late);
  CHECK(std::get<event::Answered>(*late).saved.empty());
  CHECK(std::get<event::Answered>(*late).values.empty());
}

TEST_CASE("a request that was done is not made again for what its answer lacks", "[healing][http]") {
  RuleSet rules = fleet_rules(kCalls);
  auto calls = std::make_shared<Workflow>(*rules.workflows[0]);
  calls->steps[2].retries = 2;
  std::get<step::Http>(calls->steps[2].what).saves = {{.from = Saving::From::Json, .what = ".id", .name = "ID"}};
  rules.workflows[0] = calls;
  FleetWorld world(make_graph(std::move(rules)), {}, {false}, World::kStart);
  world.fail(0);
  world.pass("guard");
  pass_token(world);
  pass_mark(world);
  REQUIRE(world.wait_for_request("PATCH", "/v1/stack") != ActionId{});
  const std::size_t made = world.requests.size();
  world.answer_request(202, {}, {GENERATE(std::optional<std::string>(), std::optional<std::string>("a\x7F"))});
  world.advance(minutes{1});
  CHECK(world.requests.size() == made);
  CHECK(any_record(world, "with rebuild failed: step \"update\""));
}

TEST_CASE("values are written into a request as its place wants them", "[healing][http]") {
  const HttpRequest request{.method = "POST",
                            .url = "https://h.example/${A}?x=${B}&k=${secret:key}",
                            .headers = {"X: ${A}", "Authorization: Bearer ${T}"},
                            .body = R"({"a": "${A}"})"};
  const Variables values{{"A", "a b/\"c\""}, {"B", "1&2"}};
  const Variables secrets{{"T", "hidden"}};
  const FilledRequest filled = fill(request, values, secrets);
  CHECK(filled.missing.empty());
  CHECK(filled.request.url.at(0).text == "https://h.example/a%20b%2F%22c%22?x=1%262&k=");
  CHECK(filled.request.url.at(1) == effect::Place::Part{.text = "key", .secret = true});
  CHECK(filled.request.shown == "https://h.example/a%20b%2F%22c%22?x=1%262&k=*****");
  CHECK(filled.request.headers.at(0).at(0).text == "X: a b/\"c\"");
  CHECK(filled.request.headers.at(1).at(0).text == "Authorization: Bearer hidden");
  CHECK(filled.request.body.at(0).text == R"({"a": "a b/\"c\""})");
  CHECK(fill(request, {{"A", "x\ny"}, {"B", ""}}, secrets).refused == "A");
  CHECK(fill(request, values, {}).missing == "T");
  const HttpRequest begins{.method = "GET", .url = "${BASE}/${A}?${T}"};
  CHECK(fill(begins, {{"A", "a/b"}, {"BASE", "https://h.example"}}, secrets).request.shown ==
        "https://h.example/a%2Fb?*****");
  const HttpRequest hook{.method = "POST", .url = "${secret:hook}/x"};
  CHECK(fill(hook, {}, {}).request.shown == "*****/x");
  const HttpRequest login{.method = "GET", .url = "https://${secret:cfy[1]}:${USER}@h.example/"};
  const FilledRequest whose = fill(login, {{"USER", "a:b@c"}}, {});
  CHECK(whose.request.shown == "https://*****@h.example/");
  CHECK(whose.request.url == effect::Request::Text{{"https://"}, {"cfy[1]", true}, {":a%3Ab%40c@h.example/"}});
  const HttpRequest user{.method = "GET", .url = "https://me:pass@h.example/@x"};
  CHECK(fill(user, {}, {}).request.shown == "https://*****@h.example/@x");
  HttpRequest form{
      .method = "POST", .url = "https://h.example/", .headers = {"content-type: text/plain"}, .body = "${A}"};
  CHECK(fill(form, values, {}).request.body.at(0).text == "a b/\"c\"");
  form.headers = {"Content-Type: application/x-www-form-urlencoded"};
  CHECK(fill(form, values, {}).request.body.at(0).text == "a%20b%2F%22c%22");
}

TEST_CASE("values are bound in filters, and tests of answers compare as they say", "[healing][http]") {
  CHECK(bind(JsonTest{.filter = ".[] | select(.name == $TARGET)"}, {{"TARGET", "n\"0"}}, {}).filter ==
        R"("n\"0" as $TARGET | .[] | select(.name == $TARGET))");
  CHECK(bind(JsonTest{.filter = ". as $x | $x"}, {{"TARGET", "n0"}}, {}).filter == ". as $x | $x");
  CHECK(is_met({.filter = ".", .value = "3"}, "3.0"));
  CHECK_FALSE(is_met({.filter = ".", .comparison = Comparison::NotEqual, .value = "3"}, std::nullopt));
  CHECK(is_met({.filter = ".", .comparison = Comparison::Less, .value = "4"}, "3"));
  CHECK(is_met({.filter = ".", .value = "up", .quoted = true}, "\"up\""));
  CHECK_FALSE(is_met({.filter = ".", .value = "null"}, "\"null\""));
  CHECK(describe_expected({200, 202}) == "200 or 202");
}
