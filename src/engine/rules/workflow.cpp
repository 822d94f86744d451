// SPDX-License-Identifier: MIT
#include "engine/rules/workflow.hpp"

#include <algorithm>

namespace healer::engine {

bool step::Parallel::operator==(const Parallel& other) const { return steps == other.steps; }
bool Step::operator==(const Step&) const = default;

std::string_view to_string(HealingMode mode) {
  switch (mode) {
    case HealingMode::Shadow: return "shadow";
    case HealingMode::DryRun: return "dry run";
    case HealingMode::Approval: return "approval";
    case HealingMode::Automatic: return "automatic";
  }
  return {};
}

bool Workflow::only_alerts() const {
  const auto tells = [](const Step& step) { return tells_people(step); };
  return std::ranges::all_of(steps, tells) && std::ranges::all_of(on_failure, tells) &&
         std::ranges::all_of(on_cancel, tells);
}

}  // namespace healer::engine
