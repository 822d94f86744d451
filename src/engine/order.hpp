// SPDX-License-Identifier: MIT
// What people and steps of healings want started, stopped or restarted, and who waits for its end.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/events/origin.hpp"
#include "engine/ids.hpp"
#include "engine/rules/rule_identity.hpp"

namespace healer::engine {

/// One of the runs of the step at which a healing is.
struct HealingRun {
  HealingId healing;
  std::uint32_t run = 0;

  auto operator<=>(const HealingRun&) const = default;
};

/// Who waits for the end of what was ordered: a client, or a healing.
using Requester = std::variant<CommandId, HealingRun>;

struct BringOrder {
  Requester requester;
  ActionKind kind = ActionKind::Restart;  ///< Start, Stop or Restart
  std::vector<ServiceId> services;
  Origin by;
};

/// What an order of a healing has come to.
struct OrderEnded {
  HealingRun run;
  bool good = true;
  std::string text;
};

}  // namespace healer::engine
