// SPDX-License-Identifier: MIT
// What the rules say of targets: their services, their groups, and which must not be healed at the same time. Most
// services stand alone: each is its own target, in no group, and stands in no other's way. Of those nothing is kept,
// for the graph knows them by their names.
//
// Owns    the targets that do not stand alone, and the groups.
// Hears   that the rules have changed.
// Tells   nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/ids.hpp"

namespace healer::engine {

struct Graph;

class TargetIndex {
 public:
  struct Target {
    std::string name{};                   ///< in lower case
    std::vector<ServiceId> services{};    ///< in the order of the files
    std::vector<std::uint32_t> groups{};  ///< places in groups()
    std::set<std::string> conflicts{};  ///< others that must not be healed at the same time: what holds it, or shares a
                                        ///< member with it. In lower case
  };
  struct Group {
    std::string name{};                    ///< in lower case
    std::string written{};                 ///< the same as the rules have it
    std::vector<std::uint32_t> targets{};  ///< places in targets()
  };

  /// The services have changed: who is a target, and in which groups.
  void index(const Graph& graph);

  /// But those that stand alone.
  [[nodiscard]] const std::vector<Target>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<Group>& groups() const { return groups_; }
  /// How many targets there are, with those that stand alone.
  [[nodiscard]] std::size_t size() const { return targets_.size() + alone_; }
  /// Null: there is none of that name, or it stands alone.
  [[nodiscard]] const Target* find(std::string_view name) const;
  /// Its place in targets(); none: as find().
  [[nodiscard]] std::optional<std::uint32_t> place_of(std::string_view name) const;
  /// Its place in groups().
  [[nodiscard]] std::optional<std::uint32_t> place_of_group(std::string_view name) const;
  /// The target that a name means: one of that name, else the target of the service of that name.
  [[nodiscard]] std::string meant_by(const Graph& graph, const std::string& name) const;
  /// The services of a target, in the order of the files.
  [[nodiscard]] std::vector<ServiceId> services_of(const Graph& graph, std::string_view target) const;
  [[nodiscard]] bool is_in(std::string_view target, std::string_view group) const;
  /// A group in any case as the rules write it; as given, where they have none of that name.
  [[nodiscard]] std::string written(std::string_view group) const;

 private:
  std::vector<Target> targets_;
  std::size_t alone_ = 0;  // how many others there are
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::uint32_t> target_at_;  // by name, in lower case
  std::unordered_map<std::string, std::uint32_t> group_at_;
};

}  // namespace healer::engine
