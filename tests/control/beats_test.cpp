// SPDX-License-Identifier: MIT
// `beat`: by people who may, and by whoever gives the token.
#include <catch2/catch.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "control/client.hpp"
#include "control/daemon_world.hpp"
#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"

namespace beats_test {

using namespace healer;
using namespace healer::control;
using namespace healer::test;

namespace {

constexpr const char* kToken = "a-token-of-a-heartbeat";

std::shared_ptr<ServiceBlock> heartbeat(std::string name, std::string token = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->condition = RuleCondition{{HeartbeatIs{HeartbeatIs::What::Failed}}};
  rule->text = "if failed then exec \"/bin/heal\"";
  auto block = service(std::move(name), {rule});
  block->kind = kind_named("heartbeat");
  block->program = {};
  block->other.edit().heartbeat = {.every = hours{1}, .within = minutes{5}, .token = std::move(token)};
  return block;
}

RuleSet heartbeats() {
  return rule_set(
      {heartbeat("backup"), heartbeat("sync", kToken), service("web", {status_rule(Comparison::NotEqual, 0)})});
}

/// What comes of it, as lines: "ok TEXT", "refused TEXT", "CODE: MESSAGE".
std::string told(std::string line) {
  if (const std::size_t header = line.find("\"daemon\""); header != std::string::npos)
    line.erase(0, line.find('\n') + 1);
  if (line.empty()) return "waits";
  const Json json = Json::parse(line);
  if (json.contains("error"))
    return json["error"]["code"].get<std::string>() + ": " + json["error"]["message"].get<std::string>();
  return std::string(json["end"]["ok"].get<bool>() ? "ok " : "refused ") + json["end"]["text"].get<std::string>();
}

/// Asked on the server's thread by somebody of that role.
struct Asked {
  std::unique_ptr<control::Answer> answer;
  std::string text;

  std::string now(DaemonWorld& world) {
    world.server().thread().run([&] {
      if (answer && answer->pull(text, 100'000) == control::Answer::Next::Done) answer.reset();
    });
    return told(text);
  }
};

Asked ask(DaemonWorld& world, std::optional<engine::Role> role, const std::string& name, const BeatSent& sent) {
  Asked asked;
  world.server().thread().run([&] {
    const Request request{.verb = Verb::Beat, .names = {name}, .beat = sent};
    asked.answer = world.commands().handle(request, Peer{.pid = 1, .uid = 2, .who = {"somebody", role}}, [] {});
  });
  return asked;
}

std::string answer(DaemonWorld& world, const std::string& name, const BeatSent& sent) {
  return ask(world, engine::Role::Operator, name, sent).now(world);
}

Heartbeat known(DaemonWorld& world, std::string_view name) {
  Heartbeat heartbeat;
  world.act([&](World& engine) { heartbeat = *engine.engine->arrivals().find(engine.id(name)); });
  return heartbeat;
}

}  // namespace

TEST_CASE("an operator beats heartbeats, and nothing else", "[control][beats]") {
  DaemonWorld world(heartbeats());
  CHECK(answer(world, "BACKUP", {}) == "ok backup was heard");
  CHECK(known(world, "backup").word == BeatWord::Good);
  CHECK(answer(world, "backup", {.word = "exit", .status = 3, .text = "no space left"}) == "ok backup was heard");
  CHECK(known(world, "backup").status == 3);
  CHECK(known(world, "backup").text == "no space left");
  CHECK(answer(world, "sync", {.word = "start"}) == "ok sync was heard");  // its token is for others
  CHECK(known(world, "sync").started);
  CHECK(answer(world, "web", {}) == "no-heartbeat: web is not a heartbeat");
  CHECK(answer(world, "bakcup", {}) == "unknown-service: there is no service \"bakcup\"");
  CHECK(answer(world, "backup", {.word = "good bye"}) ==
        "bad-request: a beat is good, start, fail or exit, not \"good bye\"");
  CHECK(answer(world, "backup", {.word = "none"}).starts_with("bad-request"));
  CHECK(answer(world, "backup", {.word = "exit", .status = 256}).starts_with("bad-request"));
  CHECK(answer(world, "backup", {.text = std::string(kMaxBeatText, 'x')}).starts_with("ok"));
  CHECK(answer(world, "backup", {.text = std::string(kMaxBeatText + 1, 'x')}) ==
        "bad-request: the text of a beat has at most 4096 bytes");
}

TEST_CASE("a stranger beats the heartbeat whose token he gives", "[control][beats]") {
  DaemonWorld world(heartbeats());
  CHECK(ask(world, std::nullopt, "sync", {}).now(world).starts_with("denied: somebody may not control healerd"));
  const auto with = [&](const std::string& name, const std::string& token) {
    Asked asked = ask(world, std::nullopt, name, {.word = "fail", .token = token});
    const std::string before = asked.now(world);
    if (before != "waits") return before;
    world.check_tokens();
    return asked.now(world);
  };
  CHECK(with("sync", "another") == "denied: this is not the token of a heartbeat named sync");
  CHECK(known(world, "sync").word == BeatWord::None);
  // He is not told which heartbeats there are.
  CHECK(with("backup", kToken) == "denied: this is not the token of a heartbeat named backup");
  CHECK(with("web", kToken) == "denied: this is not the token of a heartbeat named web");
  CHECK(with("nothing", kToken) == "denied: this is not the token of a heartbeat named nothing");
  CHECK(with("sync", kToken) == "ok sync was heard");
  CHECK(known(world, "sync").word == BeatWord::Fail);
  CHECK(ask(world, engine::Role::ReadOnly, "sync", {}).now(world).starts_with("forbidden"));
}

TEST_CASE("a beat that cannot be written is not told to be on disk", "[control][beats]") {
  DaemonWorld world(heartbeats());
  world.act([](World& engine) { engine.unjournalled = true; });
  CHECK(answer(world, "backup", {}) ==
        "refused backup was heard; the state cannot be written: if healerd ends before it can, this is forgotten");
}

TEST_CASE("many beats come over one connection", "[control][beats]") {
  DaemonWorld world(heartbeats());
  auto connected = Client::connect(world.path(), kPatience);
  REQUIRE(std::holds_alternative<Client>(connected));
  Client client = std::get<Client>(std::move(connected));
  for (int i = 0; i < 20; ++i) {
    const Reply reply = client.call({.verb = Verb::Beat, .names = {"backup"}, .beat = BeatSent{}}, {});
    REQUIRE(reply.end.at("ok") == true);
  }
  const Reply status = client.call({.verb = Verb::Status, .names = {"backup"}}, [](const Json& item) {
    CHECK(item.at("heartbeat").at("word") == "good");
    CHECK(item.at("heartbeat").at("every_ms") == 3'600'000);
    CHECK(item.at("runs") == 20);
  });
  CHECK_FALSE(status.failure);
}

}  // namespace beats_test
