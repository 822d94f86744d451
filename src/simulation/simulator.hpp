// SPDX-License-Identifier: MIT
// The simulator: runs rules in virtual time against a script (simulation/script.hpp) and tells what would happen, when
// and why. It is a shell around the same engine that supervises machines, with a clock, check programs, a store and a
// mailer that exist in memory only; so what it tells is what healerd does, and years pass in seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/rules/graph.hpp"
#include "simulation/script.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct RuleSet;

/// One thing that happens.
struct TimelineEntry {
  Duration at{0};           ///< since the start, on the monotonic clock
  WallTime when{};          ///< what the wall clock shows
  std::uint64_t cycle = 0;  ///< of the daemon, the first is 1
  std::string kind;         ///< of the record ("rule-failed", "action-held", ...), or "exec" or "alert"
  std::string service;      ///< empty: the daemon
  std::uint64_t run = 0;    ///< of the service, the first is 1
  std::string rule;         ///< its text; empty where no rule is concerned
  std::string place;        ///< of the rule, "file:line"
  std::string counters;     ///< what the rule has counted: "3 of the last 3 runs failed"
  std::string text;         ///< description of the cause, command of an exec, subject of an alert
  std::string program{};    ///< of an exec which of the service's: "start", "stop", "restart", "foreground";
                            ///< empty: that of a rule's action, or of a healing
  std::vector<std::string> recipients;  ///< of an alert
  // Of a healing, or its workflow; else empty.
  std::string target{};
  std::string workflow{};
  std::string step{};  ///< "guard", or the name of a step
  std::string turn{};  ///< what becomes of it: "asked", "held", "begun", ... (engine/healing/told.hpp)
  std::string why{};   ///< of a turn: the brake that holds it, what has failed
};

/// An exec that was started, in the form in which timelines of different daemons are compared.
struct Firing {
  std::string service;
  bool recovery = false;
  std::size_t rule = 0;   ///< its number in the service, from 0
  std::uint64_t run = 0;  ///< the run of the service that caused it, from 1

  auto operator<=>(const Firing&) const = default;
};

struct Timeline {
  std::vector<TimelineEntry> entries;
  std::vector<Firing> firings;
  Duration length{0};
  std::uint64_t runs = 0;  ///< judged, of all services
  std::string stopped;     ///< why it ended early; empty where it did not
  /// What was expected and did not come, with its place in the script.
  std::vector<ScriptError> unmet{};
};

class ListKeeper;

/// Plays the script. `civil` is the local time of cron schedules. `lists` keeps the lists whose rows `rules` were
/// loaded with; null: the script has none that says something else later.
[[nodiscard]] Timeline simulate(const RuleSet& rules, const Script& script, const CivilClock& civil = utc_civil,
                                ListKeeper* lists = nullptr);

/// Whether healer does something then: an exec, an alert, a start, stop or restart, that it gives a service up, a try
/// of a healing, a request.
[[nodiscard]] bool is_action(const TimelineEntry& entry);

/// One line without its end: "2026-01-01 00:01:00.000  cycle 3  web run 3  rule-failed  ...".
[[nodiscard]] std::string to_string(const TimelineEntry& entry);
/// "s003 r0 17": service, r (rule) or c (recovery) with its number, run.
[[nodiscard]] std::string to_string(const Firing& firing);

}  // namespace healer::engine
