// SPDX-License-Identifier: MIT
// Interface to the keeper of a simulation's lists, which loads the rules with their rows: the engine knows neither.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule_set.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

class ListKeeper {
 public:
  virtual ~ListKeeper() = default;

  struct Message {
    std::string text;
    bool alerts = false;  ///< people are told, too
  };
  /// What has come of something.
  struct Changes {
    std::vector<Message> messages{};
    std::optional<RuleSet> rules{};  ///< other rows are in force, and these are the rules then; none: nothing is new
    std::string errors{};            ///< why the rules cannot be loaded with the rows that are in force
    std::string refused{};           ///< why nothing was done that a person has asked for
  };

  struct Interval {
    std::string name;  ///< of the variable, as rows know their list
    Duration every{0};
    Hash128 key{};  ///< as ListedSpec::list
  };
  /// All lists, in the order of their numbers.
  [[nodiscard]] virtual std::vector<Interval> lists() const = 0;
  /// From now on a list says what the list statement of that number says; readings find it.
  virtual void change(std::size_t statement) = 0;
  /// The list is read. `failed`, `in_repair`: its rows, in lower case, of which a service stands failed, and that are
  /// being healed.
  virtual Changes read(std::size_t list, const std::set<std::string>& failed, const std::set<std::string>& in_repair,
                       WallTime now) = 0;
  /// Since when the list has a row of that name; none: its last reading did not have it, or has failed.
  [[nodiscard]] virtual std::optional<WallTime> has_row(std::size_t list, std::string_view row) const = 0;
  /// Some service has recovered: as ListMemory::see() of a list. Whether that changes what is doubted.
  virtual bool see(std::size_t list, const std::set<std::string>& failed, const std::set<std::string>& in_repair) = 0;
  /// A person's words.
  virtual Changes accept(std::string_view list) = 0;
  virtual Changes forget(std::string_view row) = 0;
  /// The lists that are not believed, and rows that are not healed if they fail now.
  [[nodiscard]] virtual event::ListsDoubted doubted() const = 0;
};

}  // namespace healer::engine
