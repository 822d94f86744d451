// SPDX-License-Identifier: MIT
// Whether services are monitored: taken out by a person or a rule, taken up again by a person or when a time is over.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/healing/deadline.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
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

const TakenOut* Engine::taken_out(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  return state.monitored || !state.trouble->taken_out ? nullptr : &*state.trouble->taken_out;
}

const TakenOut* Engine::given_up(ServiceId id) const {
  const TakenOut* const how = taken_out(id);
  return how != nullptr && how->given_up() ? how : nullptr;
}

/// `text` is what is recorded of it, where that is not who has asked for it.
void Engine::monitor(ServiceId id, const Origin& by, Turn& turn, std::string text) {
  ServiceState& state = services_[id.index()];
  if (state.monitored) return;
  state.monitored = true;
  state.initialising = true;
  if (state.child->last_status()) state.child.edit().forget_status();
  timetable_.forget_overruns(id);
  // `unmonitor` then `monitor` begins afresh; what a person accepted stays accepted.
  rules_.forget(id);
  alerts_.forget(id);
  state.trouble.set(&Trouble::action_failure, {});
  state.trouble.set(&Trouble::taken_out, {});
  state.memory = fresh_memory(graph_->at(id));
  state.trouble.set(&Trouble::waits, {});
  turn.save(id);
  if (text.empty()) text = fmt::format("monitored by {}", words_of(by));
  turn.record(RecordKind::Monitored, Severity::Info, graph_->at(id).name, std::move(text));
  composites_.note(id);
  if (running_) begin(id, std::max(turn.now.mono, started_at_.mono + graph_->settings->start_delay), turn);
}

TakenOut Engine::taken_out_by(const effect::Cause& cause, Instant now, Duration lasting) const {
  TakenOut how{.by = ByRule{}, .service = cause.service, .rule = cause.rule, .since = now.wall};
  if (lasting > Duration{0}) how.until = now.wall + lasting;
  return how;
}

/// What is mailed of it: that nobody looks from now on is what people must know.
std::shared_ptr<const effect::Cause> Engine::giving_up(ServiceId id, const effect::Cause& cause,
                                                       const Action& action) const {
  effect::Cause explained = cause;
  std::vector<ServiceId> along;
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (services_[dependent.index()].monitored) along.push_back(dependent);
  explained.description += fmt::format("\n{}{} given up by its rule: {}", cause.service,
                                       action.kind == ActionKind::Stop ? " is stopped and" : " is", cause.rule);
  if (!along.empty())
    explained.description += fmt::format("\nwhat depends on it, too: {}", listed(commands_.names_of(along)));
  if (action.lasting > Duration{0})
    explained.description += fmt::format("\nmonitored again in {}, or after `healerctl monitor {}`",
                                         format_duration(action.lasting), cause.service);
  else
    explained.description += fmt::format("\nnot monitored until somebody says `healerctl monitor {}`", cause.service);
  return std::make_shared<const effect::Cause>(std::move(explained));
}

/// With all that depends on it, as Monit.
void Engine::unmonitor(ServiceId id, const TakenOut& how, Turn& turn) {
  if (!graph_->dependents[id.index()].empty())
    for (const ServiceId dependent : dependents_of(*graph_, id)) unmonitor_one(dependent, how, turn);
  unmonitor_one(id, how, turn);
}

/// What a person has unmonitored stays that; a person's word also stands over what a rule has done before.
void Engine::unmonitor_one(ServiceId id, TakenOut how, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.monitored) {
    const TakenOut* const before = taken_out(id);
    const bool given_up_before = before != nullptr && before->given_up();
    const std::optional<WallTime> until = before != nullptr ? before->until : std::nullopt;
    if (!is_person(how.by) || (!given_up_before && until == how.until)) return;
  }
  state.monitored = false;
  state.trouble.set(&Trouble::waits, {});
  timetable_.stop(id);
  arrivals_.stop(id);
  arrivals_.events().stop(id, graph_->at(id).name + " is not monitored", turn);
  cancel_flight(id, turn);
  const bool along = how.given_up() && !iequals(how.service, graph_->at(id).name);
  std::string text = fmt::format("unmonitored by {}", words_of(how.by));
  if (how.until) text += " for " + format_duration(std::max(*how.until - turn.now.wall, Duration{0}));
  if (along) text += fmt::format(" of {}, on which it depends", how.service);
  if (!how.rule.empty()) text += ": " + how.rule;
  if (along) report_taken_along(id, how, turn);
  if (how.until) returns_.emplace(*how.until, id);
  state.trouble.set(&Trouble::taken_out, std::move(how));
  composites_.note(id);
  commands_.run_ended(id, false, turn);
  turn.save(id);
  turn.record(RecordKind::Unmonitored, Severity::Info, graph_->at(id).name, std::move(text));
}

/// Those who look after a service learn why it is not looked at any more; its own rules have not failed.
void Engine::report_taken_along(ServiceId id, const TakenOut& how, Turn& turn) {
  std::string text = fmt::format("it depends on {}, which is given up by its rule: {}", how.service, how.rule);
  if (how.until)
    text += fmt::format("\nmonitored again in {}", format_duration(std::max(*how.until - turn.now.wall, Duration{0})));
  else
    text += fmt::format("\nnot monitored until somebody says `healerctl monitor {}`", graph_->at(id).name);
  effect::Cause cause{.service = graph_->at(id).name};
  alerts_.send(id, std::move(cause), EventKind::Action, effect::Cause::State::Failed, text, turn, false, kGivenUp);
}

/// Those whose time is over are monitored again, as after a person's word.
void Engine::take_back(Turn& turn) {
  while (!returns_.empty() && returns_.begin()->first <= turn.now.wall) {
    const auto [until, id] = returns_.extract(returns_.begin()).value();
    if (id.index() >= graph_->slots.size() || !graph_->slots[id.index()]) continue;
    const TakenOut* const how = taken_out(id);
    if (how == nullptr || how->until != until) continue;
    reevaluate_healings(turn);
    monitor(id, {}, turn,
            fmt::format("monitored again: the {1} for which {0} had unmonitored it are over", words_of(how->by),
                        format_duration(until - how->since)));
  }
}

/// What an earlier healer has left. After a boot of the machine a time is not over earlier than was said.
void Engine::carry_taken_out(Turn& turn) {
  const bool other_boot = found_.boot != 0 && found_.boot != turn.now.boot && found_.seen;
  for (const ServiceId id : graph_->order) {
    Sparse<Trouble>& trouble = services_[id.index()].trouble;
    if (!trouble->taken_out || !trouble->taken_out->until) continue;
    std::optional<WallTime>& until = trouble.edit().taken_out->until;
    if (other_boot) {
      const WallTime later = carried(*until, *found_.seen, turn.now);
      if (std::exchange(*until, later) != later) turn.save(id);
    }
    returns_.emplace(*until, id);
  }
}

/// Of a state that does not tell it: by a rule of its that stands failed, as far as can be known.
void Engine::guess_taken_out(ServiceId id) {
  ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  const std::span<const RuleState> states = rules(id);
  for (std::size_t i = 0; i < states.size(); ++i)
    if (may_have_taken_out(block.rules[i], states[i]))
      return state.trouble.set(&Trouble::taken_out,
                               TakenOut{.by = ByRule{},
                                        .service = block.name,
                                        .rule = block.rules[i]->text,
                                        .since = states[i].past->changed.value_or(started_at_.wall)});
}

}  // namespace healer::engine
