// SPDX-License-Identifier: MIT
#include "engine/job.hpp"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"

namespace healer::engine {
namespace {

/// From `services` along `next`, depth first: each comes after all that `next` leads to from it. Without recursion, for
/// a chain of dependencies may be as long as the rules.
std::vector<ServiceId> reach(const Graph& graph, const Adjacency& next, const std::vector<ServiceId>& services) {
  std::vector<bool> seen(graph.slots.size());
  std::vector<ServiceId> out;
  std::vector<std::pair<ServiceId, std::size_t>> open;  // with how many of its own were entered
  const auto enter = [&](ServiceId id) {
    if (seen[id.index()]) return;
    seen[id.index()] = true;
    open.emplace_back(id, 0);
  };
  for (const ServiceId service : services) {
    enter(service);
    while (!open.empty()) {
      auto& [id, entered] = open.back();
      if (entered < next[id.index()].size()) {
        enter(next[id.index()][entered++]);
        continue;
      }
      out.push_back(id);
      open.pop_back();
    }
  }
  return out;
}

}  // namespace

std::vector<ServiceId> with_requirements(const Graph& graph, const std::vector<ServiceId>& services) {
  return reach(graph, graph.requirements, services);
}

std::vector<ServiceId> with_dependents(const Graph& graph, const std::vector<ServiceId>& services) {
  return reach(graph, graph.dependents, services);
}

std::vector<ServiceId> requirements_of(const Graph& graph, ServiceId service) {
  std::vector<ServiceId> found = with_requirements(graph, {service});
  found.pop_back();
  return found;
}

std::vector<ServiceId> dependents_of(const Graph& graph, ServiceId service) {
  std::vector<ServiceId> found = with_dependents(graph, {service});
  found.pop_back();
  return found;
}

std::vector<JobStep> plan_steps(const Graph& graph, ActionKind kind, const std::vector<ServiceId>& services,
                                const std::function<bool(ServiceId)>& takes_part) {
  std::vector<JobStep> steps;
  std::vector<bool> named(graph.slots.size());
  for (const ServiceId id : services) named[id.index()] = true;
  const auto add = [&](ServiceId id, Bringing step) { steps.push_back({id, step, named[id.index()]}); };
  if (kind == ActionKind::Start) {
    for (const ServiceId id : with_requirements(graph, services)) add(id, Bringing::Start);
    return steps;
  }
  std::vector<ServiceId> down = with_dependents(graph, services);
  std::vector<bool> moved(graph.slots.size());
  std::vector<bool> follows(graph.slots.size());  // something that it needs is moved
  for (const ServiceId id : std::views::reverse(down)) {
    moved[id.index()] = named[id.index()] || takes_part(id);
    follows[id.index()] = std::ranges::any_of(graph.requirements[id.index()], [&](ServiceId needed) {
      return moved[needed.index()] || follows[needed.index()];
    });
  }
  std::erase_if(down, [&](ServiceId id) { return !moved[id.index()]; });
  const auto by_program = [&](ServiceId id) {
    return kind == ActionKind::Restart && named[id.index()] && graph.at(id).programs->restart.has_value();
  };
  for (const ServiceId id : down) {
    if (by_program(id) && !follows[id.index()])
      add(id, Bringing::Restart);
    else if (!by_program(id) || graph.at(id).programs->stop)
      add(id, Bringing::Stop);
  }
  if (kind == ActionKind::Stop) return steps;
  for (const ServiceId id : std::views::reverse(down)) {
    if (by_program(id) && !follows[id.index()]) continue;
    const ServiceBlock& block = graph.at(id);
    add(id, by_program(id) && !(block.programs->stop && block.programs->start) ? Bringing::Restart : Bringing::Start);
  }
  return steps;
}

bool starts_nothing(const Graph& graph, ServiceId service) {
  const ServiceBlock& block = graph.at(service);
  return !block.has_process() && !block.programs->start && !block.programs->restart &&
         graph.dependents[service.index()].empty();
}

const Rare<Command>& program_of(const ServiceBlock& block, Bringing kind) {
  switch (kind) {
    case Bringing::Stop: return block.programs->stop;
    case Bringing::Start:
      return block.programs->start || !block.has_process() ? block.programs->start : block.programs->restart;
    case Bringing::Restart: break;
  }
  return block.programs->restart;
}

Duration timeout_of(const ServiceBlock& block, Bringing kind, const Limits& limits) {
  const Rare<Command>& program = program_of(block, kind);
  if (program && program->timeout > Duration{0}) return program->timeout;
  return kind == Bringing::Stop    ? limits.stop_timeout
         : kind == Bringing::Start ? limits.start_timeout
                                   : limits.restart_timeout;
}

std::vector<std::uint32_t> clusters_of(const Graph& graph) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> cluster(graph.slots.size(), kNone);
  std::vector<ServiceId> open;
  for (const ServiceId first : graph.order) {
    if (cluster[first.index()] != kNone) continue;
    cluster[first.index()] = first.number();
    open.push_back(first);
    while (!open.empty()) {
      const ServiceId id = open.back();
      open.pop_back();
      for (const auto neighbours : {graph.requirements[id.index()], graph.dependents[id.index()]}) {
        for (const ServiceId neighbour : neighbours) {
          if (cluster[neighbour.index()] != kNone) continue;
          cluster[neighbour.index()] = first.number();
          open.push_back(neighbour);
        }
      }
    }
  }
  return cluster;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kMost) return text + fmt::format(" and {} more", names.size() - i);
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return text;
}

std::string describe_step(const Graph& graph, const JobStep& step) {
  return fmt::format("{} {}", verb(step.kind), graph.at(step.service).name);
}

}  // namespace healer::engine
