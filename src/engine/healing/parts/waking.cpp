// SPDX-License-Identifier: MIT
#include "engine/healing/parts/waking.hpp"

#include <algorithm>

#include "engine/healing/parts/memories.hpp"
#include "engine/healing/parts/recoveries.hpp"
#include "engine/healing/parts/requests.hpp"
#include "engine/healing/parts/running.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

/// What may have changed is looked at so much later, once for all that changes meanwhile.
constexpr Duration kGather{20};
constexpr Duration kLongestGather{1'000};

}  // namespace

void WakeTimes::reevaluate(const HealingContext& world) {
  must_reevaluate_ = true;
  // To look at all that waits costs the more the more there is: it never takes more than a small part of the time.
  const auto much = static_cast<Duration::rep>(index_.size() / 100 + healings_.all().size() / 5);
  const Duration soon = world.now().mono + std::min(kGather + Duration{much}, kLongestGather);
  consider_at_ = std::min(consider_at_.value_or(soon), soon);
  next_ = std::min(next_.value_or(*consider_at_), *consider_at_);
}

bool WakeTimes::is_to_consider(const HealingContext& world) {
  if (consider_at_ && *consider_at_ <= world.now().mono) must_reevaluate_ = true;
  for (const auto& [id, healing] : healings_.all())
    if (healing.not_before() && healing.not_before()->over(world.now())) must_reevaluate_ = true;
  return must_reevaluate_;
}

void WakeTimes::considering() {
  must_reevaluate_ = false;
  consider_at_.reset();
}

void WakeTimes::consider_at(Duration when) { consider_at_ = std::min(consider_at_.value_or(when), when); }

void WakeTimes::plan(const HealingContext& world) {
  const Instant now = world.now();
  next_.reset();
  const auto at = [&](Duration when) { next_ = next_ ? std::min(*next_, when) : when; };
  if (consider_at_) at(*consider_at_);
  for (const auto& [id, healing] : healings_.all()) {
    if (healing.not_before() && healing.waits() && !healing.not_before()->over(now))
      at(now.mono + healing.not_before()->left(now));
    for (const StepRun& run : healing.under_way())
      if (run.due && !run.over()) at(now.mono + std::max(run.due->left(now), Duration{1}));
  }
  if (const auto question = requests_.next_question()) at(std::max(*question, now.mono + Duration{1}));
  for (const TargetMemory& memory : memories_.targets()) {
    if (const Duration left = memory.cooldown.left(now); left > Duration{0}) at(now.mono + left);
    if (memory.probation && !memory.probation->over(now)) at(now.mono + memory.probation->left(now));
  }
  if (!recoveries_.empty()) at(now.mono + world.graph().settings->cycle_length());
}

}  // namespace healer::engine
