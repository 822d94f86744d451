// SPDX-License-Identifier: MIT
// `event` and `events`: bodies are read as the format of the hook says, and what became of each is told.
#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "control/daemon_world.hpp"
#include "control/events/event_fields.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"

namespace event_desk_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

std::shared_ptr<ServiceBlock> check_of_events(std::string name, EventSpec spec) {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->condition = RuleCondition{{Queried{JsonTest{.filter = ".state", .value = "bad", .quoted = true}}}};
  rule->mode = Mode::EachMatch;
  rule->text = "if json '.state' = \"bad\" then exec \"/bin/heal\"";
  auto block = service(std::move(name), {rule});
  block->kind = kind_named("event");
  block->program = {};
  spec.filters = {".state"};
  block->other.edit().event = std::move(spec);
  return block;
}

RuleSet checks() {
  return rule_set({check_of_events("any", {.hook = "/hooks/any"}),
                   check_of_events("keyed", {.hook = "/hooks/keyed", .key = ".host", .state = ".state"}),
                   check_of_events("alarms", {.hook = "/hooks/alarms", .format = EventFormat::Alertmanager}),
                   check_of_events("strict", {.hook = "/hooks/strict", .fields = {"EVENT.host"}}),
                   service("web", {status_rule(Comparison::NotEqual, 0)})});
}

struct Told {
  std::string failure;  // "CODE: MESSAGE"; or empty
  std::vector<EventAnswer> answers;
  std::vector<EventView> events;
  std::optional<Done> done;
};

/// Asked on the server's thread; filters are answered until it is over.
Told ask(DaemonWorld& world, Request request) {
  std::unique_ptr<control::Answer> answer;
  std::string text;
  world.server().thread().run([&] {
    answer = world.commands().handle(request, Peer{.pid = 1, .uid = 2, .who = {"anna", engine::Role::Operator}}, [] {});
  });
  for (int round = 0; answer && round < 20; ++round) {
    world.server().thread().run([&] {
      if (answer->pull(text, 100'000) == control::Answer::Next::Done) answer.reset();
    });
    if (answer) world.check_tokens();
  }
  Told told;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    const Json line = Json::parse(text.substr(0, end));
    if (line.contains("error"))
      told.failure = line["error"]["code"].get<std::string>() + ": " + line["error"]["message"].get<std::string>();
    if (line.contains("item") && request.verb == Verb::Event) told.answers.push_back(line["item"].get<EventAnswer>());
    if (line.contains("item") && request.verb == Verb::Events) told.events.push_back(line["item"].get<EventView>());
    if (line.contains("end")) told.done = line["end"].get<Done>();
  }
  return told;
}

Told send(DaemonWorld& world, const std::string& name, EventSent sent) {
  return ask(world, {.verb = Verb::Event, .names = {name}, .event = std::move(sent)});
}

}  // namespace

TEST_CASE("a body becomes an event as the format of its hook says", "[control][events]") {
  DaemonWorld world(checks());
  const Told any = send(world, "any", {.body = R"({"state": "bad"})"});
  REQUIRE(any.answers.size() == 1);
  CHECK(any.answers[0].status == 202);
  CHECK(any.answers[0].event != 0);
  CHECK(any.done->ok);
  const Told keyed = send(world, "keyed", {.body = R"({"host": "h1", "state": "bad"})"});
  REQUIRE(keyed.answers.size() == 1);
  CHECK(keyed.answers[0].status == 202);
  const Told alarms = send(world, "alarms", {.body = R"({"version": "4", "groupKey": "g", "receiver": "r", "alerts": [
      {"status": "firing", "fingerprint": "f1", "startsAt": "2026-01-01T00:00:00Z", "labels": {}},
      {"status": "resolved", "fingerprint": "f2", "startsAt": "2026-01-01T00:00:00Z", "labels": {}}]})"});
  CHECK(alarms.answers.size() == 2);
  CHECK(alarms.done->ok);
  const Told events = ask(world, {.verb = Verb::Events});
  REQUIRE(events.events.size() == 4);
  CHECK(events.events[1].id == "h1");
  CHECK(events.events[1].state == "bad");
  CHECK(events.events[1].sender == "anna");
  CHECK(ask(world, {.verb = Verb::Events, .names = {"ALARMS"}}).events.size() == 2);
}

TEST_CASE("what is no event of its check is refused", "[control][events]") {
  DaemonWorld world(checks());
  CHECK(send(world, "web", {.body = "{}"}).failure == "no-check-of-events: web is no check of events");
  CHECK(send(world, "nobody", {.body = "{}"}).failure.starts_with("unknown-service"));
  const Told broken = send(world, "any", {.body = "{"});
  REQUIRE(broken.answers.size() == 1);
  CHECK(broken.answers[0].status == 400);
  CHECK_FALSE(broken.done->ok);
  const Told keyless = send(world, "keyed", {.body = R"({"state": "bad"})"});
  REQUIRE(keyless.answers.size() == 1);
  CHECK(keyless.answers[0].status == 422);
  const Told strict = send(world, "strict", {.body = R"({"state": "bad"})"});
  REQUIRE(strict.answers.size() == 1);
  CHECK(strict.answers[0].status == 422);
  CHECK(strict.answers[0].text == "it has no plain value ${EVENT.host}");
  CHECK(send(world, "any", {.body = std::string(kMaxEventBody + 1, ' ')}).failure.starts_with("too-large"));
}

TEST_CASE("events that a hook has read are answered one by one; what it refused is noted", "[control][events]") {
  DaemonWorld world(checks());
  const Told told = send(
      world, "strict",
      {.occurrences = {{"a1", "bad", R"({"host": "h", "state": "bad"})", ""}, {"a2", "bad", R"({"state": "bad"})", ""}},
       .sender = "10.0.0.7"});
  REQUIRE(told.answers.size() == 2);
  CHECK(told.answers[0].status == 202);
  CHECK(told.answers[1].status == 422);
  CHECK_FALSE(told.done->ok);
  const Told noted = send(world, "strict", {.sender = "10.0.0.7", .refused = 400, .why = "it is no JSON"});
  CHECK_FALSE(noted.done->ok);
  const Told events = ask(world, {.verb = Verb::Events});
  REQUIRE(events.events.size() == 3);
  CHECK(events.events[2].status == 400);
  CHECK(events.events[2].answer == "it is no JSON");
  CHECK_FALSE(events.events[2].has_document);
}

TEST_CASE("a body of many events is taken in pieces", "[control][events]") {
  DaemonWorld world(checks());
  EventSent sent;
  for (int i = 0; i < 220; ++i)
    sent.occurrences.push_back({"a" + std::to_string(i), "bad", R"({"host": "h", "state": "bad"})", ""});
  const Told told = send(world, "strict", sent);
  CHECK(told.answers.size() == 220);
  REQUIRE(told.done);
  CHECK(told.done->ok);
  CHECK(ask(world, {.verb = Verb::Events}).events.size() == 220);
}

TEST_CASE("a dry run of very many events is no deeper than of one", "[control][events]") {
  DaemonWorld world(checks());
  EventSent sent{.dry_run = true};
  for (int i = 0; i < 50'000; ++i) sent.occurrences.push_back({"a" + std::to_string(i), "bad", "{}", ""});
  CHECK(send(world, "strict", std::move(sent)).answers.size() == 50'000);
}

TEST_CASE("a dry run tells what would become of an event, and takes none", "[control][events]") {
  DaemonWorld world(checks());
  const Told told = send(world, "any", {.body = R"({"state": "bad"})", .dry_run = true});
  REQUIRE(told.answers.size() == 1);
  CHECK(told.answers[0].status == 202);
  CHECK(told.answers[0].text.find(
            "any would take it\n  if json '.state' = \"bad\" then exec \"/bin/heal\": it holds") != std::string::npos);
  CHECK(ask(world, {.verb = Verb::Events}).events.empty());
  CHECK(send(world, "strict", {.body = "{}", .dry_run = true}).answers.at(0).status == 422);
}

TEST_CASE("an event is played once more by its number", "[control][events]") {
  DaemonWorld world(checks());
  const Told first = send(world, "any", {.body = R"({"state": "good"})"});
  REQUIRE(first.answers.size() == 1);
  const Told again = ask(world, {.verb = Verb::Event, .event = EventSent{.again = first.answers[0].event}});
  REQUIRE(again.answers.size() == 1);
  CHECK(again.answers[0].status == 202);
  CHECK(again.answers[0].event != first.answers[0].event);
  CHECK(ask(world, {.verb = Verb::Event, .event = EventSent{.again = 1}}).failure ==
        "no-event: there is no event 1 (any more)");
}

TEST_CASE("the plain values of a document have names", "[control][events]") {
  const auto text = [](std::string_view document) {
    std::string all;
    for (const auto& [name, value] : event_fields(document)) all += name + "=" + value + ";";
    return all;
  };
  CHECK(text(R"({"a": "x", "b": {"c": 1, "d": [1], "e": null, "f": true}, "g h": 1, "i}": 2})") ==
        "EVENT.a=x;EVENT.b.c=1;EVENT.b.f=true;");
  CHECK(text("[1]").empty());
  CHECK(text("{").empty());
  CHECK(event_fields(R"({"a": ")" + std::string(60'001, 'x') + "\"}").empty());
}

}  // namespace event_desk_test
