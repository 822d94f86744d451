// SPDX-License-Identifier: MIT
// How a healing ends: what is counted, remembered and told.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/events/commit.hpp"
#include "engine/healing/healing_report.hpp"
#include "engine/healing/healings.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"

namespace healer::engine {

using Stage = Healing::Stage;

/// What its plan has come to is counted, for people and for the ramp.
void Healings::reached(HealingWorld& world, Healing& healing, HealingEnd how) {
  if (how == HealingEnd::Abandoned) {  // nobody knows what it would have come to
    WorkflowMemory& memory = workflow_memory(healing.plan->name);
    memory.active = world.now().wall;
    ++memory.counts.abandoned;
    return world.save(memory);
  }
  if (healing.escalated && healing.plan->only_alerts()) return;  // the failure was counted when it was handed on
  if (how == HealingEnd::Failed || how == HealingEnd::Interrupted) return failed(world, healing);
  WorkflowMemory& memory = workflow_memory(healing.plan->name);
  memory.active = world.now().wall;
  if (how == HealingEnd::Verified) ++memory.counts.recovered;
  if (how == HealingEnd::Rejected) ++memory.counts.rejected;
  if (how == HealingEnd::WouldRun) ++memory.counts.would_run;
  const std::vector<std::uint32_t>& ramp = healing.plan->ramp;
  if (healing.round > 0 && !healing.rehearses() && !ramp.empty()) {
    if (how != HealingEnd::Verified) {
      memory.ramp = memory.verified = 0;
    } else if (memory.ramp + 1 < ramp.size() && ++memory.verified >= ramp[memory.ramp]) {
      ++memory.ramp;
      memory.verified = 0;
    }
  }
  world.save(memory);
}

/// Its plan has failed: the ramp goes back, and the breaker counts it.
void Healings::failed(HealingWorld& world, Healing& healing) {
  const WallTime now = world.now().wall;
  WorkflowMemory& memory = workflow_memory(healing.plan->name);
  memory.active = now;
  ++memory.counts.failed;
  memory.ramp = memory.verified = 0;
  const std::optional<Breaker>& breaker = healing.plan->breaker;
  if (breaker) {
    memory.failures.push_back(now);
    memory.failed.push_back(healing.target);
    // Which have opened it is told until a person has reset it.
    if (!memory.open) std::erase_if(memory.failures, [&](WallTime when) { return when <= now - breaker->within; });
    while (memory.failed.size() > memory.failures.size()) memory.failed.erase(memory.failed.begin());
  }
  const bool opens = breaker && memory.failures.size() >= breaker->failed && !std::exchange(memory.open, true);
  world.save(memory);
  if (!opens) return;
  const std::string text = fmt::format(
      "workflow {} is stopped: {} of its healings have failed within {} (of {}); no other target is healed with it "
      "before `healerctl healing reset {}`",
      memory.workflow, memory.failures.size(), format_duration(breaker->within),
      fmt::join(memory.failed_targets(), ", "), memory.workflow);
  world.record(RecordKind::HealingHeld, Severity::Error, {}, text);
  world.notify_everyone("Healing stopped", effect::Cause::State::Failed, text);
}

void Healings::end(HealingWorld& world, Healing& healing, HealingEnd how, const std::string& why) {
  const Instant now = world.now();
  const bool bad = how == HealingEnd::Failed || how == HealingEnd::Interrupted || how == HealingEnd::Refused ||
                   (how == HealingEnd::Rejected);
  const bool brakes = !healing.plan->only_alerts() || healing.escalated;
  const bool called = how == HealingEnd::Called;
  const std::string text = fmt::format("{} {}{}{}{}", describe(healing), called ? "ended: " : "", to_string(how),
                                       why.empty() ? "" : ": ", why);
  Record& record = world.record(how == HealingEnd::Failed || how == HealingEnd::Interrupted ? RecordKind::HealingFailed
                                                                                            : RecordKind::HealingEnded,
                                bad                                      ? Severity::Error
                                : how == HealingEnd::Abandoned || called ? Severity::Warning
                                                                         : Severity::Info,
                                healing.service, text);
  record.subject = healing.id.number();
  stop_verifying(healing);
  confirming_.erase(healing.id);

  reached(world, healing, how);

  const bool touched = healing.locks() || how == HealingEnd::WouldRun || healing.round > 0;
  if (touched && brakes) {
    const std::shared_ptr<const Workflow> asked = world.graph().workflow(healing.workflow);
    const Duration cooldown =
        healing.plan->only_alerts() && asked != nullptr ? asked->cooldown : healing.plan->cooldown;
    TargetMemory target{.target = healing.target,
                        .rehearsed = healing.rehearses(),
                        .cooldown = Deadline::in(cooldown, now),
                        .healing = healing.id,
                        .end = how,
                        .ended = now.wall};
    if (how == HealingEnd::Verified && healing.plan->probation > Duration{0}) {
      target.probation = Deadline::in(healing.plan->probation, now);
      target.plan = healing.plan;
    }
    remember(world, std::move(target));
  }
  if (how != HealingEnd::Dropped && !(how == HealingEnd::Done && !brakes)) {
    const bool well = how == HealingEnd::Verified || how == HealingEnd::Done;
    std::string text_of_alert = called ? fmt::format("{}. {}", text, healing.cause->description) : text;
    if (const TargetMemory* const rest = target_memory(healing.target, false);
        rest != nullptr && rest->healing == healing.id && rest->in_vain())
      text_of_alert +=
          fmt::format("\nRules heal {} again only after it has recovered; `healerctl heal {}` does at once.",
                      healing.target, healing.target);
    world.tell(healing, called ? "Healing ended" : fmt::format("Healing {}", to_string(how)),
               how == HealingEnd::Abandoned ? effect::Cause::State::Changed
               : well                       ? effect::Cause::State::Succeeded
                                            : effect::Cause::State::Failed,
               text_of_alert);
  }
  const HealingId id = healing.id;
  const std::string target = healing.target;
  remove(id);
  world.forget(id);
  if (how == HealingEnd::Verified)
    for (const ServiceId service : services_of(world.graph(), target)) {
      for (const ServiceId member : world.seen_by(service)) world.recover(member);
      world.recover(service);
    }
  reevaluate(world);
  plan_wake(world);
}

// ---- what the journal has lost --------------------------------------------------------------------------------------

/// How long a target rests after a healing with a workflow; where that is not known, the longest of those that its
/// rules heal with.
Duration Healings::cooldown_of(const Graph& graph, std::string_view target, std::string_view workflow) const {
  if (const auto known = graph.workflow(workflow)) return known->cooldown;
  std::optional<Duration> longest;
  for (const ServiceId service : services_of(graph, target))
    for (const auto& rule : graph.at(service).rules) {
      const HealOrder* const order = rule->action.heal.get();
      const auto plan = order == nullptr ? nullptr : graph.workflow(order->workflow);
      if (plan != nullptr) longest = std::max(longest.value_or(plan->cooldown), plan->cooldown);
    }
  return longest.value_or(Workflow{}.cooldown);
}

void Healings::lost(HealingWorld& world, const DamagedHealing& damaged) {
  const Graph& graph = world.graph();
  std::string target = damaged.target;
  std::string workflow = damaged.workflow;
  Record last;
  last.text = damaged.last_record;
  if (const auto report = healing_report_of(last, graph)) {
    if (target.empty()) target = report->target;
    if (workflow.empty()) workflow = report->workflow;
  }
  const auto service = damaged.service.empty() ? std::nullopt : graph.find(damaged.service);
  if (target.empty() && service) target = graph.at(*service).target();
  const std::uint64_t number = damaged.id.number();
  if (target.empty() && number == 0 && graph.workflows.empty()) return;  // nothing is healed here
  const std::string which = number != 0 ? fmt::format("healing {}{}{} is", number, target.empty() ? "" : " of ", target)
                            : target.empty() ? "what healings were under way is not known: they are"
                                             : fmt::format("a healing of {} is", target);
  const std::string text = fmt::format("{} interrupted: the state file was damaged", which);
  world.record(RecordKind::HealingFailed, Severity::Error, {}, text).subject = number;
  world.notify_everyone("Healing interrupted", effect::Cause::State::Failed, text);
  if (!target.empty()) rest(world, target, false, HealingEnd::Interrupted, damaged.id, workflow);
}

void Healings::rest(HealingWorld& world, const std::string& target, bool rehearsed, HealingEnd end, HealingId healing,
                    std::string_view workflow) {
  remember(world, {.target = target,
                   .rehearsed = rehearsed,
                   .cooldown = Deadline::in(cooldown_of(world.graph(), target, workflow), world.now()),
                   .healing = healing,
                   .end = end,
                   .ended = world.now().wall});
}

}  // namespace healer::engine
