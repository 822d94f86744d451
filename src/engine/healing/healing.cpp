// SPDX-License-Identifier: MIT
#include "engine/healing/healing.hpp"

#include <algorithm>

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

std::string_view to_string(Healing::Stage stage) {
  switch (stage) {
    case Healing::Stage::Held: return "held back";
    case Healing::Stage::Approval: return "waits for approval";
    case Healing::Stage::Confirming: return "checks the target once more";
    case Healing::Stage::Guarding: return "runs the guard";
    case Healing::Stage::Stepping: return "under way";
    case Healing::Stage::Between: return "waits for its next try";
    case Healing::Stage::Failing: return "on failure";
    case Healing::Stage::Cancelling: return "on cancel";
  }
  return {};
}

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
