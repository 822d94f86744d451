// SPDX-License-Identifier: MIT
#include "web/api/api.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "control/wire_schema.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"
#include "web/api/body.hpp"
#include "web/api/operation.hpp"
#include "web/api/problem.hpp"

namespace healer::web {
namespace {

using control::Failure;

/// Whether a body is what it must be: JSON, and said to be.
bool is_json(const Request& request) {
  if (!request.form.empty()) return false;
  if (trim(request.body).empty()) return true;
  const std::string_view type = request.header("Content-Type").value_or("");
  return iequals(trim(type.substr(0, type.find(';'))), "application/json");
}

/// Who asks, as the keys of requests have it: a name alone may be that of a user and of a token. No name has a colon in
/// it that goes with a password, so that these are apart from all others.
std::string user_of(const Call& call) {
  switch (call.known_by) {
    case KnownBy::Password: return call.who.name;
    case KnownBy::Token: return "token:" + call.who.name;
    case KnownBy::Cookie: return "cookie:" + call.who.name;
    case KnownBy::Nothing: break;
  }
  return "nobody:" + call.who.name;
}

/// A request that may be answered when whoever made it has gone.
struct OwnCall {
  explicit OwnCall(const Call& other)
      : request(other.request),
        who(other.who),
        call{.request = request,
             .who = who,
             .token = other.token,
             .captured = other.captured,
             .wake = other.wake,
             .known_by = other.known_by} {}
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;

  const Request request;
  const control::Asker who;
  const Call call;
};

/// What the request asks for, but by whom and when.
Hash128 hash_of(const Request& request) {
  return hash128(fmt::format("{} {}\n{}", to_string(request.method), request.path, request.body));
}

Reply answer(const std::shared_ptr<Api>& api, const Operation& one, const Call& call) {
  const std::vector<std::string> fields =
      one.item.empty() ? std::vector<std::string>{} : control::wire_fields_of(one.item);
  const auto query = Query::read(call.request.query, one.parameters, fields);
  if (const auto* const failure = std::get_if<Failure>(&query)) return problem(*failure);
  control::Request request;
  if (one.method == Method::Post) {
    if (!is_json(call.request))
      return problem({"bad-request", "the body is not JSON", "send it with the Content-Type application/json"}, 415);
    auto read = read_body(call.request.body, one.body);
    if (const auto* const failure = std::get_if<Failure>(&read))
      return call.request.body.size() > kMostBody ? problem(*failure, 413) : problem(*failure);
    request = std::get<control::Request>(std::move(read));
  }
  request.verb = one.verb;
  if (!call.captured.empty()) request.names = {call.captured.front()};
  return one.handle(api, {.call = call, .query = std::get<Query>(query), .request = std::move(request)});
}

Reply handle(const std::shared_ptr<Api>& api, const Operation& one, const Call& call) {
  const auto key = one.method == Method::Post ? call.request.header("Idempotency-Key") : std::nullopt;
  if (!key) return answer(api, one, call);
  return api->kept.once(
      {.user = user_of(call), .key = std::string(*key), .asked = hash_of(call.request)}, api->backend.daemon.now().wall,
      [api, &one, own = std::make_shared<const OwnCall>(call)] { return answer(api, one, own->call); }, call.wake);
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> kOperations = [] {
    std::vector<Operation> all;
    add_readings(all);
    add_actions(all);
    return all;
  }();
  return kOperations;
}

std::vector<Route> api_routes(const Backend& backend, Pulse& pulse, KeptAnswers& kept) {
  const auto api = std::make_shared<Api>(backend, pulse, kept);
  std::vector<Route> routes;
  for (const Operation& one : operations())
    routes.push_back({.method = one.method,
                      .pattern = std::string(kApi) + one.path,
                      .least = one.least,
                      .handle = [api, &one](const Call& call) { return handle(api, one, call); }});
  return routes;
}

}  // namespace healer::web
