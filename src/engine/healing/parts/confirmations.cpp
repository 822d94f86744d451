// SPDX-License-Identifier: MIT
#include "engine/healing/parts/confirmations.hpp"

#include <string>

#include "engine/healing/healing.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"

namespace healer::engine {

bool Confirmations::begin(HealingWorld& world, const Healing& healing) {
  auto& checks = awaited_[healing.id];
  checks.clear();
  const auto add = [&](const std::string& name) {
    if (const auto service = world.graph().find(name))
      for (const ServiceId member : world.seen_by(*service)) checks.emplace(member, world.now().mono);
  };
  add(healing.service);
  for (const Trigger& one : healing.also) add(one.service);
  world.save(healing);
  for (const auto& [member, since] : checks) world.check(member);
  return !checks.empty();
}

bool Confirmations::awaits(const HealingContext& world, const Healing& healing) {
  auto& checks = awaited_[healing.id];
  std::erase_if(checks, [&](const auto& check) { return world.health(check.first) == Health::Unmonitored; });
  return !checks.empty();
}

std::vector<HealingId> Confirmations::waiting_for(ServiceId service) const {
  std::vector<HealingId> all;
  for (const auto& [healing, checks] : awaited_)
    if (checks.contains(service)) all.push_back(healing);
  return all;
}

bool Confirmations::checked(HealingWorld& world, HealingId healing, ServiceId service, Duration began) {
  const auto awaited = awaited_.find(healing);
  if (awaited == awaited_.end()) return false;
  auto& checks = awaited->second;
  const auto check = checks.find(service);
  if (check == checks.end()) return false;
  if (began < check->second) {
    world.check(service);
    return false;
  }
  checks.erase(check);
  return checks.empty();
}

}  // namespace healer::engine
