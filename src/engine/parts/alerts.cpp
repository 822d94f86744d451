// SPDX-License-Identifier: MIT
#include "engine/parts/alerts.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {

const Acknowledgement* Alerts::acknowledged(ServiceId id) const {
  const auto found = acknowledged_.find(id);
  return found == acknowledged_.end() ? nullptr : &found->second;
}

// ---- telling ------------------------------------------------------------------------------------------------------

void Alerts::send(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn,
                  About about) const {
  if (recipients.empty()) return;
  turn.acts.emplace_back(
      effect::Alert{ids_.alert(), std::move(recipients), std::move(cause), std::move(about.incident), about.reminder});
  turn.commit().pending.emplace_back(std::get<effect::Alert>(turn.acts.back()));
}

void Alerts::send(ServiceId id, effect::Cause cause, EventKind event, effect::Cause::State state,
                  const std::string& text, Turn& turn, bool listed_only, std::string_view what) const {
  const ServiceBlock& block = graph_->at(id);
  if (graph_->settings->shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : *block.recipients)
    if (recipient.events.test(static_cast<std::size_t>(event)) && (recipient.listed || !listed_only))
      recipients.push_back(recipient);
  cause.service = block.name;
  cause.event = event;
  cause.state = state;
  cause.event_text = what.empty() ? event_text(event, state) : what;
  cause.action_text = "alert";
  cause.description = text;
  cause.when = turn.now.wall;
  send(std::move(recipients), std::make_shared<const effect::Cause>(std::move(cause)), turn);
}

void Alerts::event_refused(ServiceId id, const std::string& text, Turn& turn) const {
  turn.record(RecordKind::EventRefused, Severity::Warning, graph_->at(id).name, text);
  send(id, {}, EventKind::Invalid, effect::Cause::State::Failed, text, turn, false, "Event refused");
}

void Alerts::send_of_daemon(const std::string& text, std::string_view action, Turn& turn, std::string_view what,
                            std::string_view but) const {
  if (graph_->settings->shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : graph_->settings->mail.recipients)
    if (recipient.events.test(static_cast<std::size_t>(EventKind::Instance)) &&
        (but.empty() || !recipient.contact || !iequals(recipient.address, but)))
      recipients.push_back(recipient);
  auto cause = std::make_shared<effect::Cause>();
  cause->service = "healer";
  cause->event = EventKind::Instance;
  cause->state = effect::Cause::State::Changed;
  cause->event_text = what.empty() ? event_text(cause->event, cause->state) : what;
  cause->action_text = action;
  cause->description = text;
  cause->when = turn.now.wall;
  send(std::move(recipients), std::move(cause), turn);
}

void Alerts::report(RecordKind kind, Severity severity, const std::string& text, std::string_view what,
                    Turn& turn) const {
  turn.record(kind, severity, {}, text);
  send_of_daemon(text, "alert", turn, what);
}

void Alerts::hear_delivery(const event::MailOutcome& event, Turn& turn) const {
  using Kind = event::MailOutcome::Kind;
  const bool mailed = event.contact.empty();
  const RecordKind kind = event.kind == Kind::Sent     ? mailed ? RecordKind::MailSent : RecordKind::AlertSent
                          : event.kind == Kind::Failed ? mailed ? RecordKind::MailFailed : RecordKind::AlertFailed
                          : mailed                     ? RecordKind::MailDropped
                                                       : RecordKind::AlertDropped;
  const Severity severity = event.kind == Kind::Sent ? Severity::Info : Severity::Warning;
  turn.record(kind, severity, {}, event.text).subject = event.alert.number();
  if (event.tells_others) send_of_daemon(event.text, "alert", turn, kNotDelivered, event.contact);
}

// ---- what was told of starts and stops ----------------------------------------------------------------------------

void Alerts::report_end(const Job& job, bool good, const Starts& starts, Turn& turn) {
  using State = effect::Cause::State;
  if (job.end_requested) return;
  const bool stops = job.kind == ActionKind::Stop;
  for (const JobStep& step : std::span(job.steps).first(job.position)) {
    const bool started = !graph_->at(step.service).has_process() || starts.is_up(step.service);
    if (stops ? step.kind != Bringing::Stop : step.kind == Bringing::Stop || !started) continue;
    if (start_failed_.erase(step.service) > 0)
      send(step.service, *job.cause, EventKind::Exec, State::Succeeded, stops ? "stopped" : "started", turn);
  }
  if (!good && start_failed_.insert(job.step().service).second)
    send(job.step().service, *job.cause, EventKind::Exec, State::Failed, job.failure, turn);
  if (good && !is_rule(job.by))
    send(job.service, *job.cause, EventKind::Action, State::Succeeded,
         fmt::format("{} action done", to_string(job.kind)), turn);
}

// ---- acknowledgements ---------------------------------------------------------------------------------------------

void Alerts::forget_acknowledged(ServiceId id, Turn& turn) {
  const auto known = acknowledged_.find(id);
  if (known == acknowledged_.end() || std::ranges::any_of(rules_.of(id), [](const RuleState& rule) {
        return rule.status == RuleStatus::Failed && rule.notified == Notified::Acknowledged;
      }))
    return;
  acknowledged_.erase(known);
  turn.save(id);
}

// ---- what a window keeps ------------------------------------------------------------------------------------------

bool Alerts::keeps(ServiceId id) const {
  return std::ranges::any_of(rules_.of(id), [](const RuleState& rule) {
    return rule.status == RuleStatus::Failed && rule.notified == Notified::Kept;
  });
}

void Alerts::keep(ServiceId id, Instant now) {
  if (kept_.insert(id).second && !release_at_) release_at_ = now.mono;
}

void Alerts::release(Duration soonest, Turn& turn) {
  if (kept_.empty()) return;
  const std::optional<WallTime> end = maintenance_.first_end(turn.now);
  if (!end || end != first_window_ || *release_at_ <= turn.now.mono) {
    first_window_ = end;
    std::erase_if(kept_, [&](ServiceId id) {
      const bool known = graph_->block(id) != nullptr;
      if (known && maintenance_.in_force(id, turn.now)) return false;
      if (known && keeps(id)) turn.tell(fact::LookWanted{id, Reason::Again, soonest});
      return true;
    });
  }
  release_at_.reset();
  if (!kept_.empty()) release_at_ = turn.now.mono + (*end - turn.now.wall);
}

// ---- life ---------------------------------------------------------------------------------------------------------

void Alerts::restore(ServiceId id, const SavedService& saved) {
  acknowledged_.erase(id);
  if (saved.acknowledged) acknowledged_.emplace(id, *saved.acknowledged);
}

void Alerts::save(ServiceId id, SavedService& out) const {
  if (const Acknowledgement* const word = acknowledged(id)) out.acknowledged = *word;
}

void Alerts::forget(ServiceId id) {
  start_failed_.erase(id);
  acknowledged_.erase(id);
}

void Alerts::reload(Instant now) {
  if (!kept_.empty()) release_at_ = now.mono;
}

}  // namespace healer::engine
