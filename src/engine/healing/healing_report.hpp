// SPDX-License-Identifier: MIT
// What a record of the history tells of a healing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace healer::engine {

struct Graph;
struct Record;

/// What happens to a healing, or to a workflow.
enum class HealingTurn : std::uint8_t {
  None,       ///< a step of its way, or who else has asked for it
  Asked,      ///< a rule has fired, or a person has asked
  Held,       ///< it waits: why
  Refused,    ///< by its guard
  Proposed,   ///< it waits for a person's approval
  Approved,   ///< by a person
  Begun,      ///< a try
  TryFailed,  ///< another one, or `on failure`, is next
  Escalated,  ///< it goes on with another workflow, which `why` begins with
  Recovered,
  Done,  ///< its steps, of which none looks whether the target has recovered
  Failed,
  Cancelled,
  Rejected,  ///< or nobody has approved it in time
  Interrupted,
  Dropped,
  WouldRun,   ///< a dry run
  Abandoned,  ///< its target was taken away
  Called,     ///< a person, as it had failed
  // of a workflow
  Paused,   ///< by `pause while`
  Resumed,  ///< after that
  Stopped,  ///< by its breaker
  Reset     ///< by a person
};

/// As scripts of simulations call them: "asked", "held", ...; of None it is empty.
inline constexpr std::array<std::string_view, 18> kTurnsOfHealings{
    "asked", "held",   "refused",   "proposed", "approved",    "begun",   "try-failed", "escalated", "recovered",
    "done",  "failed", "cancelled", "rejected", "interrupted", "dropped", "would-run",  "abandoned", "called"};
inline constexpr std::array<std::string_view, 4> kTurnsOfWorkflows{"paused", "resumed", "stopped", "reset"};
[[nodiscard]] std::string_view to_string(HealingTurn turn);

struct HealingReport {
  HealingTurn turn = HealingTurn::None;
  std::string target;  ///< empty: it is of a workflow
  std::string workflow;
  std::string step;  ///< "guard", the name of a step; empty: of none
  std::string why;   ///< what follows: the brake that holds it, what has failed
};

/// None: the record is not of a healing.
[[nodiscard]] std::optional<HealingReport> healing_report_of(const Record& record, const Graph& graph);

}  // namespace healer::engine
