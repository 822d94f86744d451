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
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/ids.hpp"

namespace healer::engine {

struct ServiceBlock;
struct Settings;
struct Workflow;

/// What holds where no `set` statement says otherwise.
[[nodiscard]] std::shared_ptr<const Settings> default_settings();

/// One generation. Slots are stable: a service keeps its slot (its ServiceId) as long as its name lives.
struct Graph {
  Generation generation = 0;
  std::shared_ptr<const Settings> settings = default_settings();  ///< never null
  std::vector<std::string> files;
  std::vector<std::shared_ptr<const ServiceBlock>> slots;  ///< null: free
  std::vector<ServiceId> order;                            ///< in the order of the files
  std::vector<std::vector<ServiceId>> requirements;        ///< by slot: those that it depends on, directly
  std::vector<std::vector<ServiceId>> dependents;          ///< by slot: those that depend on it, directly
  std::vector<std::vector<ServiceId>> members;             ///< by slot: of a composite, those that it is made of
  std::vector<std::vector<ServiceId>> owners;              ///< by slot: the composites that it is a member of
  std::vector<std::uint32_t> ranks;                        ///< by slot: of a composite more than of any member; else 0
  std::unordered_map<std::string, ServiceId> by_name;      ///< lower-case names
  std::vector<std::shared_ptr<const Workflow>> workflows;  ///< in the order of the files

  /// The service of that name (any case), if it exists.
  [[nodiscard]] std::optional<ServiceId> find(std::string_view name) const;
  /// The workflow of that name (any case); null: there is none.
  [[nodiscard]] std::shared_ptr<const Workflow> workflow(std::string_view name) const;
  [[nodiscard]] const ServiceBlock& at(ServiceId id) const { return *slots[id.index()]; }
};

/// Fills `members`, `owners` and `ranks` from what is written; requires the rest. A name that is none is left out.
void resolve_members(Graph& graph);

}  // namespace healer::engine
