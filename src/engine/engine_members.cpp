// SPDX-License-Identifier: MIT
// Services made of others: how a service is to those that judge others by it.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/health.hpp"

namespace healer::engine {
namespace {

constexpr std::string_view kHealths[] = {"ok", "failed", "unknown", "not judged", "unmonitored"};

}  // namespace

std::string_view to_string(Health health) { return kHealths[static_cast<std::size_t>(health)]; }

/// What was failed before a reboot is not judged before it was looked at; what was judged in this boot stays so.
Health Engine::health(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  if (!state.monitored) return Health::Unmonitored;
  if (state.initialising) return Health::Unjudged;
  const auto failed = [](const RuleState& rule) { return rule.status == RuleStatus::Failed; };
  if (std::ranges::any_of(rules(id), failed)) return Health::Failed;
  return state.unknown ? Health::Unknown : Health::Ok;
}

}  // namespace healer::engine
