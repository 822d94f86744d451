// SPDX-License-Identifier: MIT
// What tells a rule from others, over edits of the rules files and restarts of the daemon.
#pragma once

#include <cstdint>
#include <string_view>

#include "util/hash.hpp"

namespace healer::engine {

enum class ActionKind : std::uint8_t { Alert, Exec, Unmonitor, Start, Stop, Restart, Heal, Ignore };
/// Monit's word: "alert", "exec", "unmonitor", "start", "stop", "restart", "ignore"; healer's own "heal".
[[nodiscard]] std::string_view to_string(ActionKind kind);
/// By its name; Restart where there is none.
[[nodiscard]] ActionKind action_kind_of(std::string_view name);

/// By what a rule is known again after an edit of the rules files (engine/reload/diff: match_rules).
struct RuleIdentity {
  Hash128 text;       ///< of its canonical text, with an ordinal among equal ones of the service
  Hash128 condition;  ///< of its condition alone; zero: not known, as of a state that an earlier version saved
  Hash128 actions;    ///< of what it does, in its `else` branch too; zero: not known
  ActionKind kind = ActionKind::Alert;  ///< of its action

  bool operator==(const RuleIdentity&) const = default;
};

}  // namespace healer::engine
