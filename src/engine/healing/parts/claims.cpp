// SPDX-License-Identifier: MIT
#include "engine/healing/parts/claims.hpp"

#include <utility>

#include "engine/healing/world.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {

void Claims::ask(HealingWorld& world, const Healing& healing) {
  denials_.erase(healing.id);
  asked_[healing.id] = ++last_;
  world.claim({.healing = healing.id,
               .claim = last_,
               .target = healing.target,
               .workflow = healing.plan->name,
               .identity = healing.identity});
}

bool Claims::answered(HealingId healing, std::uint64_t claim) {
  const auto asked = asked_.find(healing);
  if (asked == asked_.end() || asked->second != claim) return false;
  asked_.erase(asked);
  return true;
}

void Claims::denied(HealingId healing, BrakeVerdict why, const HealingContext& world) {
  denials_[healing] = {std::move(why), world.now().mono + world.graph().settings->cycle_length()};
}

std::optional<BrakeVerdict> Claims::denial(HealingId healing, Instant now) const {
  const auto found = denials_.find(healing);
  if (found == denials_.end() || found->second.until <= now.mono) return std::nullopt;
  return found->second.why;
}

void Claims::retract(Healing& healing) {
  forget(healing.id);
  healing.wait_with({});
}

void Claims::forget(HealingId healing) {
  asked_.erase(healing);
  denials_.erase(healing);
}

}  // namespace healer::engine
