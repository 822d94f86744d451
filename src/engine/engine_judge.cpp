// SPDX-License-Identifier: MIT
// Judging a run: conditions, counting (Monit's, as the header says), and what follows from it.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/cause.hpp"
#include "engine/counting.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

bool compare(Comparison comparison, std::int64_t left, std::int64_t right) {
  switch (comparison) {
    case Comparison::Equal: return left == right;
    case Comparison::NotEqual: return left != right;
    case Comparison::Less: return left < right;
    case Comparison::LessEqual: return left <= right;
    case Comparison::Greater: return left > right;
    case Comparison::GreaterEqual: return left >= right;
  }
  return false;
}

bool holds(const Test& test, const Observation& seen, std::optional<std::int64_t> last_status) {
  if (const auto* status = std::get_if<StatusTest>(&test))
    return compare(status->comparison, seen.status, status->value);
  if (const auto* content = std::get_if<ContentTest>(&test))
    return seen.outcome != Outcome::NotStarted &&
           (seen.matches >> content->pattern & 1U) == (content->negated ? 0U : 1U);
  return last_status && *last_status != seen.status;
}

/// An `or` of `and`s.
bool holds(const std::vector<Term>& condition, const Observation& seen, std::optional<std::int64_t> last_status) {
  bool alternative = true;
  for (const Term& term : condition) {
    if (term.or_before) {
      if (alternative) return true;
      alternative = true;
    }
    alternative = alternative && holds(term.test, seen, last_status);
  }
  return alternative;
}

}  // namespace

void Engine::on(const event::Observed& event, Turn& turn) {
  const ServiceId id = event.service;
  if (id.index() >= services_.size() || services_[id.index()].flight != event.run) return;
  ServiceState& state = services_[id.index()];
  const bool counted = state.counted;
  state.flight.reset();
  state.initialising = false;
  state.last = event.observation;
  state.last_when = turn.now.wall;
  ++state.runs;
  if (passes(state, event.observation))
    finish_validate(id, false, turn);
  else
    judge(id, event.observation, counted, turn);
}

/// The common run, in which nothing happens: no rule counts or stands failed, and no condition holds.
bool Engine::passes(const ServiceState& state, const Observation& seen) const {
  if (!state.resting || seen.outcome != Outcome::Exited) return false;
  return std::ranges::none_of(
      std::span(tests_).subspan(state.first_rule, state.rule_count),
      [&](const PlainTest& test) { return !test.plain || compare(test.comparison, seen.status, test.value); });
}

void Engine::judge(ServiceId id, const Observation& seen, bool counted, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  ServiceState& state = services_[id.index()];
  auto* memory = std::get_if<ProgramMemory>(&state.memory);
  const std::optional<std::int64_t> last_status = memory != nullptr ? memory->last_status : std::nullopt;
  if (seen.outcome == Outcome::TimedOut) {
    Record& record = turn.record(RecordKind::RunTimedOut, Severity::Warning, block.name,
                                 describe_timeout(block.program.command.timeout));
    record.output = *seen.output;
  }

  // All rules are judged before anything is done.
  const std::span<RuleState> states = rules_of(state);
  std::vector<Decision> decisions;
  bool failed = false;
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    const Rule& rule = block.rules[i];
    const RuleState before = states[i];
    RuleState& now = states[i];
    const bool bad = holds(rule.condition, seen, last_status);
    if (rule.mode == Mode::Latched) {
      switch (counted ? count_latched(rule, now, bad, turn.now.mono) : peek_latched(rule, now, bad)) {
        case Verdict::Fire:
          now.status = RuleStatus::Failed;
          now.window = {1};
          now.since_fired = 1;
          now.changed = turn.now.wall;
          decisions.push_back({i, Decision::What::Fire});
          break;
        case Verdict::Recover:
          now.status = RuleStatus::Ok;
          now.window = {};
          now.since_fired = 0;
          now.clear_since.reset();
          now.changed = turn.now.wall;
          decisions.push_back({i, Decision::What::Recover});
          break;
        case Verdict::Failing:
          ++now.since_fired;
          if (!bad) break;
          if (rule.action.repeat != 0 && now.since_fired % rule.action.repeat == 0)
            decisions.push_back({i, Decision::What::Repeat, now.since_fired});
          decisions.push_back({i, Decision::What::Remind, now.since_fired});
          break;
        case Verdict::Nothing:
          if (bad && counted)
            turn.note(Severity::Warning, block.name,
                      fmt::format("{} (tolerance not met yet: {})",
                                  describe_run(seen, true, block.program.command.timeout), rule.text));
          break;
      }
    } else if (counted ? count_each(rule, now, bad, turn.now.mono)
                       : bad && rule.mode == Mode::EachMatch && rule.tolerance.immediate()) {
      decisions.push_back({i, Decision::What::Fire});
    }
    failed = failed || bad;
    if (now != before || (counted && now.counting())) turn.save(id);
  }
  if (memory != nullptr && counted && memory->last_status != seen.status) {
    memory->last_status = seen.status;
    turn.save(id);
  }
  state.resting = std::ranges::all_of(states, &RuleState::resting);
  finish_validate(id, failed, turn);  // before an action may take the service out of it
  if (decisions.empty()) return;

  // One cause a rule; repeats and reminders of it share the text.
  for (Decision& decision : decisions) {
    const Rule& rule = block.rules[decision.rule];
    const bool recovered = decision.what == Decision::What::Recover;
    auto cause = std::make_shared<effect::Cause>();
    cause->service = block.name;
    cause->event = rule.event;
    cause->state = recovered                       ? effect::Cause::State::Succeeded
                   : rule.mode == Mode::EachChange ? effect::Cause::State::Changed
                                                   : effect::Cause::State::Failed;
    cause->event_text = event_text(rule.event, cause->state);
    cause->action_text = to_string((recovered ? rule.recovery.action : rule.action).kind);
    cause->rule = rule.text;
    cause->when = turn.now.wall;
    cause->program_status = seen.status;
    if (rule.mode == Mode::EachMatch) {
      cause->description = describe_content(true, *seen.output);
    } else if (rule.mode == Mode::EachChange) {
      cause->description = describe_changed(last_status.value_or(seen.status), seen.status, *seen.output);
    } else {
      cause->description = describe_run(seen, !recovered, block.program.command.timeout);
    }
    decision.cause = std::move(cause);
  }
  const auto goes_on = [&](const Decision& decision) {
    const Rule& rule = block.rules[decision.rule];
    const Action& action = decision.what == Decision::What::Recover ? rule.recovery.action : rule.action;
    return action.kind != ActionKind::Unmonitor;
  };
  std::stable_partition(decisions.begin(), decisions.end(), goes_on);
  for (const Decision& decision : decisions) act(id, decision, turn);
}

void Engine::act(ServiceId id, const Decision& decision, Turn& turn) {
  using What = Decision::What;
  const ServiceBlock& block = graph_->at(id);
  const Rule& rule = block.rules[decision.rule];
  const RuleState& state = rules(id)[decision.rule];
  const bool recovered = decision.what == What::Recover;
  const Action& action = recovered ? rule.recovery.action : rule.action;

  std::vector<Recipient> recipients;
  for (const Recipient& recipient : block.recipients) {
    if (!recipient.events.test(static_cast<std::size_t>(rule.event))) continue;
    const bool due = recipient.reminder != 0 && decision.count % recipient.reminder == 0;
    if (decision.what == What::Fire || recovered || (decision.what == What::Remind && due))
      recipients.push_back(recipient);
  }
  if (decision.what == What::Remind && recipients.empty()) return;

  const bool failed = !recovered;
  RecordKind kind = recovered ? RecordKind::RuleRecovered : RecordKind::RuleFailed;
  if (decision.what == What::Repeat || decision.what == What::Remind) kind = RecordKind::RuleRepeated;
  if (decision.what == What::Fire && rule.mode == Mode::EachMatch) kind = RecordKind::RuleMatched;
  if (decision.what == What::Fire && rule.mode == Mode::EachChange) kind = RecordKind::RuleChanged;
  turn.record(kind, failed ? Severity::Error : Severity::Info, block.name, decision.cause->description).rule = rule.key;

  const Hold held = hold(rule, state, action.kind);
  if (held == Hold::None || held == Hold::DryRun) alert(std::move(recipients), decision.cause, turn);
  if (decision.what == What::Remind) return;
  if (held != Hold::None) {
    turn.record(RecordKind::ActionHeld, Severity::Info, block.name,
                fmt::format("{} held: {}", to_string(action.kind), to_string(held)))
        .rule = rule.key;
    return;
  }
  switch (action.kind) {
    case ActionKind::Alert: break;
    case ActionKind::Exec: exec(id, rule, recovered, decision.cause, turn); break;
    case ActionKind::Unmonitor: unmonitor(id, "rule", turn); break;
  }
}

void Engine::alert(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn) {
  if (recipients.empty()) return;
  turn.acts.emplace_back(effect::Alert{AlertId{next_id_++}, std::move(recipients), std::move(cause)});
  turn.commit.pending.emplace_back(turn.acts.back());
}

void Engine::instance_alert(const std::string& text, Turn& turn) {
  if (graph_->settings.shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : graph_->settings.mail.recipients)
    if (recipient.events.test(static_cast<std::size_t>(EventKind::Instance))) recipients.push_back(recipient);
  auto cause = std::make_shared<effect::Cause>();
  cause->service = "healer";
  cause->event = EventKind::Instance;
  cause->state = effect::Cause::State::Changed;
  cause->event_text = event_text(cause->event, cause->state);
  cause->action_text = "alert";
  cause->description = text;
  cause->when = turn.now.wall;
  alert(std::move(recipients), std::move(cause), turn);
}

}  // namespace healer::engine
