// SPDX-License-Identifier: MIT
#include "engine/rules/graph.hpp"

#include <algorithm>
#include <bit>

#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/rules/workflow.hpp"
#include "util/hash.hpp"
#include "util/text.hpp"

template class healer::Shared<healer::engine::RuleBody>;

namespace healer::engine {

namespace {

/// Where a name is looked for first in a table of that size.
std::size_t place_of(std::string_view name, std::size_t size) { return hash128(to_lower(name)).low % size; }

}  // namespace

std::shared_ptr<const Settings> default_settings() {
  static const auto kDefault = std::make_shared<const Settings>();
  return kDefault;
}

Adjacency::Adjacency(std::size_t slots, const std::vector<Edge>& edges) {
  if (edges.empty()) return;
  begins_.resize(slots + 1);
  ids_.resize(edges.size());
  for (const auto& [from, to] : edges) ++begins_[from.index() + 1];
  for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  std::vector<std::uint32_t> next = begins_;
  for (const auto& [from, to] : edges) ids_[next[from.index()]++] = to;
}

std::optional<ServiceId> Graph::find(std::string_view name) const {
  if (by_name_.empty()) return std::nullopt;
  for (std::size_t place = place_of(name, by_name_.size()); by_name_[place] != kNoService;
       place = (place + 1) % by_name_.size())
    if (iequals(at(by_name_[place]).name, name)) return by_name_[place];
  return std::nullopt;
}

void Graph::resolve_names() {
  index_names();
  std::vector<Adjacency::Edge> needs;
  std::vector<Adjacency::Edge> carries;
  for (const ServiceId id : order)
    for (const std::string& name : at(id).depends)
      if (const auto needed = find(name)) {
        needs.emplace_back(id, *needed);
        carries.emplace_back(*needed, id);
      }
  requirements = Adjacency(slots.size(), needs);
  dependents = Adjacency(slots.size(), carries);
  resolve_members();
}

void Graph::index_names() {
  by_name_.assign(order.empty() ? 0 : std::bit_ceil(2 * order.size()), kNoService);
  for (const ServiceId id : order) {
    if (find(at(id).name)) continue;
    std::size_t place = place_of(at(id).name, by_name_.size());
    while (by_name_[place] != kNoService) place = (place + 1) % by_name_.size();
    by_name_[place] = id;
  }
}

std::shared_ptr<const Workflow> Graph::workflow(std::string_view name) const {
  const auto found =
      std::ranges::find_if(workflows, [&](const auto& workflow) { return to_lower(workflow->name) == to_lower(name); });
  return found == workflows.end() ? nullptr : *found;
}

bool Graph::reads(std::string_view list) const {
  return std::ranges::any_of(lists, [&](const std::string& one) { return iequals(one, list); });
}

ActionKind action_kind_of(std::string_view name) {
  for (const auto kind : {ActionKind::Alert, ActionKind::Exec, ActionKind::Unmonitor, ActionKind::Start,
                          ActionKind::Stop, ActionKind::Heal, ActionKind::Ignore})
    if (name == to_string(kind)) return kind;
  return ActionKind::Restart;
}

std::string_view to_string(ActionKind kind) {
  switch (kind) {
    case ActionKind::Alert: return "alert";
    case ActionKind::Exec: return "exec";
    case ActionKind::Unmonitor: return "unmonitor";
    case ActionKind::Start: return "start";
    case ActionKind::Stop: return "stop";
    case ActionKind::Restart: return "restart";
    case ActionKind::Heal: return "heal";
    case ActionKind::Ignore: return "ignore";
  }
  return "";
}

bool same_target(const ServiceBlock& one, const ServiceBlock& other) {
  if (one.kind != other.kind || one.foreground() != other.foreground()) return false;
  return one.foreground() ||
         (one.process == other.process && one.path == other.path && one.other->host == other.other->host);
}

}  // namespace healer::engine
