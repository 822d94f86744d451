// SPDX-License-Identifier: MIT
// A heartbeat for people.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "ctl/render/render_parts.hpp"
#include "util/text.hpp"

namespace healer::control {

std::string heartbeat_fields(const HeartbeatView& heartbeat, const Style& style) {
  std::string text;
  if (heartbeat.last) {
    text += field("last beat", fmt::format("{}: {}", ago(*heartbeat.last, style), heartbeat.beat), style);
    if (!trim(heartbeat.text).empty()) text += hanging_lines(std::string(kLabel + 2, ' '), trim(heartbeat.text), style);
  } else {
    text += field("last beat", "none yet", style);
  }
  const std::string rhythm =
      fmt::format("every {} within {}", format_duration(heartbeat.every), format_duration(heartbeat.within));
  if (heartbeat.missed)
    text += field("missed",
                  fmt::format("for {}, since {} ({})", lasting(*heartbeat.missed, style),
                              clock_time(*heartbeat.missed, style), rhythm),
                  style);
  else if (heartbeat.due)
    text += field("due", fmt::format("{} ({})", clock_time(*heartbeat.due, style), rhythm), style);
  if (heartbeat.missed_at) text += field("missed at", clock_time(*heartbeat.missed_at, style), style);
  if (heartbeat.started)
    text += field(
        "run",
        fmt::format("for {}, since {}", lasting(*heartbeat.started, style), clock_time(*heartbeat.started, style)),
        style);
  else if (heartbeat.ran)
    text += field("last run", fmt::format("took {}", format_duration(*heartbeat.ran)), style);
  return text;
}

}  // namespace healer::control
