// SPDX-License-Identifier: MIT
// The rule graph: what the rules files mean, ready to be judged. The language (config/) builds it, the engine reads it.
//
// Everything here is plain and immutable once built: a Graph is a generation, shared by pointer; a service whose text
// did not change is the same ServiceBlock object in the next generation. No text of the rules file is needed any more,
// but every service and rule knows its place in it, so that `healerctl explain` can point at the line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/ids.hpp"
#include "engine/rules/left_out.hpp"

namespace healer::engine {

struct ServiceBlock;
struct Settings;
struct Workflow;

/// What holds where no `set` statement says otherwise.
[[nodiscard]] std::shared_ptr<const Settings> default_settings();

/// Which services each service leads to.
class Adjacency {
 public:
  using Edge = std::pair<ServiceId, ServiceId>;  ///< from one to another

  Adjacency() = default;
  /// Those that one leads to keep the order in which they are given.
  Adjacency(std::size_t slots, const std::vector<Edge>& edges);
  /// Those that the one of this slot leads to; none, where there is no such slot. Valid as long as this is.
  [[nodiscard]] std::span<const ServiceId> operator[](std::size_t slot) const {
    if (slot + 1 >= begins_.size()) return {};
    return std::span(ids_).subspan(begins_[slot], begins_[slot + 1] - begins_[slot]);
  }

 private:
  std::vector<std::uint32_t> begins_;  ///< by slot, into `ids_`, and where the last ends; empty: there are no edges
  std::vector<ServiceId> ids_;
};

/// One generation. Slots are stable: a service keeps its slot (its ServiceId) as long as its name lives.
struct Graph {
  Generation generation = 0;
  std::shared_ptr<const Settings> settings = default_settings();  ///< never null
  std::vector<std::string> files;
  std::vector<std::shared_ptr<const ServiceBlock>> slots;  ///< null: free
  std::vector<ServiceId> order;                            ///< in the order of the files
  Adjacency requirements;                                  ///< by slot: those that it depends on, directly
  Adjacency dependents;                                    ///< by slot: those that depend on it, directly
  Adjacency members;                                       ///< by slot: of a composite, those that it is made of
  Adjacency owners;                                        ///< by slot: the composites that it is a member of
  std::vector<std::uint32_t> ranks;                        ///< by slot: of a composite more than of any member; else 0
  std::vector<std::shared_ptr<const Workflow>> workflows;  ///< in the order of the files
  LeftOut left_out;                                        ///< what lists have, and `slots` have not now
  std::vector<std::string> lists;                          ///< variables whose rows commands and files say

  /// The service of that name (any case), if it exists.
  [[nodiscard]] std::optional<ServiceId> find(std::string_view name) const;
  /// The workflow of that name (any case); null: there is none.
  [[nodiscard]] std::shared_ptr<const Workflow> workflow(std::string_view name) const;
  /// Whether rows of that variable come from a command or a file.
  [[nodiscard]] bool reads(std::string_view list) const;
  [[nodiscard]] const ServiceBlock& at(ServiceId id) const { return *slots[id.index()]; }
  /// Null: there is no such service, or none any more.
  [[nodiscard]] const ServiceBlock* block(ServiceId id) const {
    return id.index() < slots.size() ? slots[id.index()].get() : nullptr;
  }
  /// Finds out, from `slots` and `order`, which services the names in them mean. A name that is none is left out.
  void resolve_names();

 private:
  void index_names();
  void resolve_members();

  /// A hash table of open addresses, twice as large as needed or more: by the name in lower case its service, or
  /// kNoService.
  std::vector<ServiceId> by_name_;
};

}  // namespace healer::engine
