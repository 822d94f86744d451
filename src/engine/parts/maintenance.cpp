// SPDX-License-Identifier: MIT
#include "engine/parts/maintenance.hpp"

#include <algorithm>
#include <chrono>

#include "engine/parts/pauses.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"

namespace healer::engine {

/// When each of the windows ends that has begun last, as of this minute: it is in force until then. The beginning of
/// time: it is not.
const std::vector<WallTime>& MaintenanceWindows::ends(Instant now) const {
  auto& [minute, ends] = known_;
  if (const std::int64_t current = minute_of(now.wall); minute != current) {
    minute = current;
    ends.clear();
    const WallTime begun = std::chrono::floor<minutes>(now.wall);
    for (const Maintenance& window : graph_->settings->maintenance) {
      const std::optional<WallTime> last = last_match(window.begin, begun - window.length, begun, civil_);
      ends.push_back(last ? *last + window.length : WallTime::min());
    }
  }
  return ends;
}

std::optional<WallTime> MaintenanceWindows::first_end(Instant now) const {
  std::optional<WallTime> first;
  if (graph_->settings->maintenance.empty()) return first;
  for (const WallTime end : ends(now))
    if (end > now.wall) first = std::min(first.value_or(end), end);
  return first;
}

bool MaintenanceWindows::in_force(ServiceId id, Instant now) const {
  const std::vector<Maintenance>& all = graph_->settings->maintenance;
  if (all.empty()) return false;
  const std::vector<WallTime>& until = ends(now);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (until[i] > now.wall && (all[i].group.empty() || is_in(graph_->at(id), all[i].group))) return true;
  return false;
}

bool MaintenanceWindows::of_everything(Instant now) const {
  const std::vector<Maintenance>& all = graph_->settings->maintenance;
  if (all.empty()) return false;
  const std::vector<WallTime>& until = ends(now);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (until[i] > now.wall && all[i].group.empty()) return true;
  return false;
}

}  // namespace healer::engine
