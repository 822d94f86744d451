// SPDX-License-Identifier: MIT
// The API without a server.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "web/api/api.hpp"
#include "web/web_world.hpp"

namespace healer::test {

/// A pulse whose alarm a test looks at, and answers to remember.
struct ApiParts {
  Instant now{.mono = seconds{1'000}, .wall = WallTime{days{20'000}}};
  std::optional<Duration> alarm{};
  web::Pulse pulse{[this] { return now; }, [this](Duration when) { alarm = when; }};
  web::KeptAnswers kept{};
};

class ApiWorld {
 public:
  explicit ApiWorld(RuleSet rules = two_services())
      : world_(std::move(rules),
               [this](const web::Backend& backend) { return web::api_routes(backend, parts_.pulse, parts_.kept); }) {}

  [[nodiscard]] WebWorld& web() { return world_; }
  [[nodiscard]] DaemonWorld& daemon() { return world_.daemon(); }
  [[nodiscard]] ApiParts& parts() { return parts_; }

  web::Response get(const std::string& target, const control::Asker& who = WebWorld::admin()) {
    return world_.get("/api/v1" + target, who);
  }
  /// The document. Requires: it is one.
  control::Json read(const std::string& target) { return control::Json::parse(get(target).body); }
  web::Response post(const std::string& path, const std::string& body = {}, const std::string& key = {},
                     const control::Asker& who = WebWorld::admin()) {
    return world_.send(request(path, body, key), who);
  }
  [[nodiscard]] static web::Request request(const std::string& path, const std::string& body = {},
                                            const std::string& key = {}) {
    web::Request request{.method = web::Method::Post, .path = "/api/v1" + path, .body = body};
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
    return request;
  }

 private:
  ApiParts parts_;
  WebWorld world_;
};

/// "400 bad-request: what is wrong | the remedy" of an answer that is a problem.
[[nodiscard]] inline std::string problem_of(const web::Response& response) {
  if (response.type != "application/problem+json") return std::to_string(response.status) + " no problem";
  const control::Json json = control::Json::parse(response.body);
  return std::to_string(json.at("status").get<unsigned>()) + " " + json.at("code").get<std::string>() + ": " +
         json.at("detail").get<std::string>() + " | " + json.at("remedy").get<std::string>();
}

}  // namespace healer::test
