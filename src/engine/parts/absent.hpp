// SPDX-License-Identifier: MIT
// Services that their lists have, and the rules have not now: a row that does not compile, a list that cannot be used.
// What is known of them stays until they come back, or leave their lists.
//
// Owns    what was saved of them.
// Hears   what the rules have and had: at the start, at a reload.
// Tells   nothing.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct Row;
struct ServiceBlock;
struct Turn;

class AbsentServices {
 public:
  /// Requires: `graph`, the rules in force, outlives it.
  explicit AbsentServices(const std::shared_ptr<const Graph>& graph) : graph_(graph) {}

  // ---- view
  [[nodiscard]] bool contains(const std::string& name) const { return all_.contains(name); }
  /// Rows of a list with this variable, in lower case, that are left out of the rules, and of which a service stood
  /// failed then.
  [[nodiscard]] std::set<std::string> failed_rows(const std::string& list) const;
  /// Whether the rules do without it only as long as its row, or its list, is left out. While a list is not known that
  /// may be any: a service is the same one however its list is written.
  [[nodiscard]] bool is_left_out(const ServiceBlock& block) const;
  /// `graph`, where the rules of those who come back have the keys that they had.
  [[nodiscard]] std::shared_ptr<const Graph> with_known_keys(std::shared_ptr<const Graph> graph) const;

  // ---- what it hears
  /// What was saved of services that are not in the rules stays where a list is left out: it may be theirs.
  void restore(const std::unordered_map<std::string, SavedService>& saved);
  void keep(const ServiceBlock& block, SavedService saved);
  /// What was known of one that comes back.
  [[nodiscard]] std::optional<SavedService> take(const std::string& name);
  /// Those that have left their lists are forgotten.
  void forget(Turn& turn);
  /// As Pauses::carry().
  void carry_pauses(WallTime seen, Turn& turn);

 private:
  struct Absent {
    SavedService saved;
    std::shared_ptr<const Row> row{};  // null: it is none's, or none is known
    bool found = false;                // in the state: whose row it is, if any, nobody knows
  };

  const std::shared_ptr<const Graph>& graph_;
  std::map<std::string, Absent> all_;  // by name, as written
};

}  // namespace healer::engine
