// SPDX-License-Identifier: MIT
// `workflow`: what is run to heal, under guard, as the rules say it (language 3.4, 3.6, 3.7).
//
// All texts and arguments may hold `${NAME}`, which stands for a value that is known when the step begins: fill() in
// engine/healing/variables. A workflow is plain data, for a healing goes by the one that it began with, which its
// journal holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/rules/healing_limits.hpp"
#include "engine/rules/source_place.hpp"
#include "engine/steps/step.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// `guard program "..."`: exit status 0 lets a try begin, anything else refuses it.
struct Guard {
  step::Program program;
  Duration timeout{30'000};
  bool once = false;  ///< before the first try only
  bool operator==(const Guard&) const = default;
};

/// One `workflow` block.
struct Workflow {
  std::string name;
  std::optional<Guard> guard;
  std::vector<Step> steps;
  std::vector<Step> on_failure;
  std::vector<Step> on_cancel;
  std::vector<HealingLimit> limits;  ///< with the defaults, until one of its kind is written
  std::vector<PauseWhile> pauses;    ///< the same
  Duration cooldown{600'000};
  std::uint32_t tries = 1;
  std::vector<std::uint32_t> ramp;  ///< at once; empty: none
  Duration probation{0};
  std::optional<Breaker> breaker;
  std::optional<Approval> approval;
  HealingMode mode = HealingMode::Automatic;
  Hash128 key;  ///< hash of all that the block says (places left out)
  SourcePlace place;

  bool operator==(const Workflow& other) const { return key == other.key; }
  /// Whether all it does is to tell people: it has no brakes and needs no guard.
  [[nodiscard]] bool only_alerts() const;
};

}  // namespace healer::engine
