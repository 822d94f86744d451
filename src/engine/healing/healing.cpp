// SPDX-License-Identifier: MIT
#include "engine/healing/healing.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>
#include <variant>

#include "engine/rules/settings.hpp"

namespace healer::engine {

std::string_view to_string(HealingEnd end) {
  switch (end) {
    case HealingEnd::Verified: return "recovered";
    case HealingEnd::Done: return "done";
    case HealingEnd::Failed: return "failed";
    case HealingEnd::Refused: return "refused";
    case HealingEnd::Cancelled: return "cancelled";
    case HealingEnd::Rejected: return "not approved";
    case HealingEnd::Interrupted: return "interrupted";
    case HealingEnd::Dropped: return "dropped";
    case HealingEnd::WouldRun: return "would have run";
    case HealingEnd::Abandoned: return "abandoned";
    case HealingEnd::Called: return "a person was called";
  }
  return {};
}

namespace {

constexpr auto kTexts = []<typename... Stages>(std::type_identity<std::variant<Stages...>>) {
  return std::array{Stages::kText...};
}(std::type_identity<HealingStage>{});
static_assert(kTexts.size() == static_cast<std::size_t>(Healing::Stage::Cancelling) + 1);

template <typename Run>
std::span<Run> runs_in(auto& stage) {
  if (auto* const guarding = std::get_if<stage::Guarding>(&stage)) return {&guarding->run, 1};
  if (auto* const steps = part_of<stage::Progress>(stage)) return steps->under_way;
  return {};
}

}  // namespace

std::string_view to_string(Healing::Stage stage) { return kTexts.at(static_cast<std::size_t>(stage)); }

const std::string& Healing::reason() const {
  static const std::string none;
  if (const stage::Waiting* const waits = waiting()) return waits->reason;
  return stage() == Stage::Confirming ? stage::Confirming::kReason : none;
}

std::optional<Brake> Healing::held_by() const {
  const stage::Waiting* const waits = waiting();
  return waits == nullptr ? std::nullopt : waits->held_by;
}

std::optional<Deadline> Healing::not_before() const {
  const stage::Waiting* const waits = waiting();
  return waits == nullptr ? std::nullopt : waits->not_before;
}

std::span<StepRun> Healing::under_way() { return runs_in<StepRun>(at); }
std::span<const StepRun> Healing::under_way() const { return runs_in<const StepRun>(at); }

const std::vector<Step>& Healing::steps() const {
  const stage::Progress* const steps = progress();
  if (steps != nullptr && steps->detour && steps->detour->of_plan) return plan->steps;
  return stage() == Stage::Failing ? plan->on_failure : stage() == Stage::Cancelling ? plan->on_cancel : plan->steps;
}

void Healing::wait_with(stage::Waiting what) {
  if (has_begun())
    at = stage::Between{std::move(what)};
  else
    at = stage::Held{std::move(what)};
}

void Healing::ask_anew() { wait_with({.reason = reason(), .held_by = held_by()}); }

HealingMode mode_of(const Workflow& plan, const Settings& settings, bool dry_run) {
  return std::min({plan.mode, settings.healing.mode,
                   dry_run || settings.dry_run ? HealingMode::DryRun : HealingMode::Automatic,
                   settings.shadow ? HealingMode::Shadow : HealingMode::Automatic});
}

std::vector<std::string> WorkflowMemory::failed_targets() const {
  std::vector<std::string> targets;
  for (const std::string& target : failed)
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  return targets;
}

}  // namespace healer::engine
