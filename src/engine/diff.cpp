// SPDX-License-Identifier: MIT
#include "engine/diff.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "util/text.hpp"

namespace healer::engine {
namespace {

std::vector<std::int32_t> match_rules(const ServiceBlock& before, const ServiceBlock& after) {
  std::unordered_map<Hash128, std::int32_t> old;
  for (std::size_t i = 0; i < before.rules.size(); ++i) old.emplace(before.rules[i].key, static_cast<std::int32_t>(i));
  std::vector<std::int32_t> from;
  from.reserve(after.rules.size());
  for (const Rule& rule : after.rules) {
    const auto found = old.find(rule.key);
    from.push_back(found == old.end() ? -1 : found->second);
  }
  return from;
}

bool same_places(const ServiceBlock& a, const ServiceBlock& b) {
  return a.place == b.place && std::ranges::equal(a.rules, b.rules, {}, &Rule::place, &Rule::place);
}

}  // namespace

std::shared_ptr<const Graph> make_graph(RuleSet rules) { return plan_swap(Graph{}, std::move(rules))->graph; }

std::shared_ptr<const SwapPlan> plan_swap(const Graph& current, RuleSet next) {
  auto graph = std::make_shared<Graph>();
  auto plan = std::make_shared<SwapPlan>();
  graph->generation = current.generation + 1;
  graph->settings = std::move(next.settings);
  graph->files = std::move(next.files);
  graph->slots.resize(current.slots.size());
  graph->order.reserve(next.services.size());
  plan->settings_changed = graph->settings != current.settings;
  const bool files_changed = graph->files != current.files;

  // Names that stay keep their slots; the others fill free ones once it is known which are free.
  std::vector<std::size_t> added;
  std::vector<std::optional<ServiceId>> slot_of(next.services.size());
  for (std::size_t i = 0; i < next.services.size(); ++i) {
    auto& block = next.services[i];
    const std::optional<ServiceId> id = current.find(block->name);
    if (!id) {
      added.push_back(i);
      continue;
    }
    slot_of[i] = id;
    const auto& before = current.slots[id->index()];
    auto& slot = graph->slots[id->index()];
    if (before->key == block->key && before->name == block->name) {
      const bool moved = files_changed || !same_places(*before, *block);
      slot = moved ? std::move(block) : before;
      if (moved) plan->changes.push_back({*id, SlotChange::Kind::Moved, {}});
    } else {
      plan->changes.push_back({*id, SlotChange::Kind::Replaced, match_rules(*before, *block)});
      slot = std::move(block);
    }
  }
  for (std::size_t i = 0; i < graph->slots.size(); ++i)
    if (current.slots[i] && !graph->slots[i])
      plan->changes.push_back({ServiceId{static_cast<std::uint32_t>(i)}, SlotChange::Kind::Removed, {}});

  // A slot that was freed just now is used again only by the next generation: one slot, one change.
  std::size_t free = 0;
  for (const std::size_t i : added) {
    while (free < current.slots.size() && current.slots[free]) ++free;
    const ServiceId id{static_cast<std::uint32_t>(free < current.slots.size() ? free++ : graph->slots.size())};
    if (id.index() >= graph->slots.size()) graph->slots.emplace_back();
    graph->slots[id.index()] = std::move(next.services[i]);
    slot_of[i] = id;
    plan->changes.push_back(
        {id, SlotChange::Kind::Added, std::vector<std::int32_t>(graph->slots[id.index()]->rules.size(), -1)});
  }
  graph->by_name.reserve(slot_of.size());
  for (const auto& id : slot_of) {
    graph->order.push_back(*id);
    graph->by_name.emplace(to_lower(graph->at(*id).name), *id);
  }
  graph->requirements.resize(graph->slots.size());
  graph->dependents.resize(graph->slots.size());
  for (const ServiceId id : graph->order) {
    for (const std::string& name : graph->at(id).depends) {
      const auto needed = graph->find(name);
      if (!needed) continue;
      graph->requirements[id.index()].push_back(*needed);
      graph->dependents[needed->index()].push_back(id);
    }
  }
  plan->graph = std::move(graph);
  return plan;
}

}  // namespace healer::engine
