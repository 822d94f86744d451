// SPDX-License-Identifier: MIT
// Healings whose target is taken away: nothing says any more that it is ill. What is under way goes on to its end, what
// only waits ends at once, and nothing further begins.
#include <algorithm>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;
using State = StepRun::State;

constexpr std::string_view kNotInRules = "the rules no longer have it";

/// Of a run that ends by itself, and is not ended.
bool is_under_way(const StepRun& run) {
  return run.state == State::Running || run.state == State::Requesting || run.state == State::Bringing ||
         run.state == State::Ending;
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(fmt::format("\"{}\"", name));
  return join_words(all, "and");
}

/// What its steps have come to: `done: "shut down"; failed: "rebuild"`. A step that was done again counts by its last.
std::string steps_done(const Healing& healing) {
  std::vector<std::string> done;
  std::vector<std::string> failed;
  for (const StepOutcome& one : healing.outcomes) {
    std::erase(done, one.name);
    std::erase(failed, one.name);
    (one.good ? done : failed).push_back(one.name);
  }
  std::string text = done.empty() ? "no step was done" : "done: " + quoted(done);
  if (!failed.empty()) text += "; failed: " + quoted(failed);
  return text;
}

/// The steps of those runs.
std::string names_of(const Healing& healing, bool (*which)(const StepRun&)) {
  if (healing.stage == Stage::Guarding) return "its guard";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < healing.under_way.size(); ++i)
    if (which(healing.under_way[i])) names.push_back(step_of(healing.steps()[healing.position], i).name);
  return (names.size() == 1 ? "step " : "steps ") + quoted(names);
}

/// Whether an edit has taken the rows that stand in the rules, of those that a target is made of ("DISK" is "sdb"):
/// then it is gone, whatever the lists say that are read. Where one of these is not known that cannot be told.
bool has_lost_written_row(const Graph& next, const Variables& row) {
  const auto is_written = [&](const auto& variable) {
    return variable.first.find('.') == std::string::npos && !next.reads(variable.first);
  };
  if (std::ranges::none_of(row, is_written) || next.left_out.holds(row)) return false;
  return std::ranges::none_of(next.order, [&](ServiceId service) {
    const auto& other = next.at(service).row;
    return other != nullptr && std::ranges::all_of(row, [&](const auto& variable) {
             return !is_written(variable) || std::ranges::any_of(other->variables, [&](const auto& one) {
               return iequals(one.first, variable.first) && iequals(one.second, variable.second);
             });
           });
  });
}

}  // namespace

/// Whose state says how the target is: its services, and what they are made of.
std::vector<ServiceId> Healings::checked_for(const HealingWorld& world, std::string_view target) const {
  std::vector<ServiceId> all;
  const auto add = [&](auto&& self, ServiceId service) -> void {
    if (std::ranges::find(all, service) != all.end()) return;
    all.push_back(service);
    for (const ServiceId member : world.graph().members[service.index()]) self(self, member);
  };
  for (const ServiceId service : services_of(world.graph(), target)) add(add, service);
  return all;
}

std::vector<std::string> Healings::taken_away(HealingWorld& world, const std::set<ServiceId>& services,
                                              const std::string& how) {
  const Graph& graph = world.graph();
  // It is the act that counts: what is stopped now is still monitored.
  const auto is_watched = [&](auto&& self, ServiceId service) -> bool {
    if (services.contains(service) || world.health(service) == Health::Unmonitored) return false;
    const auto members = graph.members[service.index()];
    return !graph.at(service).has_members() ||
           std::ranges::any_of(members, [&](ServiceId member) { return self(self, member); });
  };
  const auto names = [&](ServiceId service) { return services.contains(service); };
  std::vector<std::string> messages;
  for (const HealingId id : ids()) {
    Healing& healing = healings_.at(id);
    if (healing.is_abandoned()) continue;
    const std::vector<ServiceId> own = services_of(graph, healing.target);
    if (healing.stage < Stage::Guarding && !healing.has_begun()) {
      const auto named = std::ranges::find_if(own, names);
      if (named == own.end()) continue;
      messages.push_back(fmt::format("healing {} of {} with {} is dropped: it had not begun", id.number(),
                                     healing.target, healing.plan->name));
      end(world, healing, HealingEnd::Dropped, fmt::format("{} was {}", graph.at(*named).name, how));
      continue;
    }
    if (std::ranges::none_of(checked_for(world, healing.target), names)) continue;
    if (std::ranges::any_of(own, [&](ServiceId service) { return is_watched(is_watched, service); })) continue;
    messages.push_back(abandon(world, healing, fmt::format("its target was {}", how)));
  }
  return messages;
}

/// What people are told who have done so.
std::string Healings::abandon(HealingWorld& world, Healing& healing, const std::string& why) {
  const std::string what =
      fmt::format("healing {} of {} with {} is abandoned", healing.id.number(), healing.target, healing.plan->name);
  healing.abandoned = why;
  if (healing.waits()) {
    end_abandoned(world, healing);
    return what;
  }
  for (StepRun& run : healing.under_way) {
    if (run.over() || is_under_way(run)) continue;
    if (run.state == State::Polling) stop_polling(world, healing, index_of(healing, run));
    run.event(StepEnd::Failed, kNeverAgain);
    run.failure = "was ended";
  }
  stop_verifying(healing);
  if (std::ranges::none_of(healing.under_way, is_under_way)) {
    end_abandoned(world, healing);
    return what;
  }
  const std::string rest = fmt::format("{} goes on to its end, and nothing follows", names_of(healing, is_under_way));
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing.service,
              fmt::format("{} is abandoned: {}; {}", describe(healing), why, rest))
      .subject = healing.id.number();
  world.save(healing);
  plan_wake(world);
  return fmt::format("{}: {}", what, rest);
}

/// Nothing of it is under way any more.
void Healings::end_abandoned(HealingWorld& world, Healing& healing) {
  std::string why = fmt::format("{}; {}", healing.abandoned, steps_done(healing));
  if (!healing.cancelled_by.empty()) why += "; cancelled by " + healing.cancelled_by;
  end(world, healing, HealingEnd::Abandoned, why);
}

std::set<HealingId> Healings::taken_by(const Graph& now, const Graph& next) const {
  std::set<HealingId> taken;
  for (const auto& [id, healing] : healings_) {
    if (healing.is_abandoned() || (healing.stage < Stage::Guarding && !healing.has_begun())) continue;
    const std::vector<ServiceId> before = services_of(now, healing.target);
    // A row that is not in its list says nothing of the rules: the list goes by what is healed, or was not read yet.
    const bool of_list = std::ranges::any_of(before, [&](ServiceId service) {
      const auto& row = now.at(service).row;
      return row != nullptr && std::ranges::any_of(row->lists, [&](const auto& list) { return next.reads(list); });
    });
    if ((before.empty() || of_list) && !has_lost_written_row(next, healing.row)) continue;
    const auto is_its = [&](ServiceId service) { return iequals(next.at(service).target(), healing.target); };
    if (std::ranges::none_of(next.order, is_its)) taken.insert(id);
  }
  return taken;
}

std::vector<std::string> Healings::lost_to(const Graph& now, const Graph& next) const {
  std::vector<std::string> lost;
  for (const HealingId id : taken_by(now, next)) {
    const Healing& healing = healings_.at(id);
    lost.push_back(fmt::format(
        "healing {} of {} with {}: abandoned, as {}{}", id.number(), healing.target, healing.plan->name, kNotInRules,
        std::ranges::any_of(healing.under_way, is_under_way)
            ? fmt::format("; {} goes on to its end, and nothing follows", names_of(healing, is_under_way))
            : ""));
  }
  for (const auto& [id, healing] : healings_) {
    if (healing.stage >= Stage::Guarding || healing.has_begun()) continue;
    const auto gone = [&](const Trigger& one) { return is_gone(next, one) && !next.left_out.holds(healing.row); };
    const bool asked = !gone({healing.service, healing.rule}) || !std::ranges::all_of(healing.also, gone);
    if (asked && next.workflow(healing.workflow) != nullptr) continue;
    lost.push_back(fmt::format("healing {} of {} with {}: dropped before it began, as {}", id.number(), healing.target,
                               healing.plan->name,
                               asked ? "the rules no longer have that workflow" : "no rule asks for it any longer"));
  }
  return lost;
}

/// After a restart: an edit has taken targets out of the rules meanwhile.
void Healings::end_what_lost_its_target(HealingWorld& world) {
  const Graph& graph = world.graph();
  for (const HealingId id : ids()) {
    Healing& healing = healings_.at(id);
    if (healing.is_abandoned() || (healing.stage < Stage::Guarding && !healing.has_begun())) continue;
    const bool of_list =
        std::ranges::any_of(healing.row, [&](const auto& variable) { return graph.reads(variable.first); });
    if ((of_list && !has_lost_written_row(graph, healing.row)) || graph.find(healing.service) ||
        !is_gone(world, healing))
      continue;
    (void)abandon(world, healing, std::string(kNotInRules));
  }
}

void Healings::reloaded(HealingWorld& world, const std::set<HealingId>& taken) {
  index(world.graph());
  for (const HealingId id : ids()) {
    Healing& healing = healings_.at(id);
    if (world.graph().settings->shadow) {
      watch_only(world, healing);
      continue;
    }
    if (taken.contains(id)) {
      (void)abandon(world, healing, std::string(kNotInRules));
      continue;
    }
    if (healing.stage == Stage::Confirming) {  // who was to be looked at may be gone
      confirming_.erase(id);
      healing.stage = Stage::Held;
    }
    if (healing.stage < Stage::Guarding && !healing.has_begun()) judge_anew(world, healing);
  }
  verify_all(world);
  reevaluate(world);
}

/// Whether nobody asks for it so any more.
bool Healings::is_gone(const Graph& graph, const Trigger& trigger) {
  return trigger.rule == Hash128{} ? !graph.find(trigger.service) : order_of(graph, trigger) == nullptr;
}

/// One that has not begun, by the rules that are in force now. Whether it stays.
bool Healings::judge_anew(HealingWorld& world, Healing& healing) {
  if (!world.left_out(healing).empty()) return true;
  const auto drop = [&](const std::string& why) {
    world.tell(healing, "Healing dropped", effect::Cause::State::Changed,
               fmt::format("{} dropped: {}", describe(healing), why));
    end(world, healing, HealingEnd::Dropped, why);
    return false;
  };
  std::erase_if(healing.also, [&](const Trigger& one) { return is_gone(world.graph(), one); });
  if (is_gone(world.graph(), {healing.service, healing.rule})) {
    if (healing.also.empty())
      return drop(healing.by_person() ? fmt::format("{} is no longer in the rules", healing.service)
                                      : "no rule asks for it any longer");
    healing.service = healing.also.front().service;
    healing.rule = healing.also.front().rule;
    healing.also.erase(healing.also.begin());
    world.save(healing);
  }
  std::string workflow = healing.workflow;
  bool dry_run = healing.dry_run;
  if (const HealOrder* const order = order_of(world.graph(), {healing.service, healing.rule})) {
    workflow = order->workflow;
    dry_run = order->dry_run;
  }
  const std::shared_ptr<const Workflow> plan = world.graph().workflow(workflow);
  if (plan == nullptr) return drop(fmt::format("workflow {} is no longer in the rules", workflow));
  if (plan->key == healing.plan->key && dry_run == healing.dry_run) return true;
  const std::string before = hash_of_plan(healing);
  const bool was_asked = healing.stage == Stage::Approval || !healing.approved_by.empty();
  healing.workflow = plan->name;
  healing.dry_run = dry_run;
  if (!healing.in_probation) healing.plan = plan;
  if (was_asked && before == hash_of_plan(healing)) {  // limits and brakes are no part of what people approve
    world.save(healing);
    return true;
  }
  if (was_asked) {
    ask_for_another_plan(world, healing);
    return false;
  }
  healing.stage = Stage::Held;
  healing.not_before.reset();
  world.save(healing);
  return true;
}

}  // namespace healer::engine
