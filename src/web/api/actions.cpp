// SPDX-License-Identifier: MIT
// What is done over the API.
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "web/api/documents.hpp"
#include "web/api/operation.hpp"
#include "web/api/problem.hpp"
#include "web/verbs.hpp"

namespace healer::web {
namespace {

using control::Json;
using control::Verb;
using ApiRef = std::shared_ptr<Api>;

/// What is done to services.
struct ServiceVerb {
  Verb verb = Verb::Count_;
  std::string_view word;                 ///< in the path
  std::string_view what;                 ///< for people: "Start"
  std::vector<std::string_view> body{};  ///< fields beside those that choose services, and `reason`
};

const std::vector<ServiceVerb>& service_verbs() {
  static const std::vector<ServiceVerb> kVerbs{
      {Verb::Start, "start", "Start {}, after what they depend on"},
      {Verb::Stop, "stop", "Stop {}, after what depends on them"},
      {Verb::Restart, "restart", "Restart {}, with what depends on them"},
      {Verb::Monitor, "monitor", "Start checking {} again"},
      {Verb::Unmonitor, "unmonitor", "Stop checking {}", {"for_ms"}},
      {Verb::Validate, "check", "Check {} now"},
      {Verb::Pause, "pause", "Send alerts of {} but do nothing else", {"for_ms"}},
      {Verb::Resume, "resume", "End a pause of {}"},
      {Verb::Ack, "ack", "Acknowledge {} that have failed"},
      {Verb::Accept, "accept", "Let dormant rules of {} act, or accept a list", {"id"}},
      {Verb::Heal, "heal", "Heal {}, if guards and brakes allow it", {"workflow"}},
      {Verb::Forget, "forget", "Remove the services of a row that is missing from its list"},
  };
  return kVerbs;
}

std::string summary_of(const ServiceVerb& one, std::string_view whom) {
  std::string text(one.what);
  if (const std::size_t at = text.find("{}"); at != std::string::npos) text.replace(at, 2, whom);
  return text;
}

Reply act(const ApiRef& api, const Asked& asked) { return ask(api->backend, asked.call, asked.request, told); }

/// Its answer has no end, for healerd has ended by then: what was begun is told.
Reply quit(const ApiRef& api, const Asked& asked) {
  constexpr std::size_t kMostText = 64 * 1024;
  control::Peer peer;
  peer.who = asked.call.who;
  const auto answer = api->backend.commands.handle(asked.request, peer, asked.call.wake);
  std::string text;
  (void)answer->pull(text, kMostText);
  Json json = Json::parse(text.substr(0, text.find('\n')));
  if (json.contains("error")) return problem(json["error"].get<control::Failure>());
  json["ok"] = true;
  json["text"] = "healerd ends";
  Response response = document(json);
  response.status = 202;
  return response;
}

/// The number of a healing, or the name of its target: as `healerctl approve` takes it.
Reply decide(const ApiRef& api, const Asked& asked) {
  control::Request request = asked.request;
  const std::string& id = asked.call.captured.front();
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error == std::errc{} && rest == id.data() + id.size()) request.id = number;
  return ask(api->backend, asked.call, request, told);
}

Operation acting(std::string path, Verb verb, std::string summary, std::vector<std::string_view> body) {
  Operation one = operation(Method::Post, std::move(path), verb, std::move(summary));
  one.body = std::move(body);
  one.whole = "Done";
  one.handle = act;
  return one;
}

}  // namespace

void add_actions(std::vector<Operation>& all) {
  for (const ServiceVerb& verb : service_verbs()) {
    std::vector<std::string_view> body{"reason"};
    body.insert(body.end(), verb.body.begin(), verb.body.end());
    all.push_back(acting("/services/{name}/" + std::string(verb.word), verb.verb, summary_of(verb, "a service"), body));
    body.insert(body.begin(), {"names", "groups", "all"});
    all.push_back(acting("/services/" + std::string(verb.word), verb.verb, summary_of(verb, "services"), body));
  }
  for (const auto& [verb, what] : {std::pair(Verb::Approve, "Approve a healing that waits for it"),
                                   {Verb::Reject, "Reject a healing that waits for approval"},
                                   {Verb::Cancel, "End a healing"}}) {
    Operation one = acting("/healings/{id}/" + std::string(to_string(verb)), verb, what, {});
    if (verb == Verb::Approve) one.body = {"plan"};
    one.handle = decide;
    all.push_back(one);
  }
  all.push_back(acting("/healings/reset", Verb::HealingReset, "Close the open breaker of a workflow", {"workflow"}));
  all.push_back(acting("/reload", Verb::Reload, "Read the rules files again", {"confirmed"}));
  Operation end = acting("/quit", Verb::Quit, "End healerd", {});
  end.handle = quit;
  all.push_back(end);
}

}  // namespace healer::web
