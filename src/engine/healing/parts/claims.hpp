// SPDX-License-Identifier: MIT
// Claims of healings to lock and place: which of them are asked for, and which were denied just now.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/healing/brake.hpp"
#include "engine/healing/healing.hpp"
#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

class HealingContext;
class HealingWorld;

/// Owns the claims that are not answered yet, and why the last claim of a healing was denied.
class Claims {
 public:
  /// Asks for lock and place. Only the answer to the last claim of a healing counts.
  void ask(HealingWorld& world, const Healing& healing);
  /// Whether that is the answer to a claim that is still wanted; then it is answered.
  [[nodiscard]] bool answered(HealingId healing, std::uint64_t claim);
  /// It was denied: it is not asked again within a cycle. Whether that is by another brake than the last time.
  bool denied(HealingId healing, const BrakeVerdict& why, const HealingContext& world);
  /// What was said to it within the last cycle; nothing: it may ask.
  [[nodiscard]] std::optional<BrakeVerdict> denial(HealingId healing, Instant now) const;
  /// Lock and place are not wanted any more: it waits for its brakes again.
  void retract(HealingWorld& world, Healing& healing);
  /// Nothing is wanted for it any more.
  void forget(HealingId healing);

 private:
  struct Denial {
    BrakeVerdict why;
    Duration until{0};  // mono
  };
  std::uint64_t last_ = 0;
  std::map<HealingId, std::uint64_t> asked_;
  std::map<HealingId, Denial> denials_;
};

}  // namespace healer::engine
