// SPDX-License-Identifier: MIT
#include "engine/healing/healings.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/events/commit.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/lost_targets.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

constexpr const char* kGuarded = "has begun: its guard is running";
constexpr const char* kOnlyWatches = "healer only watches (shadow)";

/// What has become of a healing that a person has asked for; null: it has ended.
std::string came_to(const Healing* healing) {
  if (healing == nullptr) return "has ended: see its history";
  switch (healing->stage()) {
    case Stage::Held:
      if (healing->held_by() == Brake::Secrets) return "begins when its secrets have been looked at";
      return "is held back: " + healing->reason();
    case Stage::Approval: return "waits for approval";
    case Stage::Confirming: return "is checked once more";
    case Stage::Between: return "waits: " + healing->reason();
    case Stage::Claiming: return asks_guard(*healing) && !healing->in_probation ? kGuarded : "has begun";
    case Stage::Guarding: return kGuarded;
    default: return "has begun";
  }
}

}  // namespace

Healings::Healings(std::vector<Healing> healings, HealingMemory memory)
    : running_(std::move(healings)),
      census_(targets_, running_),
      memories_(std::move(memory.targets), std::move(memory.workflows), targets_),
      closed_(std::move(memory.closed), targets_, running_, census_),
      brakes_(running_, targets_, census_, memories_, closed_),
      recoveries_(targets_),
      askers_(running_, requests_, secrets_),
      waking_(running_, targets_, memories_, requests_, recoveries_) {}

// ---- life

void Healings::index(const Graph& graph) {
  targets_.index(graph);
  census_.forget();
}

void Healings::resume(HealingWorld& world, const SavedState& found, const std::set<ActionId>& lives) {
  if (found.boot != 0 && found.boot != world.now().boot && found.seen) {
    memories_.carry(world, *found.seen);
    running_.carry(world, *found.seen);
  }
  for (const auto& [target, rehearsed] : found.damaged_targets) memories_.rest(world, target, rehearsed);
  for (const DamagedHealing& damaged : found.damaged_healings) memories_.lost(world, damaged);
  stopping_ = false;
  using State = StepRun::State;
  const bool watches = world.graph().settings->shadow;
  if (!watches)
    for (const HealingId id : running_.ids())
      if (Healing& healing = running_.at(id); has_lost_target(world, targets_, healing))
        (void)abandon(world, healing, std::string(kNotInRules));
  for (const HealingId id : running_.ids()) {
    Healing& healing = running_.at(id);
    if (watches) {
      if (healing.stage() == Stage::Claiming) claims_.retract(world, healing);
      end(world, healing, healing.waits() ? HealingEnd::Dropped : HealingEnd::Interrupted, kOnlyWatches);
      continue;
    }
    if (healing.stage() == Stage::Confirming) healing.ask_anew();
    // What has not begun is judged anew, as after a reload; what is to be undone, or has failed, asks again.
    if (const auto* const claiming = std::get_if<stage::Claiming>(&healing.at)) {
      if (claiming->next == stage::Claiming::For::Try)
        claims_.retract(world, healing);
      else
        claims_.ask(world, healing);
    }
    if (healing.stage() == Stage::Approval && healing.not_before() && healing.not_before()->over(world.now())) {
      end(world, healing, HealingEnd::Rejected, "the time for its approval ran out while healer was down");
      continue;
    }
    std::vector<ActionId> lost;
    if (std::ranges::any_of(healing.under_way(),
                            [](const StepRun& run) { return run.state == State::Ending && run.action == ActionId{}; }))
      world.leave(healing);
    for (StepRun& run : healing.under_way()) {
      if ((run.state == State::Running || run.state == State::Ending) && !lives.contains(run.action))
        lost.push_back(run.action);
      else if (run.state == State::Ending)
        world.end_program(run.action);
      if (run.state != State::Requesting && run.state != State::Bringing) continue;
      const Step& step = step_of(healing.step(), index_of(healing, run));
      if (run.state == State::Requesting)
        request_lost(world, healing, step, run);
      else if (healing.is_abandoned())  // a job that has outlived the daemon goes on by itself
        run_over(world, healing, step, run, StepEnd::InDoubt, "was under way when healer was restarted");
      else
        (void)run.restore(terms_of(step));  // Fresh: it looks first
    }
    for (const ActionId action : lost)
      program_ended(world, action, {.end = StepEnd::InDoubt, .text = std::string(kCutOff), .output = {}});
    if (Healing* const still = running_.find(id)) go_on(world, *still);
  }
  verify_all(world);
  reevaluate(world);
}

void Healings::stop(HealingWorld& world) {
  stopping_ = true;
  requests_.stop_all(world);
  confirmations_.clear();
}

void Healings::reloaded(HealingWorld& world, const std::set<HealingId>& taken) {
  index(world.graph());
  for (const HealingId id : running_.ids()) {
    Healing& healing = running_.at(id);
    if (healing.stage() == Stage::Claiming) claims_.retract(world, healing);
    if (world.graph().settings->shadow) {
      if (!healing.waits()) end_others(world, healing);
      end(world, healing, healing.waits() ? HealingEnd::Dropped : HealingEnd::Interrupted, kOnlyWatches);
      continue;
    }
    if (taken.contains(id)) {
      (void)abandon(world, healing, std::string(kNotInRules));
      continue;
    }
    if (healing.stage() == Stage::Confirming) {  // who was to be looked at may be gone
      confirmations_.forget(id);
      healing.ask_anew();
    }
    if (healing.is_yet_to_begin()) judge_anew(world, healing);
  }
  verify_all(world);
  reevaluate(world);
}

// ---- what it hears

std::vector<std::string> Healings::begin(HealingWorld& world, const std::vector<Asked>& all) {
  if (std::ranges::any_of(all, [](const Asked& one) { return one.healing.has_value(); })) consider(world);
  std::vector<std::string> texts;
  for (const auto& [text, healing, after] : all)
    texts.push_back(healing ? text + came_to(running_.find(*healing)) + after : text);
  return texts;
}

void Healings::reevaluate(HealingWorld& world) {
  if (!follows_runs() && closed_.empty()) return;
  waking_.reevaluate(world);
}

void Healings::checked(HealingWorld& world, ServiceId service, Duration began, std::optional<bool> clear) {
  if (!follows_runs()) return;
  if (!running_.empty()) census_.judged(service, world.now().mono);
  if (const auto awaits = recoveries_.checked(service, began, clear))
    if (Healing* const healing = running_.find(*awaits)) verify(world, *healing);
}

void Healings::confirm_by(HealingWorld& world, ServiceId service, Duration began) {
  for (const HealingId id : confirmations_.waiting_for(service)) {
    if (!confirmations_.checked(world, id, service, began)) continue;
    if (Healing* const healing = running_.find(id)) confirmed(world, *healing);
  }
  reevaluate(world);
}

void Healings::recovered(HealingWorld& world, ServiceId service) { memories_.recovered(world, service); }

void Healings::unsettled(HealingWorld& world, const Trigger& trigger, const std::string& target,
                         const std::string& lapsed) {
  const auto is_it = [&](const Trigger& one) {
    return iequals(one.service, trigger.service) && one.rule == trigger.rule;
  };
  for (const HealingId id : std::vector(running_.of_target(to_lower(targets_.meant_by(world.graph(), target))))) {
    Healing* const healing = running_.find(id);
    if (healing == nullptr) continue;
    const Trigger first{healing->service, healing->rule};
    if (!is_it(first) && std::ranges::none_of(healing->also, is_it)) continue;
    if (any_trigger_stands(world, *healing)) continue;
    if (healing->has_begun()) {
      if (!lapsed.empty() || std::exchange(healing->cleared, true)) continue;
      world.save(*healing);
      reevaluate(world);
    } else if (healing->waits()) {
      if (!lapsed.empty())
        world.tell(*healing, "Healing dropped", effect::Cause::State::Failed,
                   fmt::format("{} is dropped: {}", describe(*healing), lapsed));
      end(world, *healing, HealingEnd::Dropped, lapsed.empty() ? "an event has said that all is well" : lapsed);
    }
  }
}

bool Healings::wake(HealingWorld& world) {
  if (!waking_.next() || *waking_.next() > world.now().mono) return false;
  for (const HealingId id : running_.ids())
    if (Healing* const healing = running_.find(id); healing != nullptr && healing->has_place()) go_on(world, *healing);
  verify_all(world);
  recoveries_.look_again(world);
  return true;
}

void Healings::wake_waiting(HealingWorld& world) {
  if (waking_.is_to_consider(world)) consider(world);
  memories_.expire(world);
  waking_.plan(world);
}

// ---- the words of people ------------------------------------------------------------------------------------------

Healings::Answer Healings::cancel(HealingWorld& world, HealingId id, const std::string& by) {
  Healing* const healing = running_.find(id);
  if (healing == nullptr) return {false, fmt::format("there is no healing {} (any more)", id.number())};
  if (!healing->cancelled_by.empty())
    return {false, fmt::format("healing {} is being ended: cancelled by {}", id.number(), healing->cancelled_by)};
  const std::string what = describe(*healing);
  if (healing->stage() == Stage::Claiming) claims_.retract(world, *healing);
  healing->cancelled_by = by;
  if (healing->waits() && (healing->round == 0 || healing->plan->on_cancel.empty())) {
    end(world, *healing, HealingEnd::Cancelled, fmt::format("cancelled by {}", by));
    return {true, fmt::format("{} cancelled", what)};
  }
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing->service,
              fmt::format("{} is to end: cancelled by {}", what, by))
      .subject = id.number();
  if (healing->waits()) {  // between its tries: nothing of it is under way, but it has no place
    healing->ask_anew();
    world.save(*healing);
    consider(world);
  } else {
    end_others(world, *healing);
    world.save(*healing);
    go_on(world, *healing);
  }
  return {true, fmt::format("{} cancelled", what)};
}

Healings::Answer Healings::reset(HealingWorld& world, std::string_view workflow, const std::string& by) {
  if (world.graph().workflow(workflow) == nullptr && memories_.workflow(workflow) == nullptr)
    return {false, fmt::format("there is no workflow {}", workflow)};
  const std::string text = memories_.reset(world, workflow, by);
  reevaluate(world);
  return {true, text + memories_.left_alone(world.graph(), workflow)};
}

}  // namespace healer::engine
