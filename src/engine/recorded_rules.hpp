// SPDX-License-Identifier: MIT
// Private to the replay: rules of which some services were not there at a time of the recording. Such a service is no
// part of anything then: of no group, no share, no brake. All graphs here have the slots of the whole rules.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/diff.hpp"
#include "engine/graph.hpp"

namespace healer::engine {

/// By slot.
using Slots = std::vector<bool>;

/// `all`, with these services alone.
[[nodiscard]] std::shared_ptr<const Graph> narrowed(const Graph& all, const Slots& present);

/// From `current`, which has some of the services of `all`, to those that are `present`; `edited`: the reload of that
/// time has changed something, whatever that was.
[[nodiscard]] std::shared_ptr<const SwapPlan> plan_narrowed(const Graph& current, const Graph& all,
                                                            const Slots& present, bool edited);

/// Whom services could have touched that are left out, by names in lower case.
struct Touched {
  std::set<std::string> wholly;   ///< depend on one, or are made of one
  std::set<std::string> healing;  ///< their healings: in a group with one, healed with what it would be healed with
};
[[nodiscard]] Touched touched_by(const Graph& all, const Slots& left_out);

}  // namespace healer::engine
