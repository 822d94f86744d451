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
#include "engine/job.hpp"
#include "engine/rules/service.hpp"
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

  /// The services of a target, in their order.
  [[nodiscard]] std::vector<ServiceId> of(std::string_view name) const {
    std::vector<ServiceId> all;
    const auto found = services_.find(to_lower(name));
    if (found == services_.end()) return all;
    for (const engine::ServiceBlock* block : found->second)
      if (const auto id = graph_.find(block->name)) all.push_back(*id);
    return all;
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string, std::vector<const engine::ServiceBlock*>> services_;  // by target, in lower case
};

}  // namespace

Failure unknown_service(const Graph& graph, std::string_view name) {
  const std::string what = fmt::format("there is no service \"{}\"", printable(name));
  if (iequals(name, "group")) return {"unknown-service", what, "a group is named by -g, as in: -g nodes"};
  if (std::ranges::any_of(graph.order, [&](ServiceId id) { return in_group(graph.at(id), name); }))
    return {"unknown-service", what, fmt::format("it is a group, which is named by -g: -g {}", printable(name))};
  std::vector<std::string_view> names;
  for (const ServiceId id : graph.order) {
    if (names.size() >= kMaxCandidates) break;
    const engine::ServiceBlock& block = graph.at(id);
    names.emplace_back(block.name);
    if (!iequals(block.target(), block.name)) names.emplace_back(block.target());
  }
  const std::string_view near = nearest_word(name, names);
  return {"unknown-service", what,
          near.empty() ? "`healerctl summary` lists them" : fmt::format("did you mean \"{}\"?", near)};
}

namespace {

/// Whether a target may be named, which stands for all its services. What starts or stops one is to be named itself.
bool takes_targets(Verb verb) { return verb != Verb::Start && verb != Verb::Stop && verb != Verb::Restart; }

Failure only_target(const Graph& graph, std::string_view name, const std::vector<ServiceId>& services) {
  std::vector<std::string> names;
  for (const ServiceId id : services) names.push_back(graph.at(id).name);
  return {"unknown-service",
          fmt::format("there is no service \"{}\"; it is what {} {} healed as", printable(name), engine::listed(names),
                      names.size() == 1 ? "is" : "are"),
          "name the service"};
}

}  // namespace

std::vector<ServiceId> services_of_target(const Graph& graph, std::string_view name) { return Targets(graph).of(name); }

std::vector<ServiceId> services_of_group(const Graph& graph, std::string_view name) {
  std::vector<ServiceId> all;
  std::ranges::copy_if(graph.order, std::back_inserter(all),
                       [&](ServiceId id) { return in_group(graph.at(id), name); });
  return all;
}

Selection select(const Graph& graph, const Request& request, const std::vector<std::string>& known_groups) {
  if (request.all) return graph.order;
  std::optional<Targets> targets;
  if (request.verb == Verb::Heal) targets.emplace(graph);
  std::vector<ServiceId> named;
  std::set<ServiceId> chosen;
  for (const std::string& name : request.names) {
    const auto found =
        request.verb == Verb::Heal ? targets->to_heal(name, !request.workflow.empty()) : graph.find(name);
    if (!found && request.verb != Verb::Heal) {
      if (!targets) targets.emplace(graph);
      const std::vector<ServiceId> of_it = targets->of(name);
      if (!of_it.empty() && !takes_targets(request.verb)) return only_target(graph, name, of_it);
      for (const ServiceId id : of_it)
        if (chosen.insert(id).second) named.push_back(id);
      if (!of_it.empty()) continue;
    }
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
