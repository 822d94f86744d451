// SPDX-License-Identifier: MIT
// Whether healer doubts what it sees, and when such a doubt ends.
#include <algorithm>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {

std::string Engine::doubt(Instant now) const {
  if (releases_.is_sick()) return "the state cannot be written";
  if (now.mono - started_at_.mono < graph_->settings->cycle_length()) return "healer has just started";
  if (std::string late = doubts_.of_time(now); !late.empty()) return late;
  for (const std::string& name : graph_->settings->healing.only_while) {
    const std::optional<ServiceId> id = graph_->find(name);
    if (!id) return fmt::format("{}, which must be healthy, is not in the rules", name);
    if (pauses_.in_force(*id, now)) return fmt::format("{}, which must be healthy, is paused", name);
    if (const Health its = composites_.health(*id); its != Health::Ok)
      return fmt::format("{}, which must be healthy, is {}", name, to_string(its));
  }
  return {};
}

/// When time alone ends, first, a doubt, a person's pause or a maintenance window.
std::optional<Duration> Engine::time_releases(Instant now) const {
  std::optional<Duration> first;
  const auto at = [&](Duration when) {
    if (when > now.mono) first = std::min(first.value_or(when), when);
  };
  const auto at_wall = [&](WallTime when) { at(now.mono + (when - now.wall)); };
  at(started_at_.mono + graph_->settings->cycle_length());
  if (const auto end = doubts_.ends()) at(*end);
  for (const WallTime end : pauses_.ends(now)) at_wall(end);
  if (const auto end = maintenance_.first_end(now)) at_wall(*end);
  return first;
}

}  // namespace healer::engine
