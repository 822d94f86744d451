// SPDX-License-Identifier: MIT
#include "web/hooks/hooks.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "control/wire_event.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "hooks/read.hpp"
#include "hooks/signature.hpp"
#include "util/secrets/same_secret.hpp"
#include "util/text.hpp"
#include "web/api/problem.hpp"
#include "web/hooks/after.hpp"
#include "web/hooks/gate.hpp"
#include "web/hooks/refusal.hpp"
#include "web/verbs.hpp"

namespace healer::web {
namespace {

using control::EventSent;
using control::Json;
using engine::EventFormat;
using engine::EventSpec;
using engine::Graph;
using hooks::Occurrence;

/// Of those who are not let in people are told once in this time, for each hook.
constexpr Duration kTellAgain = minutes{1};

/// The hooks of the rules in force, by their paths.
class HookBook {
 public:
  /// The name of the service that has this hook; null: there is none.
  const std::string* find(const std::shared_ptr<const Graph>& graph, const std::string& path) {
    if (graph_.lock() != graph) {
      services_.clear();
      for (const engine::ServiceId id : graph->order)
        if (const auto& block = graph->at(id); block.is_event() && !block.other->event.hook.empty())
          services_.emplace(block.other->event.hook, block.name);
      graph_ = graph;
    }
    const auto found = services_.find(path);
    return found == services_.end() ? nullptr : &found->second;
  }

 private:
  std::weak_ptr<const Graph> graph_;
  std::unordered_map<std::string, std::string> services_;
};

/// Signed messages that were taken, for as long as their time lets them be believed: who overhears one cannot have it
/// taken again. What a sender tries again bears another time, and what was not taken may come again as it was.
class TakenMessages {
 public:
  /// "HOOK ID TIMESTAMP".
  [[nodiscard]] bool has(const std::string& message) const { return known_.contains(message); }
  void add(const std::string& message, Duration now) {
    while (!order_.empty() && (now - order_.front().second > 2 * hooks::kTolerance || order_.size() >= kMost)) {
      known_.erase(order_.front().first);
      order_.pop_front();
    }
    if (known_.insert(message).second) order_.emplace_back(message, now);
  }

 private:
  static constexpr std::size_t kMost = 50'000;

  std::unordered_set<std::string> known_;
  std::deque<std::pair<std::string, Duration>> order_;  // by when they were taken, in mono time
};

/// One request to a hook, while it lasts. The rules may change meanwhile: it is judged by those of its beginning.
struct Visit {
  const Request& request;
  Wake wake;
  std::string service;
  EventSpec spec;
  std::shared_ptr<TakenMessages> taken;
  mutable std::string
      signed_as{};  ///< names the message, once its signature was seen to be right; see signed_message()

  [[nodiscard]] hooks::Message message() const { return {.body = request.body, .headers = request.headers}; }
  [[nodiscard]] std::string sender() const {
    if (request.certificate && !request.certificate->name.empty()) return request.certificate->name;
    return request.peer.empty() ? "a unix socket" : request.peer;
  }
  /// Who sends by these takes 429 for the last word, or does not try again at all.
  [[nodiscard]] bool tries_again_by_503() const {
    return spec.format == EventFormat::Zaqar || spec.format == EventFormat::Aodh;
  }
};

using Visiting = std::shared_ptr<const Visit>;

/// Names a message that is signed; empty: its id is that of its event, which is known by that.
std::string signed_message(const Visit& visit) {
  const auto id = visit.request.header("webhook-id"), timestamp = visit.request.header("webhook-timestamp");
  const bool is_event = visit.spec.format == EventFormat::Json && visit.spec.key.empty();
  if (!id || !timestamp || is_event) return {};
  return fmt::format("{} {} {}", visit.spec.hook, *id, *timestamp);
}

/// Asks the verb `event` in the name of the hook, and makes a response of what comes of it.
Reply tell(const Backend& backend, const Visiting& visit, EventSent sent,
           std::function<Response(const Outcome&)> respond) {
  sent.sender = visit->sender();
  control::Peer peer;
  peer.who = {.name = "hook " + visit->spec.hook, .role = engine::Role::Operator};
  const control::Request request{.verb = control::Verb::Event, .names = {visit->service}, .event = std::move(sent)};
  return gather(backend.commands.handle(request, peer, visit->wake), std::move(respond));
}

/// Notes what is not taken, so that people find it among the events, and answers whatever has become of that.
Reply note(const Backend& backend, const Visiting& visit, unsigned status, std::string why, Response answer) {
  EventSent sent;
  sent.refused = static_cast<std::uint16_t>(status);
  sent.why = std::move(why);
  const auto kept = std::make_shared<Response>(std::move(answer));
  return tell(backend, visit, std::move(sent), [kept](const Outcome&) { return std::move(*kept); });
}

Reply refuse(const Backend& backend, const Visiting& visit, unsigned status, const std::string& why) {
  return note(backend, visit, status, why, refusal(status, why));
}

Response accepted(const std::vector<Json>& events) {
  return {.status = 202, .type = "application/json", .body = control::to_line(Json{{"events", events}}) + "\n"};
}

/// The answer to a request by those to its events: the one that asks most of its sender.
Response respond_to_events(const Visit& visit, const Outcome& outcome, Duration now) {
  if (const auto* const failure = std::get_if<control::Failure>(&outcome)) {
    // The rules have changed since the hook was found.
    if (failure->code == "unknown-service" || failure->code == "no-check-of-events")
      return refusal(404, failure->message);
    return problem(*failure);
  }
  constexpr std::array<unsigned, 4> kWorst{503, 429, 404, 422};
  const auto& events = std::get<Gathered>(outcome).items;
  for (unsigned status : kWorst) {
    const auto found = std::ranges::find(events, status, [](const Json& event) { return event.value("status", 0U); });
    if (found == events.end()) continue;
    if (status == 429 && visit.tries_again_by_503()) status = 503;
    Response response = refusal(status, found->value("text", ""));
    Json body = Json::parse(response.body);
    body["events"] = events;
    response.body = control::to_line(body) + "\n";
    return response;
  }
  if (const auto done = std::get<Gathered>(outcome).end.get<control::Done>(); !done.ok) return refusal(503, done.text);
  if (!visit.signed_as.empty()) visit.taken->add(visit.signed_as, now);
  return accepted(events);
}

Reply send(const Backend& backend, const Visiting& visit, std::vector<Occurrence> occurrences) {
  EventSent sent;
  for (Occurrence& one : occurrences)
    sent.occurrences.push_back({.id = std::move(one.id),
                                .state = std::move(one.state),
                                .document = std::move(one.document),
                                .remark = std::move(one.remark)});
  return tell(backend, visit, std::move(sent), [visit, &daemon = backend.daemon](const Outcome& outcome) {
    return respond_to_events(*visit, outcome, daemon.now().mono);
  });
}

using Found = Result<std::string>;

/// What a filter makes of the document, and then what comes of that.
Reply query(const Backend& backend, const Visiting& visit, const std::string& filter, const std::string& document,
            std::function<Reply(Found)> then) {
  auto after = std::make_unique<After<Found>>(visit->wake, std::move(then));
  backend.daemon.query(visit->service, filter, document, after->teller());
  return reply_of(std::move(after));
}

/// Finds out the id, and the state, of an event whose rules say how; and sends it.
Reply send_by_key(const Backend& backend, const Visiting& visit, Occurrence occurrence) {
  const auto finish = [backend, visit](Occurrence one, const Found& key, const std::optional<Found>& state) -> Reply {
    auto keyed = hooks::with_key(std::move(one), key, state);
    if (const auto* const odd = std::get_if<hooks::Refusal>(&keyed))
      return refuse(backend, visit, odd->status, odd->why);
    return send(backend, visit, {std::get<Occurrence>(std::move(keyed))});
  };
  const std::string document = occurrence.document;
  return query(backend, visit, visit->spec.key, document,
               [backend, visit, finish, occurrence = std::move(occurrence)](const Found& key) -> Reply {
                 if (visit->spec.state.empty() || !key) return finish(occurrence, key, std::nullopt);
                 return query(backend, visit, visit->spec.state, occurrence.document,
                              [finish, occurrence, key](const Found& state) { return finish(occurrence, key, state); });
               });
}

/// What is told by somebody who may.
Reply take(const Backend& backend, const Visiting& visit) {
  const auto format = hooks::format_of(engine::to_string(visit->spec.format)).value_or(hooks::Format::Json);
  auto reading = hooks::read(format, visit->message());
  if (const auto* const odd = std::get_if<hooks::Refusal>(&reading))
    return refuse(backend, visit, odd->status, odd->why);
  if (const auto* const notice = std::get_if<hooks::Notice>(&reading))
    return note(backend, visit, 202, notice->text, accepted({}));
  auto& occurrences = std::get<std::vector<Occurrence>>(reading);
  if (occurrences.empty()) return accepted({});
  if (format == hooks::Format::Json && !visit->spec.key.empty())
    return send_by_key(backend, visit, std::move(occurrences.front()));
  return send(backend, visit, std::move(occurrences));
}

/// A sender of CloudEvents asks whether it may send (their webhook specification, 4). Anybody may who is let in when he
/// does: where the sender signs what it sends, that is seen then.
Response shake_hands(const Request& request) {
  constexpr std::size_t kLongest = 256;
  Response response{.body = ""};
  response.headers.emplace_back("Allow", "OPTIONS, POST");
  if (const auto origin = request.header("WebHook-Request-Origin"); origin && origin->size() <= kLongest)
    response.headers.emplace_back("WebHook-Allowed-Origin", *origin);
  if (request.header("WebHook-Request-Rate")) response.headers.emplace_back("WebHook-Allowed-Rate", "*");
  return response;
}

class Hooks {
 public:
  explicit Hooks(const Backend& backend) : backend_(backend) {}

  Reply handle(const Call& call) {
    const Request& request = call.request;
    const auto& graph = backend_.daemon.engine().graph();
    const std::string* const service = book_.find(graph, request.path);
    if (service == nullptr) return refusal(404, "no rule has a hook of this path");
    const auto visit = std::make_shared<const Visit>(
        Visit{request, call.wake, *service, graph->at(*graph->find(*service)).other->event, taken_});
    const bool is_handshake = request.method == Method::Options && visit->spec.format == EventFormat::CloudEvents;
    if (request.method != Method::Post && !is_handshake)
      return visit->spec.format == EventFormat::CloudEvents ? wrong_method({Method::Options, Method::Post})
                                                            : wrong_method({Method::Post});
    if (call.read_only) return refusal(403, "nobody may change anything by this port: it is read-only");
    return let_in(visit, [backend = backend_, visit, is_handshake]() -> Reply {
      if (is_handshake) return shake_hands(visit->request);
      return take(backend, visit);
    });
  }

 private:
  /// `then`, where the sender may send, by any of the ways that the rules name.
  Reply let_in(const Visiting& visit, std::function<Reply()> then) {
    const Request& request = visit->request;
    const EventSpec& spec = visit->spec;
    if (shows_certificate(request, spec.certificate)) return then();
    if (spec.secrets.empty() && spec.token.empty()) {
      if (spec.certificate.empty() &&
          is_from_here(request, backend_.daemon.engine().host(), backend_.daemon.engine().graph()->settings->url))
        return then();
      return keep_out(visit, spec.certificate.empty()
                                 ? "a hook without a secret takes events of programs on this machine alone"
                                 : "it has not shown the certificate that the hook asks for");
    }
    if (request.method == Method::Options && !spec.secrets.empty()) return then();  // nothing is signed yet
    const auto token = spec.token.empty() ? std::nullopt : given_token(request);
    const bool is_signed = !spec.secrets.empty() && request.header("webhook-signature").has_value();
    if (!token && !is_signed)
      return keep_out(visit, spec.token.empty()     ? "it is not signed: the header webhook-signature is missing"
                             : spec.secrets.empty() ? "it gives no token"
                                                    : "it gives no token, and is not signed");
    // What is not given is not read, either.
    std::vector<std::string> texts;
    if (is_signed) texts = spec.secrets;
    if (token) texts.push_back(spec.token);
    auto after = std::make_unique<After<std::vector<std::string>>>(
        visit->wake,
        [this, visit, then = std::move(then), is_signed,
         token = token ? std::optional(std::string(*token)) : std::nullopt](std::vector<std::string> secrets) -> Reply {
          if (token) {
            if (!secrets.back().empty() && is_same_secret(secrets.back(), *token)) return then();
            secrets.pop_back();
          }
          if (!is_signed) return keep_out(visit, "its token is not that of the hook");
          std::erase_if(secrets, [](const std::string& secret) { return secret.empty(); });
          const std::string why = hooks::distrust(visit->message(), secrets, backend_.daemon.now().wall);
          if (!why.empty()) return keep_out(visit, why);
          visit->signed_as = signed_message(*visit);
          if (taken_->has(visit->signed_as)) return accepted({});
          return then();
        });
    backend_.daemon.reveal(std::move(texts), after->teller());
    return reply_of(std::move(after));
  }

  Reply keep_out(const Visiting& visit, const std::string& why) {
    const Duration now = backend_.daemon.now().mono;
    std::erase_if(told_, [now](const auto& one) { return now - one.second >= kTellAgain; });
    if (!told_.emplace(visit->spec.hook, now).second) return refusal(401, why);
    return refuse(backend_, visit, 401, why);
  }

  Backend backend_;
  HookBook book_;
  std::shared_ptr<TakenMessages> taken_ = std::make_shared<TakenMessages>();
  std::map<std::string, Duration> told_;  // by hook: when people were last told who was kept out
};

}  // namespace

std::vector<Route> hook_routes(const Backend& backend) {
  const auto hooks = std::make_shared<Hooks>(backend);
  std::vector<Route> routes;
  for (const Method method : kAllMethods)
    routes.push_back({method, "/hooks/{path...}", control::Least::Anybody,
                      [hooks](const Call& call) { return hooks->handle(call); }, Protection::None});
  return routes;
}

}  // namespace healer::web
