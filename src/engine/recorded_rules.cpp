// SPDX-License-Identifier: MIT
#include "engine/recorded_rules.hpp"

#include <algorithm>
#include <utility>

#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

bool is_at(const Slots& slots, ServiceId id) { return id.index() < slots.size() && slots[id.index()]; }

/// Names everything anew that is known of the services in `slots`; `order` has some more of them.
void resolve(Graph& graph) {
  std::erase_if(graph.order, [&](ServiceId id) { return graph.slots[id.index()] == nullptr; });
  graph.by_name.clear();
  for (const ServiceId id : graph.order) graph.by_name.emplace(to_lower(graph.at(id).name), id);
  graph.requirements.assign(graph.slots.size(), {});
  graph.dependents.assign(graph.slots.size(), {});
  for (const ServiceId id : graph.order)
    for (const std::string& name : graph.at(id).depends)
      if (const auto needed = graph.find(name)) {
        graph.requirements[id.index()].push_back(*needed);
        graph.dependents[needed->index()].push_back(id);
      }
  resolve_members(graph);
  // One that is not there does not speak for this machine.
  std::erase_if(graph.settings.healing.only_while, [&](const std::string& name) { return !graph.find(name); });
}

/// What its rules ask to heal.
std::vector<const HealOrder*> orders_of(const ServiceBlock& block) {
  std::vector<const HealOrder*> orders;
  for (const Rule& rule : block.rules)
    for (const Action* action : {&rule.action, &rule.recovery.action})
      if (action->heal) orders.push_back(action->heal.get());
  return orders;
}

/// Its groups and its lists, in lower case; no group can be called as a list is here.
std::set<std::string> groups_of(const ServiceBlock& block) {
  std::set<std::string> names;
  for (const std::string& group : block.groups) names.insert(to_lower(group));
  if (block.row)
    for (const std::string& list : block.row->lists) names.insert("${" + to_lower(list) + "}");
  return names;
}

}  // namespace

std::shared_ptr<const Graph> narrowed(const Graph& all, const Slots& present) {
  auto graph = std::make_shared<Graph>(all);
  for (const ServiceId id : all.order)
    if (!is_at(present, id)) graph->slots[id.index()] = nullptr;
  resolve(*graph);
  return graph;
}

std::shared_ptr<const SwapPlan> plan_narrowed(const Graph& current, const Graph& all, const Slots& present,
                                              bool edited) {
  auto plan = std::make_shared<SwapPlan>();
  auto graph = std::make_shared<Graph>(all);
  graph->generation = current.generation + 1;
  for (const ServiceId id : all.order) {
    auto& slot = graph->slots[id.index()];
    const auto& before = current.slots[id.index()];
    if (!is_at(present, id)) {
      slot = nullptr;
      if (before) plan->changes.push_back({id, SlotChange::Kind::Removed, {}});
    } else if (before) {
      slot = before;
    } else {
      plan->changes.push_back({id, SlotChange::Kind::Added, std::vector<std::int32_t>(slot->rules.size(), -1)});
    }
  }
  resolve(*graph);
  plan->settings_changed = edited;
  plan->graph = std::move(graph);
  return plan;
}

Touched touched_by(const Graph& all, const Slots& left_out) {
  Touched touched;
  Slots reached(all.slots.size());
  std::vector<ServiceId> open;
  const auto reach = [&](ServiceId id) {
    if (reached[id.index()]) return;
    reached[id.index()] = true;
    open.push_back(id);
  };
  // What healings have in common with theirs: the target, a group, the places of a workflow, those of all.
  std::set<std::string> targets;
  std::set<std::string> groups;
  std::set<std::string> workflows;
  bool all_healings = false;
  for (const ServiceId id : all.order) {
    if (!is_at(left_out, id)) continue;
    const ServiceBlock& block = all.at(id);
    reach(id);
    targets.insert(to_lower(block.target()));
    groups.merge(groups_of(block));
    for (const HealOrder* const order : orders_of(block)) {
      workflows.insert(to_lower(order->workflow));
      if (!order->target.empty()) targets.insert(to_lower(order->target));
      all_healings = all_healings || !all.settings.healing.limits.empty();
    }
    all_healings = all_healings || std::ranges::any_of(all.settings.healing.only_while, [&](const std::string& name) {
                     return iequals(name, block.name);
                   });
  }
  if (open.empty()) return touched;
  while (!open.empty()) {
    const ServiceId id = open.back();
    open.pop_back();
    for (const ServiceId other : all.dependents[id.index()]) reach(other);
    for (const ServiceId other : all.owners[id.index()]) reach(other);
  }
  for (const ServiceId id : all.order) {
    const ServiceBlock& block = all.at(id);
    const std::string name = to_lower(block.name);
    if (reached[id.index()]) touched.wholly.insert(name);
    const bool shares =
        targets.contains(to_lower(block.target())) ||
        std::ranges::any_of(groups_of(block), [&](const std::string& group) { return groups.contains(group); }) ||
        std::ranges::any_of(orders_of(block), [&](const HealOrder* order) {
          return workflows.contains(to_lower(order->workflow)) || targets.contains(to_lower(order->target));
        });
    if (all_healings || shares) touched.healing.insert(name);
  }
  return touched;
}

}  // namespace healer::engine
