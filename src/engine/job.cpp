// SPDX-License-Identifier: MIT
#include "engine/job.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

namespace healer::engine {
namespace {

/// Depth first from `service` along `next`; a service comes after all that `next` leads to from it.
template <typename Next>
void visit(ServiceId service, const Next& next, std::vector<bool>& seen, std::vector<ServiceId>& out) {
  if (seen[service.index()]) return;
  seen[service.index()] = true;
  for (const ServiceId one : next(service)) visit(one, next, seen, out);
  out.push_back(service);
}

template <typename Next>
std::vector<ServiceId> reach(const Graph& graph, ServiceId service, const Next& next) {
  std::vector<bool> seen(graph.slots.size());
  std::vector<ServiceId> out;
  visit(service, next, seen, out);
  out.pop_back();  // itself
  return out;
}

}  // namespace

std::vector<ServiceId> requirements_of(const Graph& graph, ServiceId service) {
  return reach(graph, service, [&graph](ServiceId id) {
    std::vector<ServiceId> needed;
    for (const std::string& name : graph.at(id).depends)
      if (const auto found = graph.find(name)) needed.push_back(*found);
    return needed;
  });
}

std::vector<ServiceId> dependents_of(const Graph& graph, ServiceId service) {
  return reach(graph, service,
               [&graph](ServiceId id) -> const std::vector<ServiceId>& { return graph.dependents[id.index()]; });
}

std::vector<JobStep> plan_steps(const Graph& graph, ActionKind kind, ServiceId service,
                                const std::vector<bool>& takes_part) {
  using Kind = effect::SavedStep::Kind;
  std::vector<JobStep> steps;
  if (kind == ActionKind::Start) {
    for (const ServiceId needed : requirements_of(graph, service)) steps.push_back({needed, Kind::Start});
    steps.push_back({service, Kind::Start});
    return steps;
  }
  std::vector<ServiceId> dependents = dependents_of(graph, service);
  std::erase_if(dependents, [&](ServiceId id) { return !takes_part[id.index()]; });
  for (const ServiceId dependent : dependents) steps.push_back({dependent, Kind::Stop});
  if (kind == ActionKind::Stop) {
    steps.push_back({service, Kind::Stop});
    return steps;
  }
  if (graph.at(service).restart) {
    steps.push_back({service, Kind::Restart});
  } else {
    steps.push_back({service, Kind::Stop});
    steps.push_back({service, Kind::Start});
  }
  std::ranges::reverse(dependents);
  for (const ServiceId dependent : dependents) steps.push_back({dependent, Kind::Start});
  return steps;
}

std::string describe_step(const Graph& graph, const JobStep& step) {
  using Kind = effect::SavedStep::Kind;
  const std::string_view verb = step.kind == Kind::Stop ? "stop" : step.kind == Kind::Start ? "start" : "restart";
  return fmt::format("{} {}", verb, graph.at(step.service).name);
}

}  // namespace healer::engine
