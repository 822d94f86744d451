// SPDX-License-Identifier: MIT
#include "engine/timing/first_runs.hpp"

#include <algorithm>

#include "engine/job.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

/// How long it is between two runs, as far as that is fixed: of a schedule of minutes nobody is in haste.
Duration haste(const ServiceBlock& block, Duration cycle) {
  return period_of(*block.schedule, cycle).value_or(days{1});
}

}  // namespace

Duration herd_phase(std::size_t index, std::size_t count, Duration cycle) {
  constexpr std::size_t kHerd = 100;
  constexpr Duration kLeastApart{20};
  if (index < kHerd) return Duration{0};
  const Duration spread = std::min<Duration>(seconds{5}, cycle / 2);
  const std::size_t most = std::max<std::size_t>(static_cast<std::size_t>(spread / kLeastApart), 1);
  const std::size_t groups = std::min((count - 1) / kHerd, most);
  const std::size_t group = (index - kHerd) * groups / (count - kHerd) + 1;
  return spread * static_cast<std::int64_t>(group) / static_cast<std::int64_t>(groups);
}

bool has_phase(const Schedule& schedule) {
  return schedule.kind == Schedule::Kind::Interval || (schedule.kind == Schedule::Kind::Cycles && schedule.cycles > 1);
}

void sort_by_haste(std::vector<ServiceId>& services, const Graph& graph) {
  const Duration cycle = graph.settings->cycle_length();
  std::ranges::stable_sort(services, {}, [&](ServiceId id) { return haste(graph.at(id), cycle); });
}

std::vector<ServiceId> first_order(const Graph& graph) {
  std::vector<ServiceId> order;
  std::vector<bool> seen(graph.slots.size());
  const auto add = [&](ServiceId id) {
    if (seen[id.index()]) return;
    seen[id.index()] = true;
    order.push_back(id);
  };
  for (const ServiceId id : graph.order) {
    if (!graph.at(id).has_process()) continue;
    if (!graph.at(id).depends.empty())
      for (const ServiceId needed : requirements_of(graph, id))
        if (graph.at(needed).has_process()) add(needed);
    add(id);
  }
  std::vector<ServiceId> composites, others;
  for (const ServiceId id : graph.order) graph.at(id).has_members() ? composites.push_back(id) : others.push_back(id);
  sort_by_haste(others, graph);
  for (const ServiceId id : others) add(id);
  std::ranges::stable_sort(composites, {}, [&](ServiceId id) { return graph.ranks[id.index()]; });
  order.insert(order.end(), composites.begin(), composites.end());
  return order;
}

}  // namespace healer::engine
