// SPDX-License-Identifier: MIT
#include "engine/healing/parts/recoveries.hpp"

#include <algorithm>
#include <vector>

#include "engine/healing/healing.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {

bool Recoveries::begin(HealingWorld& world, const Healing& healing) {
  for (const ServiceId service : index_.services_of(world.graph(), healing.target))
    for (const ServiceId member : world.seen_by(service))
      awaited_[member] = {.healing = healing.id, .since = world.now().mono, .checked = world.now().mono};
  bool checks = false;
  for (const auto& [service, progress] : awaited_) {
    if (progress.healing != healing.id) continue;
    checks = true;
    world.check(service);
  }
  return checks;
}

std::optional<HealingId> Recoveries::checked(ServiceId service, Duration began, std::optional<bool> clear) {
  const auto progress = awaited_.find(service);
  if (progress == awaited_.end() || began < progress->second.since) return std::nullopt;
  Progress& now = progress->second;
  if (clear == true) {
    ++now.clear;
    if (!now.clear_since) now.clear_since = began;
  } else {
    now.clear = 0;
    now.clear_since.reset();
  }
  return now.healing;
}

RecoveryOutcome Recoveries::outcome(HealingWorld& world, const Healing& healing, bool or_gone) {
  std::vector<ServiceId> seen;
  for (const ServiceId service : index_.services_of(world.graph(), healing.target))
    for (const ServiceId member : world.seen_by(service)) seen.push_back(member);
  if (seen.empty()) {
    if (or_gone && is_gone(world, index_, healing)) return RecoveryOutcome::Gone;
    return RecoveryOutcome::Awaited;
  }
  bool newcomer = false;  // it has come while this went on, or this daemon has
  for (const ServiceId service : seen) {
    if (const auto known = awaited_.find(service); known != awaited_.end() && known->second.healing == healing.id)
      continue;
    awaited_[service] = {.healing = healing.id, .since = world.now().mono, .checked = world.now().mono};
    world.check(service);
    newcomer = true;
  }
  if (newcomer) return RecoveryOutcome::Awaited;
  for (const ServiceId service : seen) {
    std::uint32_t runs = 1;
    Duration held{0};
    for (const Rule& rule : world.graph().at(service).rules)
      if (rule->mode == Mode::Latched && world.stands(service, rule.key, healing.target)) {
        runs = std::max<std::uint32_t>(runs, rule->recovery->tolerance.count);
        held = std::max(held, rule->recovery->tolerance.held);
      }
    const Progress& now = awaited_.at(service);
    if (now.clear < runs || !now.clear_since || world.now().mono - *now.clear_since < held)
      return RecoveryOutcome::Awaited;
  }
  return RecoveryOutcome::Recovered;
}

void Recoveries::look_again(HealingWorld& world) {
  for (auto& [service, progress] : awaited_)
    if (world.now().mono - progress.checked >= world.graph().settings->cycle_length()) {
      progress.checked = world.now().mono;
      world.check(service);
    }
}

void Recoveries::stop(const Healing& healing) {
  std::erase_if(awaited_, [&](const auto& entry) { return entry.second.healing == healing.id; });
}

}  // namespace healer::engine
