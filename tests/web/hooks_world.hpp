// SPDX-License-Identifier: MIT
// Hooks and heartbeats over HTTP, without a server: requests of whom nobody knows.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "hooks/signature.hpp"
#include "web/hooks/beats.hpp"
#include "web/hooks/hooks.hpp"
#include "web/web_world.hpp"

namespace healer::test {

inline const std::string kHookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
inline const std::string kOtherSecret = "whsec_QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB";

/// A check of events whose rule never acts.
[[nodiscard]] inline std::shared_ptr<ServiceBlock> events(std::string name, EventSpec spec) {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->condition = RuleCondition{{EventCount{.above = 900, .within = minutes{1}}}};
  rule->text = "if more than 900 events within 1 m then exec \"/bin/heal\"";
  auto block = service(std::move(name), {rule});
  block->kind = kind_named("event");
  block->program = {};
  block->other.edit().event = std::move(spec);
  return block;
}

[[nodiscard]] inline std::shared_ptr<ServiceBlock> heartbeat(std::string name, std::string token = {},
                                                             std::string certificate = {}) {
  Rule rule = status_rule(Comparison::NotEqual, 0);
  rule->condition = RuleCondition{{HeartbeatIs{HeartbeatIs::What::Missed}}};
  rule->text = "if missed then exec \"/bin/heal\"";
  auto block = service(std::move(name), {rule});
  block->kind = kind_named("heartbeat");
  block->program = {};
  block->other.edit().heartbeat = {
      .every = hours{1}, .within = minutes{5}, .token = std::move(token), .certificate = std::move(certificate)};
  return block;
}

class HooksWorld {
 public:
  explicit HooksWorld(std::vector<std::shared_ptr<ServiceBlock>> services)
      : world_(rule_set({services.begin(), services.end()}), [](const web::Backend& backend) {
          auto routes = web::hook_routes(backend);
          for (auto& route : web::beat_routes(backend)) routes.push_back(std::move(route));
          return routes;
        }) {}

  [[nodiscard]] DaemonWorld& daemon() { return world_.daemon(); }

  /// What is answered, with secrets read and filters run.
  web::Response send(const web::Request& request, bool read_only = false) {
    constexpr int kMostTurns = 10;
    const control::Asker nobody{};
    web::Reply reply;
    daemon().act([&](World&) { reply = ask(request, nobody, read_only); });
    for (int turn = 0; turn < kMostTurns; ++turn) {
      auto* const deferred = std::get_if<std::unique_ptr<web::Deferred>>(&reply);
      if (deferred == nullptr) return std::move(std::get<web::Response>(reply));
      daemon().check_tokens();
      std::unique_ptr<web::Deferred> waiting = std::move(*deferred);
      daemon().act([&](World&) {
        auto response = waiting->poll();
        if (response)
          reply = std::move(*response);
        else
          reply = std::move(waiting);
      });
    }
    daemon().act([&](World&) { reply = web::Response{.status = 0, .body = "it is not answered"}; });
    return std::move(std::get<web::Response>(reply));
  }

  /// "202 [ID STATE 202]...", "401 why".
  std::string tell(const web::Request& request, bool read_only = false) {
    const web::Response response = send(request, read_only);
    std::string text = std::to_string(response.status);
    const auto body = control::Json::parse(response.body, nullptr, false);
    if (body.is_discarded()) return text + " " + response.body;
    if (body.contains("detail")) text += " " + body["detail"].get<std::string>();
    if (body.contains("events"))
      for (const auto& event : body["events"])
        text += " [" + event["id"].get<std::string>() + " " + event["state"].get<std::string>() + " " +
                std::to_string(event["status"].get<int>()) + "]";
    return text;
  }

  /// What came, as `healerctl events` has it: "ID|STATE|STATUS|COUNT|SENDER|ANSWER" and a line feed each.
  std::string came() {
    std::string text;
    daemon().act([&](World& world) {
      for (const auto& [number, one] : world.engine->arrivals().events().all())
        text += one.key + "|" + one.state + "|" + std::to_string(one.status) + "|" + std::to_string(one.count) + "|" +
                one.sender + "|" + one.answer + "\n";
    });
    return text;
  }

 private:
  web::Reply ask(const web::Request& request, const control::Asker& who, bool read_only) {
    const auto match = world_.router().find(request.method, request.path);
    const auto* const found = std::get_if<web::Router::Found>(&match);
    if (found == nullptr) return web::Response{.status = 0, .body = "no route"};
    return found->route->handle(
        {.request = request, .who = who, .captured = found->captured, .wake = [] {}, .read_only = read_only});
  }

  WebWorld world_;
};

[[nodiscard]] inline web::Request post(std::string path, std::string body, web::Fields headers = {},
                                       web::Fields query = {}) {
  return {.method = web::Method::Post,
          .path = std::move(path),
          .query = std::move(query),
          .headers = std::move(headers),
          .body = std::move(body),
          .peer = "192.0.2.7"};
}

}  // namespace healer::test
