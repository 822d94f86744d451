// SPDX-License-Identifier: MIT
// From one generation of the graph to the next. The difference is computed off the loop (it is pure) and applied on it,
// in time proportional to what changed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/rules/graph.hpp"
#include "engine/state.hpp"

namespace healer::engine {

struct RuleSet;

/// What happens to one slot.
struct SlotChange {
  enum class Kind : std::uint8_t {
    Added,
    Removed,
    Replaced,  ///< the same name says something else: state is kept by rule, as `rules_from` says
    Moved      ///< says the same at another place of the files: all state is kept
  };
  ServiceId service;
  Kind kind = Kind::Added;
  std::vector<std::int32_t>
      rules_from;  ///< for each rule of the new block the index of the same rule in the old, or -1
};

struct SwapPlan {
  std::shared_ptr<const Graph> graph;
  std::vector<SlotChange> changes;
  bool settings_changed = false;
  bool workflows_changed = false;  ///< one was added, edited, moved or taken away

  [[nodiscard]] bool empty() const { return changes.empty() && !settings_changed && !workflows_changed; }
};

/// For each rule of `after` the index of the same one in `before`, or -1. A rule is known by its condition: where
/// several have the same, those of equal text first, then those with the same kind of action, then by their order.
[[nodiscard]] std::vector<std::int32_t> match_rules(std::span<const RuleIdentity> before,
                                                    std::span<const RuleIdentity> after);

/// What a reload makes of one rule of a service that says something else now.
struct RuleChange {
  enum class Kind : std::uint8_t {
    Kept,    ///< edited: what it has counted, and whether it stands failed, is kept
    New,     ///< starts over
    Removed  ///< gone, with all that it has counted
  };
  std::string service;
  std::string text;  ///< canonical; of a removed one as it was
  Kind kind = Kind::New;

  bool operator==(const RuleChange&) const = default;
};

/// All changes of rules that the plan makes to `before`, service by service; rules that are as they were are left out.
[[nodiscard]] std::vector<RuleChange> rule_changes(const Graph& before, const SwapPlan& plan);

/// The same graph, in which rules that were saved have the keys that they had.
[[nodiscard]] std::shared_ptr<const Graph> with_saved_keys(std::shared_ptr<const Graph> graph,
                                                           const std::unordered_map<std::string, SavedService>& saved);

/// What it means for a service that `next`, which gets the keys of the rules that it has kept, takes its place.
[[nodiscard]] SlotChange replaced(ServiceId id, const ServiceBlock& before, std::shared_ptr<const ServiceBlock>& next);

/// The first generation.
[[nodiscard]] std::shared_ptr<const Graph> make_graph(RuleSet rules);

/// The generation after `current`: names keep their slots, blocks that say the same are shared.
[[nodiscard]] std::shared_ptr<const SwapPlan> plan_swap(const Graph& current, RuleSet next);

}  // namespace healer::engine
