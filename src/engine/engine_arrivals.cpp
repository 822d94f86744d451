// SPDX-License-Identifier: MIT
// Runs of services that are heard, not looked at: heartbeats, whose runs begin and end within a turn, and events, of
// which the filters of their rules are asked first.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/parts/judge.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "engine/words/occurrence.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kEventRefused = "Event refused";

/// What became of an event, for people: what its rules have done, as the records of its run from `begin` on tell it.
std::string outcome_of(const ServiceBlock& block, const std::vector<Record>& records, std::size_t begin,
                       const Evidence& seen) {
  std::vector<std::string> parts;
  for (std::size_t i = begin; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!iequals(record.service, block.name)) continue;
    switch (record.kind) {
      case RecordKind::RuleMatched:
      case RecordKind::RuleFailed: {
        const auto rule = std::ranges::find(block.rules, record.rule, &Rule::key);
        if (rule != block.rules.end()) parts.push_back((*rule)->text);
        break;
      }
      case RecordKind::HealingAsked:
      case RecordKind::HealingHeld:
      case RecordKind::ActionHeld: parts.push_back(record.text); break;
      default: break;
    }
  }
  if (parts.empty() && seen.facts != nullptr)
    for (const ValueSeen& value : seen.facts->further->values)
      if (!value.value) parts.push_back(fmt::format("json {} is not known: {}", printable(value.filter), value.why));
  return parts.empty() ? "no condition of its rules holds" : fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void Engine::on(const event::Arrived& event, Turn& turn) {
  if (event.document != nullptr) return occurrences_.take(event, turn);
  arrivals_.take(event, turn);
}

void Engine::on(const fact::RunDue& fact, Turn& turn) {
  ServiceState& state = services_[fact.service.index()];
  if (!running_ || !state.monitored || state.job) return;
  if (!state.flight) return start_run(fact.service, fact.counted, Reason::Schedule, turn);
  if (fact.counted) timetable_.count(fact.service, *state.flight, turn.now);
}

void Engine::on(const fact::RunAsked& fact, Turn& turn) {
  const ServiceBlock* const block = graph_->block(fact.service);
  if (block == nullptr) return;
  std::shared_ptr<const Evidence> seen;
  if (block->is_event()) {
    const Occurrence* const event = occurrences_.depart(fact.service, turn);
    if (event != nullptr && event->document != nullptr && !block->other->event.filters.empty())
      return turn.sink.emit(effect::Measure{.service = fact.service, .run = fact.run, .document = event->document});
    seen = std::make_shared<const Evidence>();
  } else if (arrivals_.find(fact.service) != nullptr) {
    seen = std::make_shared<const Evidence>(arrivals_.see(fact.service, turn.now));
  } else {
    return;
  }
  on(event::Measured{fact.service, fact.run, std::move(seen)}, turn);
}

/// What is seen of a `check event`, with what is known of the event that is judged.
Evidence Engine::with_event(ServiceId id, const Evidence& seen, Instant now) const {
  Evidence with = seen;
  auto facts = seen.facts ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
  EventSeen event = occurrences_.see(id, now);
  with.output =
      std::make_shared<const std::string>(event.number == 0 ? std::string() : describe_event(event.key, event.state));
  facts->further.edit().event = std::move(event);
  with.facts = std::move(facts);
  return with;
}

/// Each event is judged alone: its rules act on it, and the conditions of those that heal stand, or do not any more.
void Engine::judge_event(ServiceId id, const Evidence& seen, const Flight& flight, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  const ServiceState& state = services_[id.index()];
  if (const Occurrence* const event = occurrences_.under_way(id)) {
    const Seen run{seen, state.memory, state.starts->restarted};
    for (const Rule& rule : block.rules) {
      if (rule->action.heal == nullptr || rule->mode != Mode::EachMatch) continue;
      const std::string target = occurrences_.target_of(block, *rule->action.heal, event->fields);
      const std::optional<bool> is_met = holds(*rule->condition, run);
      if (is_met == true) occurrences_.stand(id, rule, target, turn);
      if (is_met == false) occurrences_.clear(id, rule, target, turn);
    }
  }
  const std::size_t begin = turn.commit.records.size();
  judge(id, seen, flight.counted, flight.reason, turn);
  occurrences_.judged(id, outcome_of(block, turn.commit.records, begin, seen), turn);
  programs_.run_queued(block.name, turn);
  if (healings_.follows_runs()) healing_checked(id, flight.started, seen, turn);
}

/// Programs, alerts and healings know the event that they come of.
void Engine::tell_of_event(ServiceId id, std::vector<RuleDecision>& decisions) const {
  const Occurrence* const event = occurrences_.under_way(id);
  if (event == nullptr) return;
  for (RuleDecision& decision : decisions) {
    if (decision.cause == nullptr || decision.what == RuleDecision::What::Recover) continue;
    auto cause = std::make_shared<effect::Cause>(*decision.cause);
    cause->occurrence = event->number;
    cause->fields = event->fields;
    decision.cause = std::move(cause);
  }
}

void Engine::on(const fact::EventRefused& fact, Turn& turn) {
  const ServiceBlock* const block = graph_->block(fact.service);
  if (block == nullptr) return;
  turn.record(RecordKind::EventRefused, Severity::Warning, block->name, fact.text);
  alerts_.send(fact.service, {}, EventKind::Invalid, effect::Cause::State::Failed, fact.text, turn, false,
               kEventRefused);
}

/// Where people say so, events that wait are judged now, and what they have asked for is done.
void Engine::go_on_with_events(Turn& turn) {
  occurrences_.go_on(turn);
  for (const ServiceId id : graph_->order)
    if (graph_->at(id).is_event()) programs_.run_queued(graph_->at(id).name, turn);
}

}  // namespace healer::engine
