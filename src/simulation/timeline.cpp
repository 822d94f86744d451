// SPDX-License-Identifier: MIT
// What a simulation tells, as text.
#include "simulation/timeline.hpp"

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing_report.hpp"
#include "engine/job.hpp"
#include "simulation/simulator.hpp"
#include "util/text.hpp"

namespace healer::engine {

bool is_action(const TimelineEntry& entry) {
  return entry.kind == "exec" || entry.kind == "request" || entry.turn == to_string(HealingTurn::Begun) ||
         entry.kind == "alert" || entry.kind == "job-started" ||
         (entry.kind == "unmonitored" && entry.text.starts_with(fmt::format("unmonitored by {}", words_of(ByRule{}))));
}

std::string to_string(const TimelineEntry& entry) {
  std::string line =
      fmt::format("{}  cycle {}  ", format_civil(utc_civil(entry.when), subsecond_ms(entry.when)), entry.cycle);
  if (!entry.service.empty())
    line += entry.run == 0 ? entry.service : fmt::format("{} run {}", entry.service, entry.run);
  line += (entry.service.empty() ? "" : "  ") + entry.kind + "  ";
  if (!entry.program.empty()) line += entry.program + " program ";
  if (!entry.step.empty() && (entry.kind == "exec" || entry.kind == "request"))
    line += entry.step == "guard" ? fmt::format("guard of {}: ", entry.workflow)
                                  : fmt::format("step \"{}\" of {}: ", entry.step, entry.workflow);
  line += printable(entry.text);
  if (!entry.recipients.empty()) line += fmt::format(" to {}", fmt::join(entry.recipients, ", "));
  if (!entry.counters.empty()) line += fmt::format("  [{}]", entry.counters);
  if (!entry.rule.empty()) line += fmt::format("  {}: {}", entry.place.empty() ? "rule" : entry.place, entry.rule);
  return line;
}

std::string counters_of(RecordKind kind, const Rule& rule, const RuleState& before, Duration now) {
  const auto of_last = [](int count, const Tolerance& tolerance, std::string_view what) {
    return tolerance.window == 1 ? std::string{}
                                 : fmt::format("{} of the last {} runs {}", count, tolerance.window, what);
  };
  const auto lasted = [&](std::optional<Duration> since, std::string_view what) {
    return fmt::format("{} for {}", what, format_duration(now - since.value_or(now)));
  };
  switch (kind) {
    case RecordKind::RuleFailed:
    case RecordKind::RuleMatched:
      if (rule->tolerance.held > Duration{0}) return lasted(before.past->failing_since, "failing");
      return of_last(before.window.failed(rule->tolerance.window - 1) + 1, rule->tolerance,
                     kind == RecordKind::RuleFailed ? "failed" : "matched");
    case RecordKind::RuleRecovered: {
      const Tolerance& tolerance = rule->recovery->tolerance;
      if (tolerance.held > Duration{0}) return lasted(before.past->clear_since, "clear");
      return of_last(tolerance.window - before.window.failed(tolerance.window - 1), tolerance, "clear");
    }
    case RecordKind::RuleRepeated: return fmt::format("run {} since it failed", before.since_fired + 1);
    default: return {};
  }
}

std::string to_string(const Firing& firing) {
  return fmt::format("{} {}{} {}", firing.service, firing.recovery ? 'c' : 'r', firing.rule, firing.run);
}

}  // namespace healer::engine
