// SPDX-License-Identifier: MIT
// Which services a composite is made of.
#include <algorithm>

#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// Once each: those that are named, in the order of writing, then those of the groups in that of the files.
std::vector<ServiceId> members_of(const Graph& graph, ServiceId composite) {
  const CompositeSpec& spec = graph.at(composite).other->composite;
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

void Graph::resolve_members() {
  std::vector<ServiceId> composites;
  std::vector<Adjacency::Edge> down;
  std::vector<Adjacency::Edge> up;
  for (const ServiceId id : order) {
    if (!at(id).has_members()) continue;
    composites.push_back(id);
    for (const ServiceId member : members_of(*this, id)) {
      down.emplace_back(id, member);
      up.emplace_back(member, id);
    }
  }
  members = Adjacency(slots.size(), down);
  owners = Adjacency(slots.size(), up);
  ranks.assign(slots.size(), 0);
  // Longest way up from services that are no composites: each round settles one more step of it. What is in a circle,
  // which the language refuses, is left at 0 with all that is made of it.
  std::vector<std::size_t> unsettled(slots.size());
  std::vector<ServiceId> ready;
  for (const ServiceId id : composites) {
    unsettled[id.index()] = static_cast<std::size_t>(
        std::ranges::count_if(members[id.index()], [&](ServiceId member) { return at(member).has_members(); }));
    if (unsettled[id.index()] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    const ServiceId id = ready.back();
    ready.pop_back();
    std::uint32_t highest = 0;
    for (const ServiceId member : members[id.index()]) highest = std::max(highest, ranks[member.index()]);
    ranks[id.index()] = highest + 1;
    for (const ServiceId owner : owners[id.index()])
      if (--unsettled[owner.index()] == 0) ready.push_back(owner);
  }
}

}  // namespace healer::engine
