// SPDX-License-Identifier: MIT
#include "replay/recorded_rules.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/workflow.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

bool is_at(const Slots& slots, ServiceId id) { return id.index() < slots.size() && slots[id.index()]; }

/// Names everything anew that is known of the services in `slots`; `order` has some more of them.
void resolve(Graph& graph) {
  std::erase_if(graph.order, [&](ServiceId id) { return graph.slots[id.index()] == nullptr; });
  graph.resolve_names();
  // One that is not there does not speak for this machine.
  auto settings = std::make_shared<Settings>(*graph.settings);
  std::erase_if(settings->healing.only_while, [&](const std::string& name) { return !graph.find(name); });
  graph.settings = std::move(settings);
}

/// Of rules, or graphs.
bool same_workflows(const auto& one, const auto& other) {
  return std::ranges::equal(one.workflows, other.workflows, [](const auto& a, const auto& b) { return *a == *b; });
}

std::set<std::string> names_of(const RuleSet& rules) {
  std::set<std::string> names;
  for (const auto& block : rules.services) names.insert(to_lower(block->name));
  return names;
}

/// `rules` in the slots of `all`, which has all of their services.
std::shared_ptr<const Graph> placed(const Graph& all, const RuleSet& rules) {
  auto graph = std::make_shared<Graph>();
  graph->generation = all.generation;
  graph->settings = std::make_shared<const Settings>(rules.settings);
  graph->files = rules.files;
  graph->workflows = rules.workflows;
  graph->lists = rules.lists;
  graph->slots.resize(all.slots.size());
  for (const auto& block : rules.services) {
    const ServiceId id = *all.find(block->name);
    const auto& known = all.slots[id.index()];
    // What says the same is the same, whatever its place: nothing of it changes.
    graph->slots[id.index()] = known->key == block->key && known->name == block->name ? known : block;
    graph->order.push_back(id);
  }
  resolve(*graph);
  return graph;
}

}  // namespace

PlayedRules played_rules(const RuleSet& rules, const std::vector<DayRules>& day, bool throughout) {
  using Block = std::shared_ptr<const ServiceBlock>;
  const bool follows = !throughout && !day.empty();
  // By names in lower case: as it was last on that day.
  std::unordered_map<std::string, Block> last;
  if (follows)
    for (const DayRules& one : day)
      for (const Block& block : one.rules.services) last[to_lower(block->name)] = block;
  std::unordered_map<std::string, Block> asked;
  for (const Block& block : rules.services) asked.emplace(to_lower(block->name), block);
  const std::set<std::string> at_last = follows ? names_of(day.back().rules) : std::set<std::string>{};
  const auto is_followed = [&](const std::string& name) {
    const auto then = last.find(name);
    if (then == last.end()) return false;
    const auto now = asked.find(name);
    // A reload of that day has taken it away; these rules have nothing to do with that.
    if (now == asked.end()) return !at_last.contains(name);
    return now->second->key == then->second->key && now->second->name == then->second->name;
  };

  const auto as_played = [&](const RuleSet& then) {
    RuleSet played = rules;
    if (rules.settings == day.back().rules.settings) played.settings = then.settings;
    if (same_workflows(rules, day.back().rules)) played.workflows = then.workflows;
    std::unordered_map<std::string, Block> there;
    for (const Block& block : then.services) there.emplace(to_lower(block->name), block);
    played.lists.insert(played.lists.end(), then.lists.begin(), then.lists.end());
    played.services.clear();
    // In the order of that time: whatever comes later in the rules comes after it.
    for (const Block& block : then.services) {
      const std::string name = to_lower(block->name);
      if (is_followed(name))
        played.services.push_back(block);
      else if (const auto own = asked.find(name); own != asked.end())
        played.services.push_back(own->second);
    }
    for (const Block& block : rules.services)
      if (!there.contains(to_lower(block->name))) played.services.push_back(block);
    return played;
  };

  std::vector<RuleSet> by_text;
  for (const DayRules& one : day) by_text.push_back(follows ? as_played(one.rules) : rules);
  RuleSet all = rules;
  std::unordered_set<std::string> known;
  for (const auto& [name, block] : asked) known.insert(name);
  for (auto set = by_text.rbegin(); set != by_text.rend(); ++set)
    for (const Block& block : set->services)
      if (known.insert(to_lower(block->name)).second) all.services.push_back(block);
  PlayedRules played{.all = make_graph(std::move(all)), .by_text = {}, .asked = nullptr};
  played.asked = placed(*played.all, rules);
  for (std::size_t i = 0; i < by_text.size(); ++i)
    played.by_text.push_back(follows ? placed(*played.all, by_text[i]) : played.asked);
  return played;
}

std::vector<std::string> edited_between(const RuleSet& before, const RuleSet& after) {
  std::unordered_map<std::string, Hash128> keys;
  for (const auto& block : before.services) keys.emplace(to_lower(block->name), block->key);
  std::vector<std::string> names;
  for (const auto& block : after.services)
    if (const auto then = keys.find(to_lower(block->name)); then != keys.end() && then->second != block->key)
      names.push_back(block->name);
  return names;
}

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
  for (std::uint32_t at = 0; at < all.slots.size(); ++at) {
    const ServiceId id{at};
    auto& slot = graph->slots[id.index()];
    const auto& before = current.slots[id.index()];
    if (!slot || !is_at(present, id)) {
      slot = nullptr;
      if (before) plan->changes.push_back({id, SlotChange::Kind::Removed, {}});
    } else if (before && slot && (before->key == slot->key && before->name == slot->name)) {
      slot = before;
    } else if (before && slot) {
      plan->changes.push_back(replaced(id, *before, slot));
    } else if (slot) {
      plan->changes.push_back({id, SlotChange::Kind::Added, std::vector<std::int32_t>(slot->rules.size(), -1)});
    }
  }
  resolve(*graph);
  plan->settings_changed = edited;
  plan->workflows_changed = !same_workflows(*graph, current);
  plan->graph = std::move(graph);
  return plan;
}

std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t kMost = 8;
  if (names.size() > kMost) {
    const std::size_t more = names.size() - kMost;
    names.resize(kMost);
    names.push_back(fmt::format("{} more", more));
  }
  return join_words(names, "and");
}

}  // namespace healer::engine
