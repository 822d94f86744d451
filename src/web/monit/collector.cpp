// SPDX-License-Identifier: MIT
#include "web/monit/collector.hpp"

#include <algorithm>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "web/monit/escape.hpp"
#include "web/monit/xml.hpp"

namespace healer::web::monit {
namespace {

using engine::ActionKind;
using engine::EventKind;
using engine::Record;
using engine::RecordKind;
using engine::ServiceBlock;

constexpr std::size_t kMostAsked = 1000;
constexpr std::string_view kLastTag = "</monit>";
/// Who the daemon itself is, among services: not healer, since collectors know this name.
constexpr std::string_view kItself = "Monit";

constexpr int kAlert = 1, kStop = 3, kStart = 6;  // actions

/// The number of an action in the XML.
int number_of_action(ActionKind kind) {
  switch (kind) {
    case ActionKind::Ignore: return 0;
    case ActionKind::Alert: return kAlert;
    case ActionKind::Restart: return 2;
    case ActionKind::Stop: return kStop;
    case ActionKind::Exec:
    case ActionKind::Heal: return 4;  // which Monit has not: programs, most likely
    case ActionKind::Unmonitor: return 5;
    case ActionKind::Start: return kStart;
  }
  return kAlert;
}

CollectorEvent of_itself(const Record& record, int action) {
  return {.when = record.when, .service = std::string(kItself), .action = action, .message = record.text};
}

/// What a person asks for, in Monit's word; empty: nothing that Monit would tell of.
std::string_view verb_asked(engine::event::Command::Kind kind) {
  using Kind = engine::event::Command::Kind;
  switch (kind) {
    case Kind::Monitor: return "monitor";
    case Kind::Unmonitor: return "unmonitor";
    case Kind::Start: return "start";
    case Kind::Stop: return "stop";
    case Kind::Restart: return "restart";
    default: return {};
  }
}

int type_of(const Scene& scene, const std::string& service) {
  const auto id = scene.engine.graph()->find(service);
  return id ? kind_of(*scene.engine.graph()->at(*id).kind).number : 7;
}

}  // namespace

// ---- where, and as whom -------------------------------------------------------------------------------------------

CollectorUrl collector_url(std::string_view url) {
  CollectorUrl found{.bare = std::string(url)};
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return found;
  const std::size_t begin = scheme + 3;
  const std::size_t colon = url.find_first_of(":@[", begin);
  const bool has_password = colon != std::string_view::npos && url[colon] == ':';
  const std::size_t at = has_password ? url.find('@', colon) : url.substr(0, url.find_first_of("/?#", begin)).find('@');
  if (at == std::string_view::npos) return found;
  found.user = url.substr(begin, (has_password ? colon : at) - begin);
  if (has_password) found.password = url.substr(colon + 1, at - colon - 1);
  found.bare = std::string(url.substr(0, begin)) + std::string(url.substr(at + 1));
  return found;
}

std::string CollectorUrl::whole(const std::string& secret) const {
  if (!user) return bare;
  const std::size_t place = bare.find("://") + 3;
  return bare.substr(0, place) + link_to(*user) + ":" + link_to(secret) + "@" + bare.substr(place);
}

const engine::HttpdSettings::Allow* told_login(const engine::Settings& settings) {
  using Allow = engine::HttpdSettings::Allow;
  if (!settings.mmonit || !settings.mmonit->register_credentials || !settings.httpd) return nullptr;
  const auto found = std::ranges::find_if(settings.httpd->allow, [](const Allow& one) {
    return one.kind == Allow::Kind::Login && one.role == engine::Role::Admin;
  });
  return found == settings.httpd->allow.end() ? nullptr : &*found;
}

std::vector<std::string> collector_headers(MonitVersion version) {
  return {"Content-Type: text/xml", "Pragma: no-cache", "Accept: */*",
          fmt::format("User-Agent: Monit/{}", version_of(version))};
}

// ---- what has happened --------------------------------------------------------------------------------------------

std::string xml_of(const CollectorEvent& event, MonitVersion version) {
  const std::string service = version >= MonitVersion::V6 ? cdata(event.service) : escaped(event.service);
  return fmt::format(
      "<event><collected_sec>{}</collected_sec><collected_usec>{}</collected_usec><service>{}</service>"
      "<type>{}</type><id>{}</id><state>{}</state><action>{}</action><message>{}</message></event>",
      std::chrono::floor<seconds>(event.when).time_since_epoch() / seconds{1},
      std::int64_t{subsecond_ms(event.when)} * 1000, service, event.type, bit_of(event.event),
      static_cast<int>(event.state), event.action, cdata(event.message));
}

void CollectorEvents::note(const engine::Event& event, const Scene& scene) {
  const auto* const command = std::get_if<engine::event::Command>(&event);
  if (command == nullptr) return;
  const std::string_view verb = verb_asked(command->kind);
  if (verb.empty() || asked_.size() >= kMostAsked) return;
  Asked& asked = asked_[command->id];
  asked.verb = verb;
  for (const engine::ServiceId id : command->services)
    if (const ServiceBlock* const block = scene.engine.graph()->block(id)) asked.services.push_back(block->name);
}

std::vector<CollectorEvent> CollectorEvents::of(const engine::Effect& effect, const Scene& scene) {
  std::vector<CollectorEvent> events;
  if (const auto* const commit = std::get_if<engine::effect::Commit>(&effect))
    for (const Record& record : commit->records)
      if (auto event = of(record, scene)) events.push_back(std::move(*event));
  const auto* const reply = std::get_if<engine::effect::Reply>(&effect);
  if (reply == nullptr) return events;
  const auto found = asked_.extract(reply->command);
  if (!found || !reply->ok) return events;
  for (const std::string& service : found.mapped().services)
    events.push_back({.when = scene.now.wall,
                      .service = service,
                      .type = type_of(scene, service),
                      .event = EventKind::Action,
                      .message = fmt::format("{} action done", found.mapped().verb)});
  return events;
}

std::optional<CollectorEvent> CollectorEvents::of(const Record& record, const Scene& scene) {
  switch (record.kind) {
    case RecordKind::DaemonStarted:
    case RecordKind::Reloaded: return of_itself(record, kStart);
    case RecordKind::DaemonStopped: return of_itself(record, kStop);
    case RecordKind::ReloadFailed:
    case RecordKind::StateDamaged: return of_itself(record, kAlert);
    case RecordKind::RuleFailed:
    case RecordKind::RuleRecovered:
    case RecordKind::RuleMatched:
    case RecordKind::RuleChanged: return of_rule(record, scene);
    case RecordKind::JobEnded:
    case RecordKind::JobFailed: return of_job(record, scene);
    default: return std::nullopt;
  }
}

std::optional<CollectorEvent> CollectorEvents::of_rule(const Record& record, const Scene& scene) {
  using State = CollectorEvent::State;
  const engine::Graph& graph = *scene.engine.graph();
  const auto id = graph.find(record.service);
  if (!id) return std::nullopt;
  const ServiceBlock& block = graph.at(*id);
  const auto found = std::ranges::find(block.rules, record.rule, &engine::Rule::key);
  if (found == block.rules.end()) return std::nullopt;
  const engine::Rule& rule = *found;
  const auto index = static_cast<std::size_t>(std::distance(block.rules.begin(), found));
  CollectorEvent event{.when = record.when,
                       .service = block.name,
                       .type = kind_of(*block.kind).number,
                       .event = rule->event,
                       .message = record.text};
  const std::pair key(record.service, record.rule);
  const bool recovered = record.kind == RecordKind::RuleRecovered;
  if (recovered) {
    // The engine has forgotten by now what it recovers from.
    if (const auto before = unusual_.extract(key)) event.event = before.mapped();
  } else if (const auto states = scene.engine.rules(*id); index < states.size()) {
    event.event = states[index].past->event.value_or(rule->event);
    if (event.event != rule->event && record.kind == RecordKind::RuleFailed) unusual_[key] = event.event;
  }
  const engine::Action& action = recovered ? rule->recovery->action : rule->action;
  if (!action.tells()) return std::nullopt;
  event.action = number_of_action(action.kind);
  event.state = recovered ? State::Succeeded : record.kind == RecordKind::RuleFailed ? State::Failed : State::Changed;
  return event;
}

/// A start or stop that fails is told once, until one succeeds.
std::optional<CollectorEvent> CollectorEvents::of_job(const Record& record, const Scene& scene) {
  static constexpr std::string_view kFailed = " failed: ";
  const bool failed = record.kind == RecordKind::JobFailed;
  if (failed ? !start_failed_.insert(record.service).second : start_failed_.erase(record.service) == 0)
    return std::nullopt;
  const std::size_t why = record.text.find(kFailed);
  const std::string done = record.text.starts_with("stop") ? "stopped" : "started";
  return CollectorEvent{.when = record.when,
                        .service = record.service,
                        .type = type_of(scene, record.service),
                        .event = EventKind::Exec,
                        .state = failed ? CollectorEvent::State::Failed : CollectorEvent::State::Succeeded,
                        .message = !failed                    ? done
                                   : why == std::string::npos ? record.text
                                                              : record.text.substr(why + kFailed.size())};
}

// ---- documents ----------------------------------------------------------------------------------------------------

CollectorDocument::CollectorDocument(const control::Supervisor& daemon, const std::vector<std::string>& host_groups)
    : daemon_(daemon), version_(Scene(daemon).version) {
  const Scene scene(daemon_);
  text_ = xml_head(scene, Form::Second, host_groups);
  services_ = scene.engine.graph()->order;
}

bool CollectorDocument::grow(std::size_t services) {
  if (complete_) return false;
  const Scene scene(daemon_);
  for (; next_ < services_.size() && services > 0; ++next_, --services)
    if (scene.engine.graph()->block(services_[next_]) != nullptr)  // a reload may have taken it away meanwhile
      write_xml(text_, scene, services_[next_], Form::Second);
  if (next_ < services_.size()) return true;
  text_ += xml_foot(scene, Form::Second);
  text_.resize(text_.size() - kLastTag.size());
  complete_ = true;
  return false;
}

std::string CollectorDocument::text(const CollectorEvent* event,
                                    const std::optional<std::pair<std::string, std::string>>& login) const {
  const std::string told = event == nullptr ? std::string() : xml_of(*event, version_);
  const std::string credentials =
      login ? fmt::format("<credentials><username>{}</username><password>{}</password></credentials>",
                          escaped(login->first), escaped(login->second))
            : std::string();
  const std::size_t place = text_.find("</server>");
  std::string whole;
  whole.reserve(text_.size() + credentials.size() + told.size() + kLastTag.size());
  whole.append(text_, 0, place).append(credentials).append(text_, place, std::string::npos);
  return whole.append(told).append(kLastTag);
}

}  // namespace healer::web::monit
