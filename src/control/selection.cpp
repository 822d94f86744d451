// SPDX-License-Identifier: MIT
#include "control/selection.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/named.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::control {

using engine::Graph;
using engine::ServiceId;

namespace {

/// How many services are looked through for a name that was meant; with more the loop would be kept too long.
constexpr std::size_t kMaxCandidates = 10'000;

bool in_group(const engine::ServiceBlock& block, std::string_view group) {
  return std::ranges::any_of(block.groups, [&](const std::string& own) { return iequals(own, group); });
}

/// Services by what they are healed as: many are named at once.
class Targets {
 public:
  explicit Targets(const Graph& graph) : graph_(graph) {
    for (const ServiceId id : graph.order) services_[to_lower(graph.at(id).target())].push_back(&graph.at(id));
  }

  /// The service in whose name a target is healed; `with` a workflow that is named none needs to say how.
  [[nodiscard]] std::optional<ServiceId> to_heal(std::string_view name, bool with) const {
    const auto of_it = services_.find(to_lower(name));
    std::vector<const engine::ServiceBlock*> meant;
    if (of_it != services_.end()) meant = of_it->second;
    if (const auto service = graph_.find(name)) meant.push_back(&graph_.at(*service));
    const engine::ServiceBlock* const block = engine::block_to_heal(meant, name, with);
    return block == nullptr ? std::nullopt : graph_.find(block->name);
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string, std::vector<const engine::ServiceBlock*>> services_;  // by target, in lower case
};

}  // namespace

Failure unknown_service(const Graph& graph, std::string_view name) {
  std::vector<std::string_view> names;
  for (const ServiceId id : graph.order) {
    if (names.size() == kMaxCandidates) break;
    names.emplace_back(graph.at(id).name);
  }
  const std::string_view near = nearest_word(name, names);
  return {"unknown-service", fmt::format("there is no service \"{}\"", printable(name)),
          near.empty() ? "`healerctl summary` lists them" : fmt::format("did you mean \"{}\"?", near)};
}

Selection select(const Graph& graph, const Request& request, const std::vector<std::string>& known_groups) {
  if (request.all) return graph.order;
  std::optional<Targets> targets;
  if (request.verb == Verb::Heal) targets.emplace(graph);
  std::vector<ServiceId> named;
  std::set<ServiceId> chosen;
  for (const std::string& name : request.names) {
    const auto found = targets ? targets->to_heal(name, !request.workflow.empty()) : graph.find(name);
    if (!found) {
      Failure failure = unknown_service(graph, name);
      if (request.verb == Verb::Heal)
        failure.message = fmt::format("there is no target and no service \"{}\"", printable(name));
      return failure;
    }
    if (chosen.insert(*found).second) named.push_back(*found);
  }
  if (request.groups.empty()) return named;
  for (const std::string& group : request.groups) {
    bool any = std::ranges::any_of(known_groups, [&](const std::string& known) { return iequals(known, group); });
    for (const ServiceId id : graph.order) {
      if (!in_group(graph.at(id), group)) continue;
      any = true;
      chosen.insert(id);
    }
    if (!any)
      return Failure{"unknown-group", fmt::format("no service is in a group \"{}\"", printable(group)),
                     "`healerctl status` names the groups of each service"};
  }
  std::vector<ServiceId> services;
  std::ranges::copy_if(graph.order, std::back_inserter(services), [&](ServiceId id) { return chosen.contains(id); });
  return services;
}

}  // namespace healer::control
