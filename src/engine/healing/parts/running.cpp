// SPDX-License-Identifier: MIT
#include "engine/healing/parts/running.hpp"

#include <algorithm>
#include <utility>

#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "util/text.hpp"

namespace healer::engine {

RunningHealings::RunningHealings(std::vector<Healing> healings) {
  for (Healing& healing : healings) add(std::move(healing));
}

const std::vector<HealingId>& RunningHealings::of_target(const std::string& name) const {
  static const std::vector<HealingId> none;
  const auto found = of_target_.find(name);
  return found == of_target_.end() ? none : found->second;
}

Healing& RunningHealings::add(Healing healing) {
  const HealingId id = healing.id;
  of_target_[to_lower(healing.target)].push_back(id);
  return healings_.insert_or_assign(id, std::move(healing)).first->second;
}

void RunningHealings::remove(HealingId id) {
  const auto known = healings_.find(id);
  const auto of = of_target_.find(to_lower(known->second.target));
  std::erase(of->second, id);
  if (of->second.empty()) of_target_.erase(of);
  healings_.erase(known);
}

std::vector<HealingId> RunningHealings::ids() const {
  std::vector<HealingId> all;
  all.reserve(healings_.size());
  bool in_order = true;
  for (const auto& [id, healing] : healings_) {
    all.push_back(id);
    in_order = in_order && healing.queued == 0;
  }
  if (!in_order)
    std::ranges::stable_sort(all, {}, [this](HealingId one) { return healings_.at(one).place_in_queue(); });
  return all;
}

Healing* RunningHealings::find(HealingId id) {
  const auto found = healings_.find(id);
  return found == healings_.end() ? nullptr : &found->second;
}

Healing* RunningHealings::of_action(ActionId action) {
  for (auto& [id, healing] : healings_)
    for (const StepRun& run : healing.under_way())
      if (run.action == action && (run.state == StepRun::State::Running || run.state == StepRun::State::Ending))
        return &healing;
  return nullptr;
}

void RunningHealings::visit_rivals(const TargetIndex& targets, std::string_view target,
                                   const std::function<void(const Healing&)>& visit) const {
  const auto visit_all = [&](const std::string& of) {
    if (const auto found = of_target_.find(of); found != of_target_.end())
      for (const HealingId id : found->second) visit(healings_.at(id));
  };
  visit_all(to_lower(target));
  const TargetIndex::Target* const known = targets.find(target);
  if (known == nullptr || known->conflicts.empty()) return;
  if (known->conflicts.size() < of_target_.size()) {
    for (const std::string& other : known->conflicts) visit_all(other);
  } else {
    for (const auto& [other, healings] : of_target_)
      if (known->conflicts.contains(other)) visit_all(other);
  }
}

void RunningHealings::carry(HealingWorld& world, WallTime seen) {
  const Instant now = world.now();
  // The time for an approval goes on while healer is down, and that of a step by the clock.
  for (auto& [id, healing] : healings_) {
    stage::Waiting* const waits = healing.waiting();
    if (waits == nullptr || !waits->not_before || healing.stage() == Healing::Stage::Approval) continue;
    waits->not_before = waits->not_before->carried_on(seen, now);
    world.save(healing);
  }
}

}  // namespace healer::engine
