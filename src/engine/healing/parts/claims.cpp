// SPDX-License-Identifier: MIT
#include "engine/healing/parts/claims.hpp"

#include <utility>

#include "engine/healing/world.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {

void Claims::ask(HealingWorld& world, const Healing& healing) {
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

bool Claims::denied(HealingId healing, const BrakeVerdict& why, const HealingContext& world) {
  const auto last = denials_.find(healing);
  const bool is_news = last == denials_.end() || last->second.why.brake != why.brake;
  denials_[healing] = {why, world.now().mono + world.graph().settings->cycle_length()};
  return is_news;
}

std::optional<BrakeVerdict> Claims::denial(HealingId healing, Instant now) const {
  const auto found = denials_.find(healing);
  if (found == denials_.end() || found->second.until <= now.mono) return std::nullopt;
  return found->second.why;
}

void Claims::retract(HealingWorld& world, Healing& healing) {
  forget(healing.id);
  healing.wait_with({});
  world.save(healing);
}

void Claims::forget(HealingId healing) {
  asked_.erase(healing);
  denials_.erase(healing);
}

}  // namespace healer::engine
