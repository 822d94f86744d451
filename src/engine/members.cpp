// SPDX-License-Identifier: MIT
// Which services a composite is made of.
#include <algorithm>

#include "engine/graph.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// Once each: those that are named, in the order of writing, then those of the groups in that of the files.
std::vector<ServiceId> members_of(const Graph& graph, ServiceId composite) {
  const CompositeSpec& spec = graph.at(composite).composite;
  std::vector<ServiceId> members;
  std::vector<bool> taken(graph.slots.size());
  taken[composite.index()] = true;
  const auto add = [&](ServiceId id) {
    if (!taken[id.index()]) members.push_back(id);
    taken[id.index()] = true;
  };
  for (const std::string& name : spec.members)
    if (const auto id = graph.find(name)) add(*id);
  const auto is_wanted = [&](const std::string& group) {
    return std::ranges::any_of(spec.groups, [&](const std::string& wanted) { return iequals(wanted, group); });
  };
  if (!spec.groups.empty())
    for (const ServiceId id : graph.order)
      if (std::ranges::any_of(graph.at(id).groups, is_wanted)) add(id);
  return members;
}

}  // namespace

void resolve_members(Graph& graph) {
  graph.members.assign(graph.slots.size(), {});
  graph.owners.assign(graph.slots.size(), {});
  graph.ranks.assign(graph.slots.size(), 0);
  std::vector<ServiceId> composites;
  for (const ServiceId id : graph.order) {
    if (!graph.at(id).has_members()) continue;
    composites.push_back(id);
    graph.members[id.index()] = members_of(graph, id);
    for (const ServiceId member : graph.members[id.index()]) graph.owners[member.index()].push_back(id);
  }
  // Longest way up from services that are no composites: each round settles one more step of it. What is in a circle,
  // which the language refuses, is left at 0 with all that is made of it.
  std::vector<std::size_t> unsettled(graph.slots.size());
  std::vector<ServiceId> ready;
  for (const ServiceId id : composites) {
    unsettled[id.index()] = static_cast<std::size_t>(std::ranges::count_if(
        graph.members[id.index()], [&](ServiceId member) { return graph.at(member).has_members(); }));
    if (unsettled[id.index()] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const ServiceId id = ready.back();
    ready.pop_back();
    std::uint32_t highest = 0;
    for (const ServiceId member : graph.members[id.index()]) highest = std::max(highest, graph.ranks[member.index()]);
    graph.ranks[id.index()] = highest + 1;
    for (const ServiceId owner : graph.owners[id.index()])
      if (--unsettled[owner.index()] == 0) ready.push_back(owner);
  }
}

}  // namespace healer::engine
