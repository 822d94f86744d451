// SPDX-License-Identifier: MIT
// Units of systemd: what is read of one, in the words that rules compare, and what systemd is asked to do with it. The
// jobs of a unit are commands as programs are, so that they are planned, committed, adopted and recorded alike; who
// carries out commands knows them by unit_order().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/rules/command.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What systemd can be asked to do.
enum class UnitVerb : std::uint8_t { Start, Stop, Restart };
/// "start", "stop", "restart".
[[nodiscard]] std::string_view to_string(UnitVerb verb);

/// How long a job of systemd is waited for. The unit's own times (TimeoutStartSec, TimeoutStopSec) end it long before.
inline constexpr Duration kUnitJobTimeout = minutes{10};

/// systemd's own job, as a command: no program is run.
[[nodiscard]] Command unit_command(UnitVerb verb, std::string_view unit);

struct UnitOrder {
  UnitVerb verb = UnitVerb::Start;
  std::string unit;
};
/// What unit_command() was made of; none: it is a program.
[[nodiscard]] std::optional<UnitOrder> unit_order(const Command& command);

/// The states that a unit can be in (ActiveState).
inline constexpr std::array<std::string_view, 8> kUnitStates{"active",     "reloading",    "inactive",    "failed",
                                                             "activating", "deactivating", "maintenance", "refreshing"};

/// How a unit stands, by the words of systemd.
struct UnitFacts {
  std::string load;      ///< "loaded", "not-found", "masked", ...
  std::string active;    ///< "active", "failed", "activating", ...
  std::string sub;       ///< "running", "dead", "auto-restart", ...
  std::string result{};  ///< of a unit that has failed: "exit-code", "start-limit-hit"; empty: it has none
};

/// In one line, as the tests `failed` and `active` read it: it begins with kStandsFailed, or with kStandsActive, or
/// with neither. "failed (exit-code)", "failed (no such unit)", "active (running)", "activating (auto-restart)",
/// "inactive (masked)".
[[nodiscard]] std::string standing_of(const UnitFacts& unit);
/// The beginnings, as expressions that the standing is matched with.
inline constexpr std::string_view kStandsFailed = "^failed";
inline constexpr std::string_view kStandsActive = "^active";

/// Whether systemd itself is about to start a unit in that substate again, as its `Restart=` says.
[[nodiscard]] bool is_restarted_by_systemd(std::string_view substate);

/// Why that cannot be the name of one unit; empty: it can.
[[nodiscard]] std::string unit_name_problem(std::string_view name);

}  // namespace healer::engine
