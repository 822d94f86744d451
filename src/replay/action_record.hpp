// SPDX-License-Identifier: MIT
// What healer has done to the world, in the form in which a day is compared with its replay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/effect.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct ActionRecord {
  WallTime when{};      ///< when it was decided
  std::string service;  ///< empty: the daemon
  enum class Kind : std::uint8_t { Alert, Exec, Job, Unmonitor, Heal } kind = Kind::Alert;
  std::string text;  ///< "Status failed", a command, "restart by rule: ..."

  bool operator==(const ActionRecord&) const = default;
};
/// "alert", "exec", "job", "unmonitor", "heal".
[[nodiscard]] std::string_view to_string(ActionRecord::Kind kind);

/// What an effect does: nothing, or one or more deeds.
[[nodiscard]] std::vector<ActionRecord> action_records_of(const Effect& effect);

}  // namespace healer::engine
