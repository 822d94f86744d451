// SPDX-License-Identifier: MIT
#include "engine/healing/soundness.hpp"

#include <cstdint>
#include <variant>
#include <vector>

#include "engine/healing/step_runs.hpp"

namespace healer::engine {
namespace {

std::string problem_of(const std::vector<Step>& steps, std::uint32_t position, const std::vector<StepRun>& runs) {
  if (runs.empty()) return {};
  if (position >= steps.size()) return "position: there is no such step";
  if (runs.size() > runs_of(steps[position])) return "under_way: there are no such steps";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto* const http = std::get_if<step::Http>(&step_of(steps[position], i).what);
    if (runs[i].state == StepRun::State::Requesting && http == nullptr) return "under_way: that step makes no request";
    if (runs[i].state == StepRun::State::Polling && (http == nullptr || !http->until || !runs[i].due))
      return "under_way: that step does not ask until something is done";
  }
  return {};
}

}  // namespace

std::string problem_of(const Healing& healing) {
  if (healing.id == HealingId{}) return "it has no id";
  if (!healing.plan) return "it has no plan";
  if (healing.stage() == Healing::Stage::Guarding && !healing.plan->guard) return "stage: its plan has no guard";
  if (const auto* const guarding = std::get_if<stage::Guarding>(&healing.at);
      guarding != nullptr && guarding->run.state != StepRun::State::Running &&
      guarding->run.state != StepRun::State::Ending)
    return "under_way: its guard does not run";
  const stage::Progress* const progress = healing.progress();
  if (progress == nullptr) return {};
  if (std::string problem = problem_of(healing.steps(), progress->position, progress->under_way); !problem.empty())
    return problem;
  if (!progress->detour) return {};
  Healing before = healing;
  before.progress()->detour.reset();
  const std::string problem = problem_of(before.steps(), progress->detour->position, progress->detour->under_way);
  return problem.empty() ? "" : "detour: " + problem;
}

}  // namespace healer::engine
