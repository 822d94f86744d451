// SPDX-License-Identifier: MIT
// Private to the replay: rules of which some services were not there at a time of the recording. Such a service is no
// part of anything then: of no group, no share, no brake. All graphs here have the slots of the whole rules.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/reload/diff.hpp"
#include "engine/rules/graph.hpp"
#include "replay/replay.hpp"

namespace healer::engine {

struct RuleSet;

/// By slot.
using Slots = std::vector<bool>;

/// What a replay plays: the rules that it is asked for, or those of each time.
struct PlayedRules {
  std::shared_ptr<const Graph> all;                   ///< all services of all of them, as they were last
  std::vector<std::shared_ptr<const Graph>> by_text;  ///< by TextNumber
  std::shared_ptr<const Graph> asked;                 ///< where no text is recorded
};

/// `rules`, over a day with rules of its own. What says the same in `rules` as it said at last on that day is played as
/// it was at each time; what says something else is played as `rules` have it, all the time. `throughout`: all is.
[[nodiscard]] PlayedRules played_rules(const RuleSet& rules, const std::vector<DayRules>& day, bool throughout);

/// The services that both have, but not alike.
[[nodiscard]] std::vector<std::string> edited_between(const RuleSet& before, const RuleSet& after);

/// `all`, with these services alone.
[[nodiscard]] std::shared_ptr<const Graph> narrowed(const Graph& all, const Slots& present);

/// From `current`, which has some of the services, to those of `all` that are `present`; `edited`: the reload of that
/// time has changed something, whatever that was.
[[nodiscard]] std::shared_ptr<const SwapPlan> plan_narrowed(const Graph& current, const Graph& all,
                                                            const Slots& present, bool edited);

/// Whom services could have touched that are left out, directly or through others, by names in lower case.
struct Touched {
  std::set<std::string> wholly;   ///< depend on one, are made of one, are started and stopped with one
  std::set<std::string> healing;  ///< their healings: counts, limits and targets that they share with one
};
[[nodiscard]] Touched touched_by(const Graph& all, const Slots& left_out);

/// "a, b and 3 more": so many that they can be read.
[[nodiscard]] std::string some_of(std::vector<std::string> names);

}  // namespace healer::engine
