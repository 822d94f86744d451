// SPDX-License-Identifier: MIT
#include "engine/healing/parts/memories.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/events/commit.hpp"
#include "engine/healing/healing_report.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The longest that a try is remembered: as far back as a limit may look.
constexpr Duration kLongestLimit = days{31};
constexpr std::size_t kMostTries = 10'000;

}  // namespace

HealingMemories::HealingMemories(std::vector<TargetMemory> targets, std::vector<WorkflowMemory> workflows,
                                 const TargetIndex& index)
    : index_(index), targets_(std::move(targets)), workflows_(std::move(workflows)) {}

// ---- view

const TargetMemory* HealingMemories::target(std::string_view target, bool rehearsed) const {
  const auto found = std::ranges::find_if(targets_, [&](const TargetMemory& memory) {
    return memory.rehearsed == rehearsed && iequals(memory.target, target);
  });
  return found == targets_.end() ? nullptr : &*found;
}

const WorkflowMemory* HealingMemories::workflow(std::string_view workflow) const {
  const auto found = std::ranges::find_if(
      workflows_, [&](const WorkflowMemory& memory) { return iequals(memory.workflow, workflow); });
  return found == workflows_.end() ? nullptr : &*found;
}

std::string HealingMemories::left_alone(const Graph& graph, std::string_view workflow) const {
  const auto healed_with_it = [&](ServiceId service) {
    return std::ranges::any_of(graph.at(service).rules, [&](const Rule& rule) {
      return rule->action.heal != nullptr && iequals(rule->action.heal->workflow, workflow);
    });
  };
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const TargetMemory& memory : targets_) {
    if (!memory.in_vain() || !std::ranges::any_of(index_.services_of(graph, memory.target), healed_with_it)) continue;
    if (names.size() < kMost)
      names.push_back(memory.target);
    else
      ++more;
  }
  if (names.empty()) return {};
  return fmt::format(
      "\na healing did not help these, so rules heal them again only after they have recovered: {}{}; "
      "`healerctl heal NAME` heals one before that",
      fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

// ---- healings

WorkflowMemory& HealingMemories::edit(std::string_view workflow) {
  if (const WorkflowMemory* const known = std::as_const(*this).workflow(workflow))
    return workflows_[static_cast<std::size_t>(known - workflows_.data())];
  workflows_.push_back({.workflow = std::string(workflow)});
  return workflows_.back();
}

void HealingMemories::proposed(HealingWorld& world, const std::string& workflow) {
  WorkflowMemory& memory = edit(workflow);
  ++memory.counts.proposed;
  world.save(memory);
}

void HealingMemories::approved(HealingWorld& world, const Healing& healing) {
  WorkflowMemory& memory = edit(healing.plan->name);
  ++memory.counts.approved;
  world.save(memory);
}

void HealingMemories::keep_active(HealingWorld& world, const std::string& workflow) {
  WorkflowMemory& memory = edit(workflow);
  const Duration since = world.now().wall - memory.active;
  if (since <= kRampRest / 2) return;
  if (since > kRampRest) memory.ramp = memory.verified = 0;
  memory.active = world.now().wall;
  world.save(memory);
}

void HealingMemories::begun(HealingWorld& world, const Healing& healing) {
  WorkflowMemory& memory = edit(healing.plan->name);
  const Instant now = world.now();
  if (!healing.plan->only_alerts()) {
    memory.tries.push_back({.when = now.wall, .target = to_lower(healing.target), .rehearsed = healing.rehearses()});
    std::erase_if(memory.tries, [&](const WorkflowMemory::Try& one) { return one.when < now.wall - kLongestLimit; });
    if (memory.tries.size() > kMostTries) memory.tries.erase(memory.tries.begin());
  }
  if (!healing.rehearses() && healing.round == 0) ++memory.counts.ran;
  world.save(memory);
}

void HealingMemories::reached(HealingWorld& world, const Healing& healing, HealingEnd how) {
  if (how == HealingEnd::Abandoned) {  // nobody knows what it would have come to
    WorkflowMemory& memory = edit(healing.plan->name);
    memory.active = world.now().wall;
    ++memory.counts.abandoned;
    return world.save(memory);
  }
  if (healing.escalated && healing.plan->only_alerts()) return;  // the failure was counted when it was handed on
  if (how == HealingEnd::Failed || how == HealingEnd::Interrupted) return failed(world, healing);
  WorkflowMemory& memory = edit(healing.plan->name);
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

void HealingMemories::failed(HealingWorld& world, const Healing& healing) {
  const WallTime now = world.now().wall;
  WorkflowMemory& memory = edit(healing.plan->name);
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

void HealingMemories::ended(HealingWorld& world, const Healing& healing, HealingEnd how, bool brakes) {
  const bool touched = healing.locks() || how == HealingEnd::WouldRun || healing.round > 0;
  if (!touched || !brakes) return;
  const Instant now = world.now();
  const std::shared_ptr<const Workflow> asked = world.graph().workflow(healing.workflow);
  const Duration cooldown = healing.plan->only_alerts() && asked != nullptr ? asked->cooldown : healing.plan->cooldown;
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

/// From now on this is what is known of how the target was healed last.
void HealingMemories::remember(HealingWorld& world, TargetMemory target) {
  std::erase_if(targets_, [&](const TargetMemory& other) {
    return other.rehearsed == target.rehearsed && iequals(other.target, target.target);
  });
  world.save(target);
  targets_.push_back(std::move(target));
}

// ---- what else it hears

/// A target whose healing did not help has recovered when none of the rules that wait for its healing stands failed.
/// Alerts and execs do not wait, so they do not count.
void HealingMemories::note_recovery(HealingWorld& world, TargetMemory& memory) {
  if (!memory.in_vain() || !world.graph().left_out.empty()) return;
  const auto stands = [&](ServiceId service) {
    return world.health(service) != Health::Unmonitored &&
           std::ranges::any_of(world.graph().at(service).rules, [&](const Rule& rule) {
             return rule->mode == Mode::Latched && rule->action.waits_for_healing() &&
                    world.stands(service, rule.key, memory.target);
           });
  };
  if (std::ranges::any_of(index_.services_of(world.graph(), memory.target), stands)) return;
  memory.recovered = true;
  world.save(memory);
}

void HealingMemories::recovered(HealingWorld& world, ServiceId service) {
  const std::string& target = world.graph().at(service).target();
  for (TargetMemory& memory : targets_)
    if (memory.in_vain() && iequals(memory.target, target)) note_recovery(world, memory);
}

void HealingMemories::expire(HealingWorld& world) {
  const Instant now = world.now();
  // A row of a list is not judged yet because of this healing.
  const auto delays_rows = [&](const TargetMemory& memory) {
    const TargetIndex::Target* const its = memory.rehearsed ? nullptr : index_.find(memory.target);
    return its != nullptr && std::ranges::any_of(its->services, [&](ServiceId service) {
             const ServiceBlock* const block = world.graph().block(service);
             return block != nullptr && block->is_listed() && memory.ended + block->other->listed.delay > now.wall;
           });
  };
  std::erase_if(targets_, [&](TargetMemory& memory) {
    note_recovery(world, memory);  // where its services, or their rules, have gone
    const bool over = memory.cooldown.over(now) && (!memory.probation || memory.probation->over(now)) &&
                      !memory.in_vain() && !delays_rows(memory);
    if (over) world.forget(memory);
    return over;
  });
}

std::string HealingMemories::reset(HealingWorld& world, std::string_view workflow, const std::string& by) {
  WorkflowMemory& memory = edit(workflow);
  const bool was_open = std::exchange(memory.open, false);
  memory.failures.clear();
  memory.failed.clear();
  memory.ramp = memory.verified = 0;
  world.save(memory);
  const std::string text =
      fmt::format("workflow {} reset by {}{}", memory.workflow, by, was_open ? ": its breaker is closed again" : "");
  world.record(RecordKind::HealingStep, Severity::Info, {}, text);
  return text;
}

/// How long a target rests after a healing with a workflow; where that is not known, the longest of those that its
/// rules heal with.
Duration HealingMemories::cooldown_of(const Graph& graph, std::string_view target, std::string_view workflow) const {
  if (const auto known = graph.workflow(workflow)) return known->cooldown;
  std::optional<Duration> longest;
  for (const ServiceId service : index_.services_of(graph, target))
    for (const auto& rule : graph.at(service).rules) {
      const HealOrder* const order = rule->action.heal.get();
      const auto plan = order == nullptr ? nullptr : graph.workflow(order->workflow);
      if (plan != nullptr) longest = std::max(longest.value_or(plan->cooldown), plan->cooldown);
    }
  return longest.value_or(Workflow{}.cooldown);
}

void HealingMemories::rest(HealingWorld& world, const std::string& target, bool rehearsed, HealingEnd end,
                           HealingId healing, std::string_view workflow) {
  remember(world, {.target = target,
                   .rehearsed = rehearsed,
                   .cooldown = Deadline::in(cooldown_of(world.graph(), target, workflow), world.now()),
                   .healing = healing,
                   .end = end,
                   .ended = world.now().wall});
}

void HealingMemories::lost(HealingWorld& world, const DamagedHealing& damaged) {
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

void HealingMemories::carry(HealingWorld& world, WallTime seen) {
  const Instant now = world.now();
  for (TargetMemory& memory : targets_) {
    memory.cooldown = memory.cooldown.carried_on(seen, now);
    if (memory.probation) memory.probation = memory.probation->carried_on(seen, now);
    world.save(memory);
  }
  const Duration away = std::max(Duration{now.wall - seen}, Duration{0});
  const auto later = [&](WallTime when) { return std::min(when + away, now.wall); };
  for (WorkflowMemory& memory : workflows_) {
    for (WorkflowMemory::Try& one : memory.tries) one.when = later(one.when);
    for (WallTime& failure : memory.failures) failure = later(failure);
    world.save(memory);
  }
}

}  // namespace healer::engine
