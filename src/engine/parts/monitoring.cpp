// SPDX-License-Identifier: MIT
#include "engine/parts/monitoring.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/deadline.hpp"
#include "engine/job.hpp"
#include "engine/parts/alerts.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// Whether a rule that stands failed may have taken its service out of monitoring.
bool may_have_taken_out(const Rule& rule, const RuleState& state) {
  const ActionKind kind = rule->action.kind;
  return state.status == RuleStatus::Failed && (kind == ActionKind::Unmonitor || kind == ActionKind::Stop);
}

}  // namespace

// ---- view ---------------------------------------------------------------------------------------------------------

const TakenOut* Monitoring::taken_out(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  return state.monitored || !state.trouble->taken_out ? nullptr : &*state.trouble->taken_out;
}

const TakenOut* Monitoring::given_up(ServiceId id) const {
  const TakenOut* const how = taken_out(id);
  return how != nullptr && how->given_up() ? how : nullptr;
}

TakenOut Monitoring::by_rule(const effect::Cause& cause, Instant now, Duration lasting) {
  TakenOut how{.by = ByRule{}, .service = cause.service, .rule = cause.rule, .since = now.wall};
  if (lasting > Duration{0}) how.until = now.wall + lasting;
  return how;
}

std::shared_ptr<const effect::Cause> Monitoring::giving_up(ServiceId id, const effect::Cause& cause,
                                                           const Action& action) const {
  effect::Cause explained = cause;
  std::vector<std::string> along;
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (services_[dependent.index()].monitored) along.push_back(graph_->at(dependent).name);
  explained.description += fmt::format("\n{}{} given up by its rule: {}", cause.service,
                                       action.kind == ActionKind::Stop ? " is stopped and" : " is", cause.rule);
  if (!along.empty()) explained.description += fmt::format("\nwhat depends on it, too: {}", listed(along));
  if (action.lasting > Duration{0})
    explained.description += fmt::format("\nmonitored again in {}, or after `healerctl monitor {}`",
                                         format_duration(action.lasting), cause.service);
  else
    explained.description += fmt::format("\nnot monitored until somebody says `healerctl monitor {}`", cause.service);
  return std::make_shared<const effect::Cause>(std::move(explained));
}

// ---- what it hears ------------------------------------------------------------------------------------------------

bool Monitoring::begin(ServiceId id, const Origin& by, Turn& turn, std::string text) {
  ServiceState& state = services_[id.index()];
  if (state.monitored) return false;
  state.monitored = true;
  state.initialising = true;
  state.trouble.set(&Trouble::taken_out, {});
  turn.save(id);
  if (text.empty()) text = fmt::format("monitored by {}", words_of(by));
  turn.record(RecordKind::Monitored, Severity::Info, graph_->at(id).name, std::move(text));
  return true;
}

bool Monitoring::end(ServiceId id, TakenOut how, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.monitored) {
    const TakenOut* const before = taken_out(id);
    const bool given_up_before = before != nullptr && before->given_up();
    const std::optional<WallTime> until = before != nullptr ? before->until : std::nullopt;
    if (!is_person(how.by) || (!given_up_before && until == how.until)) return false;
  }
  state.monitored = false;
  const bool along = how.given_up() && !iequals(how.service, graph_->at(id).name);
  std::string text = fmt::format("unmonitored by {}", words_of(how.by));
  if (how.until) text += " for " + format_duration(std::max(*how.until - turn.now.wall, Duration{0}));
  if (along) text += fmt::format(" of {}, on which it depends", how.service);
  if (!how.rule.empty()) text += ": " + how.rule;
  if (along) report_taken_along(id, how, turn);
  if (how.until) returns_.emplace(*how.until, id);
  state.trouble.set(&Trouble::taken_out, std::move(how));
  turn.save(id);
  turn.record(RecordKind::Unmonitored, Severity::Info, graph_->at(id).name, std::move(text));
  return true;
}

/// Those who look after a service learn why it is not looked at any more; its own rules have not failed.
void Monitoring::report_taken_along(ServiceId id, const TakenOut& how, Turn& turn) const {
  std::string text = fmt::format("it depends on {}, which is given up by its rule: {}", how.service, how.rule);
  if (how.until)
    text += fmt::format("\nmonitored again in {}", format_duration(std::max(*how.until - turn.now.wall, Duration{0})));
  else
    text += fmt::format("\nnot monitored until somebody says `healerctl monitor {}`", graph_->at(id).name);
  effect::Cause cause{.service = graph_->at(id).name};
  alerts_.send(id, std::move(cause), EventKind::Action, effect::Cause::State::Failed, text, turn, false, kGivenUp);
}

std::optional<std::pair<ServiceId, std::string>> Monitoring::take_back(Instant now) {
  while (!returns_.empty() && returns_.begin()->first <= now.wall) {
    const auto [until, id] = returns_.extract(returns_.begin()).value();
    if (graph_->block(id) == nullptr) continue;
    const TakenOut* const how = taken_out(id);
    if (how == nullptr || how->until != until) continue;
    return std::pair(id, fmt::format("monitored again: the {1} for which {0} had unmonitored it are over",
                                     words_of(how->by), format_duration(until - how->since)));
  }
  return std::nullopt;
}

void Monitoring::follow_clock(Instant now) {
  return_at_.reset();
  if (!returns_.empty()) return_at_ = now.mono + std::max(returns_.begin()->first - now.wall, Duration{0});
}

// ---- life ---------------------------------------------------------------------------------------------------------

void Monitoring::carry(std::optional<WallTime> seen, Turn& turn) {
  for (const ServiceId id : graph_->order) {
    Sparse<Trouble>& trouble = services_[id.index()].trouble;
    if (!trouble->taken_out || !trouble->taken_out->until) continue;
    std::optional<WallTime>& until = trouble.edit().taken_out->until;
    if (seen) {
      const WallTime later = carried(*until, *seen, turn.now);
      if (std::exchange(*until, later) != later) turn.save(id);
    }
    returns_.emplace(*until, id);
  }
}

void Monitoring::begin_afresh(ServiceId id) {
  services_[id.index()].monitored = graph_->at(id).on_reboot != ServiceBlock::OnReboot::NoStart;
}

void Monitoring::restore(ServiceId id, const SavedService& saved, bool same_boot) {
  ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  state.monitored = saved.monitored;
  if (!same_boot && block.on_reboot != ServiceBlock::OnReboot::LastState)
    state.monitored = block.on_reboot == ServiceBlock::OnReboot::Start;
  if (!state.monitored && !saved.monitored) state.trouble.set(&Trouble::taken_out, saved.taken_out);
}

void Monitoring::guess(ServiceId id, WallTime started) {
  ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  const std::span<const RuleState> states = rules_.of(id);
  for (std::size_t i = 0; i < states.size(); ++i)
    if (may_have_taken_out(block.rules[i], states[i]))
      return state.trouble.set(&Trouble::taken_out, TakenOut{.by = ByRule{},
                                                             .service = block.name,
                                                             .rule = block.rules[i]->text,
                                                             .since = states[i].past->changed.value_or(started)});
}

}  // namespace healer::engine
