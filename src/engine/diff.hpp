// SPDX-License-Identifier: MIT
// From one generation of the graph to the next. The difference is computed off the loop (it is pure) and applied on it,
// in time proportional to what changed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/graph.hpp"

namespace healer::engine {

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

  [[nodiscard]] bool empty() const { return changes.empty() && !settings_changed; }
};

/// The first generation.
[[nodiscard]] std::shared_ptr<const Graph> make_graph(RuleSet rules);

/// The generation after `current`: names keep their slots, blocks that say the same are shared.
[[nodiscard]] std::shared_ptr<const SwapPlan> plan_swap(const Graph& current, RuleSet next);

}  // namespace healer::engine
