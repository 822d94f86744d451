// SPDX-License-Identifier: MIT
#include "engine/reload/diff.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/workflow.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

constexpr std::int32_t kNone = -1;

std::vector<RuleIdentity> identities(const ServiceBlock& block) {
  std::vector<RuleIdentity> all;
  all.reserve(block.rules.size());
  for (const Rule& rule : block.rules) all.push_back(rule.identity());
  return all;
}

std::vector<Hash128> keys(const ServiceBlock& block) {
  std::vector<Hash128> all;
  all.reserve(block.rules.size());
  for (const Rule& rule : block.rules) all.push_back(rule.key);
  return all;
}

/// The block, whose rules have the keys of those that they come from; a new rule never that of another.
std::shared_ptr<const ServiceBlock> with_keys(std::shared_ptr<const ServiceBlock> block,
                                              std::span<const std::int32_t> from, std::span<const Hash128> before) {
  std::vector<Hash128> wanted(block->rules.size());
  std::unordered_set<Hash128> taken(before.begin(), before.end());
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != kNone) {
      wanted[i] = before[static_cast<std::size_t>(from[i])];
      continue;
    }
    wanted[i] = block->rules[i].key;
    while (!taken.insert(wanted[i]).second) wanted[i] = hash128("another " + to_string(wanted[i]));
  }
  if (std::ranges::equal(wanted, block->rules, {}, {}, &Rule::key)) return block;
  auto copy = std::make_shared<ServiceBlock>(*block);
  for (std::size_t i = 0; i < wanted.size(); ++i) copy->rules[i].become(wanted[i]);
  return copy;
}

bool same_places(const ServiceBlock& a, const ServiceBlock& b) {
  return a.place == b.place && std::ranges::equal(a.rules, b.rules, {}, &Rule::place, &Rule::place);
}

}  // namespace

std::vector<std::int32_t> match_rules(std::span<const RuleIdentity> before, std::span<const RuleIdentity> after) {
  std::vector<std::int32_t> from(after.size(), kNone);
  std::vector<bool> taken(before.size());
  std::size_t left = after.size();
  const auto take = [&](std::size_t i, std::size_t j) {
    taken[j] = true;
    from[i] = static_cast<std::int32_t>(j);
    --left;
  };
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)  // most often all are as they were
    if (before[i].text == after[i].text) take(i, i);
  // Rules of the same words in the order of both; `words_of` none: it is like no other.
  const auto match = [&](const auto& words_of) {
    if (left == 0) return;
    struct Places {
      std::vector<std::size_t> all;
      std::size_t next = 0;
    };
    std::unordered_map<Hash128, Places> places;
    for (std::size_t j = 0; j < before.size(); ++j)
      if (const std::optional<Hash128> words = taken[j] ? std::nullopt : words_of(before[j]))
        places[*words].all.push_back(j);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const std::optional<Hash128> words = from[i] != kNone ? std::nullopt : words_of(after[i]);
      if (!words) continue;
      const auto found = places.find(*words);
      if (found != places.end() && found->second.next < found->second.all.size())
        take(i, found->second.all[found->second.next++]);
    }
  };
  const auto condition = [](const RuleIdentity& rule) {
    return rule.condition == Hash128{} ? std::nullopt : std::optional(rule.condition);
  };
  match([](const RuleIdentity& rule) { return std::optional(rule.text); });
  match([&](const RuleIdentity& rule) {
    std::optional<Hash128> words = condition(rule);
    if (words) words->low += static_cast<std::uint64_t>(rule.kind) + 1;
    return words;
  });
  match(condition);
  return from;
}

std::vector<RuleChange> rule_changes(const Graph& before, const SwapPlan& plan) {
  std::vector<RuleChange> changes;
  for (const SlotChange& change : plan.changes) {
    if (change.kind == SlotChange::Kind::Moved) continue;
    const ServiceBlock* const old =
        change.kind == SlotChange::Kind::Added ? nullptr : before.slots[change.service.index()].get();
    const ServiceBlock* const next = plan.graph->slots[change.service.index()].get();
    std::vector<bool> kept(old == nullptr ? 0 : old->rules.size());
    for (std::size_t i = 0; i < change.rules_from.size(); ++i) {
      const Rule& rule = next->rules[i];
      if (change.rules_from[i] == kNone) {
        changes.push_back({next->name, rule->text, RuleChange::Kind::New});
        continue;
      }
      const auto former = static_cast<std::size_t>(change.rules_from[i]);
      kept[former] = true;
      if (old->rules[former]->text != rule->text) changes.push_back({next->name, rule->text, RuleChange::Kind::Kept});
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!kept[i]) changes.push_back({old->name, old->rules[i]->text, RuleChange::Kind::Removed});
  }
  return changes;
}

std::shared_ptr<const Graph> with_saved_keys(std::shared_ptr<const Graph> graph,
                                             const std::unordered_map<std::string, SavedService>& saved) {
  std::shared_ptr<Graph> copy;
  for (const auto& [name, service] : saved) {
    const std::optional<ServiceId> id = graph->find(name);
    if (!id) continue;
    const auto& block = graph->slots[id->index()];
    if (block->name != name && saved.contains(block->name)) continue;
    std::vector<RuleIdentity> former;
    std::vector<Hash128> former_keys;
    for (const SavedRule& rule : service.rules) {
      former.push_back(rule.identity);
      former_keys.push_back(rule.key);
    }
    auto known = with_keys(block, match_rules(former, identities(*block)), former_keys);
    if (known == block) continue;
    if (!copy) copy = std::make_shared<Graph>(*graph);
    copy->slots[id->index()] = std::move(known);
  }
  return copy ? copy : graph;
}

SlotChange replaced(ServiceId id, const ServiceBlock& before, std::shared_ptr<const ServiceBlock>& next) {
  SlotChange change{id, SlotChange::Kind::Replaced, match_rules(identities(before), identities(*next))};
  next = with_keys(std::move(next), change.rules_from, keys(before));
  return change;
}

std::shared_ptr<const Graph> make_graph(RuleSet rules) { return plan_swap(Graph{}, std::move(rules))->graph; }

std::shared_ptr<const SwapPlan> plan_swap(const Graph& current, RuleSet next) {
  auto graph = std::make_shared<Graph>();
  auto plan = std::make_shared<SwapPlan>();
  graph->generation = current.generation + 1;
  graph->settings = next.settings == *current.settings ? current.settings
                                                       : std::make_shared<const Settings>(std::move(next.settings));
  graph->files = std::move(next.files);
  graph->slots.reserve(std::max(current.slots.size(), next.services.size()));
  graph->slots.resize(current.slots.size());
  graph->order.reserve(next.services.size());
  graph->workflows = std::move(next.workflows);
  graph->left_out = std::move(next.left_out);
  graph->lists = std::move(next.lists);
  const auto same_workflow = [](const auto& one, const auto& other) {
    return *one == *other && one->place == other->place;
  };
  plan->workflows_changed = !std::ranges::equal(graph->workflows, current.workflows, same_workflow);
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
      slot = before;
      if (moved) {
        std::vector<std::int32_t> same(before->rules.size());
        std::iota(same.begin(), same.end(), 0);
        slot = with_keys(std::move(block), same, keys(*before));
      }
      if (moved) plan->changes.push_back({*id, SlotChange::Kind::Moved, {}});
    } else {
      slot = std::move(block);
      plan->changes.push_back(replaced(*id, *before, slot));
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
  for (const auto& id : slot_of) graph->order.push_back(*id);
  graph->resolve_names();
  plan->graph = std::move(graph);
  return plan;
}

}  // namespace healer::engine
