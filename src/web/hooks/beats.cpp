// SPDX-License-Identifier: MIT
#include "web/hooks/beats.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "control/wire_heartbeat.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"
#include "web/api/problem.hpp"
#include "web/hooks/gate.hpp"
#include "web/hooks/refusal.hpp"
#include "web/verbs.hpp"

namespace healer::web {
namespace {

using control::BeatSent;

/// What stands behind the name; nothing: none of the words, and no exit status.
std::optional<BeatSent> beat_of(std::string_view word) {
  if (word.empty()) return BeatSent{};
  if (word == "start" || word == "fail") return BeatSent{.word = std::string(word)};
  std::uint8_t status = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), status);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return BeatSent{.word = "exit", .status = status};
}

/// The text of a beat, as it can be shown: what is not UTF-8 is made visible.
std::string text_of_beat(const std::string& body) {
  for (std::string_view rest = body; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0) return printable(body).substr(0, control::kMaxBeatText);
    rest.remove_prefix(length);
  }
  return body;
}

/// Null: there is no heartbeat of that name.
const engine::HeartbeatSpec* heartbeat_of(const Backend& backend, const std::string& name) {
  const engine::Graph& graph = *backend.daemon.engine().graph();
  const auto id = graph.find(name);
  return id && graph.at(*id).is_heartbeat() ? &graph.at(*id).other->heartbeat : nullptr;
}

Response respond_to_beat(const Outcome& outcome) {
  if (const auto* const failure = std::get_if<control::Failure>(&outcome)) {
    if (failure->code == "denied") return refusal(401, failure->message);
    return problem(*failure, failure->code == "no-heartbeat" ? 404 : status_of(*failure));
  }
  const auto done = std::get<Gathered>(outcome).end.get<control::Done>();
  if (done.ok) return {.body = "ok\n"};
  return refusal(503, done.text);
}

Reply take_beat(const Backend& backend, const Call& call) {
  const Request& request = call.request;
  if (request.method != Method::Get && request.method != Method::Post) return wrong_method({Method::Get, Method::Post});
  if (call.read_only) return refusal(403, "nobody may change anything by this port: it is read-only");
  const std::string& name = call.captured.front();
  const auto beat = beat_of(call.captured.size() > 1 ? call.captured[1] : std::string_view());
  if (!beat) return refusal(404, "behind the name of a heartbeat may stand start, fail, or an exit status up to 255");
  if (request.body.size() > control::kMaxBeatText)
    return refusal(413, fmt::format("the text of a beat has at most {} bytes", control::kMaxBeatText));

  control::Request asked{.verb = control::Verb::Beat, .names = {name}, .beat = beat};
  asked.beat->text = text_of_beat(request.body);
  control::Peer peer;
  peer.who.name = "http";
  const engine::HeartbeatSpec* const heartbeat = heartbeat_of(backend, name);
  const bool asks_nothing = heartbeat == nullptr || (heartbeat->token.empty() && heartbeat->certificate.empty());
  const auto token = given_token(request);
  if ((heartbeat != nullptr && shows_certificate(request, heartbeat->certificate)) ||
      (asks_nothing &&
       is_from_here(request, backend.daemon.engine().host(), backend.daemon.engine().graph()->settings->url)))
    peer.who.role = engine::Role::Operator;
  else if (token)
    asked.beat->token = *token;
  else  // which heartbeats there are is told to nobody
    return refusal(401, fmt::format("this takes the token of a heartbeat {}", printable(name)));
  return gather(backend.commands.handle(asked, peer, call.wake), respond_to_beat);
}

}  // namespace

std::vector<Route> beat_routes(const Backend& backend) {
  std::vector<Route> routes;
  for (const char* const pattern : {"/beat/{name}", "/beat/{name}/{word}"})
    for (const Method method : kAllMethods)
      routes.push_back({method, pattern, control::Least::Anybody,
                        [backend](const Call& call) { return take_beat(backend, call); }, Protection::None});
  return routes;
}

}  // namespace healer::web
