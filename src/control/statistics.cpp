// SPDX-License-Identifier: MIT
#include "control/statistics.hpp"

#include <algorithm>
#include <variant>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"

namespace healer::control {
namespace {

using engine::Engine;
using engine::Record;
using engine::RecordKind;
using engine::RuleState;
using engine::ServiceId;

/// Since when a rule of the service stands failed, the first of them; nothing: none does, or there is no such service.
std::optional<WallTime> failed_since(const Engine& engine, std::optional<ServiceId> service) {
  std::optional<WallTime> since;
  if (!service) return since;
  for (const RuleState& rule : engine.rules(*service))
    if (rule.status == engine::RuleStatus::Failed && rule.past->changed)
      since = since ? std::min(*since, *rule.past->changed) : *rule.past->changed;
  return since;
}

}  // namespace

void UnhealthyTimes::add(Duration time) {
  time = std::max(time, Duration{0});  // the clock may have been set
  const auto* const bound = std::ranges::find_if(kBounds, [&](std::uint32_t most) { return time <= seconds{most}; });
  ++counts.at(static_cast<std::size_t>(bound - kBounds.begin()));
  sum += time;
}

void Statistics::note(const engine::Event& event) {
  if (std::holds_alternative<engine::event::Measured>(event)) ++counts_.runs;
  if (const auto* const read = std::get_if<engine::event::RowsRead>(&event)) counts_.runs += read->rows.size();
}

void Statistics::note(const engine::Effect& effect, const Engine& engine) {
  if (const auto* commit = std::get_if<engine::effect::Commit>(&effect))
    for (const Record& record : commit->records) note(record, engine);
}

void Statistics::note(const Record& record, const Engine& engine) {
  ++records_.at(static_cast<std::size_t>(record.kind));
  switch (record.kind) {
    case RecordKind::RuleFailed:
      ++counts_.changes;
      failed_.try_emplace(record.service, record.when);
      break;
    case RecordKind::RuleRecovered: {
      ++counts_.changes;
      const auto found = failed_.find(record.service);
      if (found == failed_.end() || failed_since(engine, engine.graph()->find(record.service))) break;
      unhealthy_.add(record.when - found->second);
      failed_.erase(found);
      break;
    }
    case RecordKind::RuleMatched:
    case RecordKind::RuleChanged: ++counts_.changes; break;
    case RecordKind::ProcessDied: ++counts_.deaths; break;
    case RecordKind::ActionStarted: ++counts_.programs; break;
    case RecordKind::MailSent: ++counts_.mails; break;
    case RecordKind::Unmonitored: failed_.erase(record.service); break;  // nobody looks when it recovers
    case RecordKind::DaemonStarted:
      loaded_ = record.when;
      note_standing(engine);
      break;
    case RecordKind::Reloaded:
      loaded_ = record.when;
      forget_others(engine);
      break;
    default: break;  // it is in the history; nobody watches its rate
  }
}

/// What stands failed from before the daemon was started.
void Statistics::note_standing(const Engine& engine) {
  for (const ServiceId service : engine.graph()->order)
    if (const auto since = failed_since(engine, service); since && engine.service(service).monitored)
      failed_.try_emplace(engine.graph()->at(service).name, *since);
}

/// A rule that new rules no longer have recovers without a word.
void Statistics::forget_others(const Engine& engine) {
  std::erase_if(failed_, [&](const auto& one) { return !failed_since(engine, engine.graph()->find(one.first)); });
}

}  // namespace healer::control
