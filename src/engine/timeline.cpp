// SPDX-License-Identifier: MIT
// What a simulation tells, as text.
#include <spdlog/fmt/fmt.h>

#include "engine/job.hpp"
#include "engine/simulator.hpp"
#include "util/text.hpp"

namespace healer::engine {

bool is_action(const TimelineEntry& entry) {
  return entry.kind == "exec" || entry.kind == "alert" || entry.kind == "job-started" ||
         (entry.kind == "unmonitored" && entry.text == fmt::format("unmonitored by {}", kByRule));
}

std::string to_string(const TimelineEntry& entry) {
  std::string line =
      fmt::format("{}  cycle {}  ", format_civil(utc_civil(entry.when), subsecond_ms(entry.when)), entry.cycle);
  if (!entry.service.empty())
    line += entry.run == 0 ? entry.service : fmt::format("{} run {}", entry.service, entry.run);
  line += (entry.service.empty() ? "" : "  ") + entry.kind + "  ";
  if (!entry.program.empty()) line += entry.program + " program ";
  line += printable(entry.text);
  if (!entry.recipients.empty()) line += fmt::format(" to {}", fmt::join(entry.recipients, ", "));
  if (!entry.counters.empty()) line += fmt::format("  [{}]", entry.counters);
  if (!entry.rule.empty()) line += fmt::format("  {}: {}", entry.place.empty() ? "rule" : entry.place, entry.rule);
  return line;
}

std::string to_string(const Firing& firing) {
  return fmt::format("{} {}{} {}", firing.service, firing.recovery ? 'c' : 'r', firing.rule, firing.run);
}

}  // namespace healer::engine
