// SPDX-License-Identifier: MIT
// What the rules say of targets: their services, their groups, and which must not be healed at the same time.
#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// The group that the rows of a `for each` make. No group that is written can have that name.
constexpr std::string_view kListBegin = "${";
constexpr std::string_view kListEnd = "}";

std::string list_group(const std::string& list) { return fmt::format("{}{}{}", kListBegin, list, kListEnd); }

}  // namespace

std::string_view list_of(std::string_view group) {
  if (!group.starts_with(kListBegin) || !group.ends_with(kListEnd)) return {};
  group.remove_prefix(kListBegin.size());
  group.remove_suffix(kListEnd.size());
  return group;
}

std::string group_text(std::string_view group) {
  const std::string_view list = list_of(group);
  return list.empty() ? fmt::format("group {}", group) : fmt::format("list {}", list);
}

/// Most services stand alone: each is its own target, in no group, and stands in no other's way. Of those nothing is
/// kept, for the graph knows them by their names.
void Healings::index(const Graph& graph) {
  targets_.clear();
  groups_.clear();
  target_at_.clear();
  group_at_.clear();
  alone_ = 0;
  counted_ = false;
  const auto place = [](auto& places, auto& all, const std::string& name) {
    const auto [at, is_new] = places.try_emplace(name, static_cast<std::uint32_t>(all.size()));
    if (is_new) all.emplace_back();
    return at->second;
  };
  // Who heals a composite heals its members, and the other way round; so do two that share a member.
  std::map<std::string, std::set<std::string>> holders;  // by member
  const auto relate = [&](auto&& self, const std::string& holder, ServiceId composite) -> void {
    for (const ServiceId member : graph.members[composite.index()]) {
      holders[to_lower(graph.at(member).target())].insert(holder);
      self(self, holder, member);
    }
  };
  const auto note = [&](const std::string& name) { targets_[place(target_at_, targets_, name)].name = name; };
  for (const ServiceId id : graph.order) {
    const ServiceBlock& block = graph.at(id);
    const bool is_whole = block.has_members();
    if (block.row != nullptr || !block.groups.empty() || is_whole) note(to_lower(block.target()));
    if (is_whole) relate(relate, to_lower(block.target()), id);
  }
  for (const auto& [member, all] : holders) note(member);
  for (const ServiceId id : graph.order) {
    const ServiceBlock& block = graph.at(id);
    const auto known = target_at_.find(to_lower(block.target()));
    if (known == target_at_.end()) {
      ++alone_;
      continue;
    }
    const std::uint32_t at = known->second;
    targets_[at].services.push_back(id);
    const auto join = [&](const std::string& written) {
      std::string name = to_lower(written);
      const std::uint32_t group = place(group_at_, groups_, name);
      if (std::ranges::find(targets_[at].groups, group) != targets_[at].groups.end()) return;
      targets_[at].groups.push_back(group);
      groups_[group].name = std::move(name);
      if (groups_[group].written.empty()) groups_[group].written = written;
      groups_[group].targets.push_back(at);
    };
    for (const std::string& group : block.groups) join(group);
    if (block.row != nullptr)
      for (const std::string& list : block.row->lists) join(list_group(list));
  }
  targets_.shrink_to_fit();
  const auto conflict = [&](const std::string& one, const std::string& other) {
    if (one != other) targets_[target_at_.at(one)].conflicts.insert(other);
  };
  for (const auto& [member, all] : holders)
    for (const std::string& holder : all) {
      conflict(member, holder);
      conflict(holder, member);
      for (const std::string& other : all) conflict(holder, other);
    }
}

/// The target that a name means: one of that name, else the target of the service of that name.
std::string Healings::target_of(const Graph& graph, const std::string& name) const {
  if (!services_of(graph, name).empty()) return name;
  const std::optional<ServiceId> service = graph.find(name);
  return service ? graph.at(*service).target() : name;
}

const Healings::Target* Healings::target(std::string_view name) const {
  const auto found = target_at_.find(to_lower(name));
  return found == target_at_.end() ? nullptr : &targets_[found->second];
}

std::string Healings::written(std::string_view group) const {
  const auto known = group_at_.find(to_lower(group));
  return known == group_at_.end() ? std::string(group) : groups_[known->second].written;
}

bool Healings::is_in(std::string_view name, std::string_view group) const {
  const Target* const known = target(name);
  return known != nullptr &&
         std::ranges::any_of(known->groups, [&](std::uint32_t at) { return iequals(groups_[at].name, group); });
}

std::vector<ServiceId> Healings::services_of(const Graph& graph, std::string_view name) const {
  if (const Target* const known = target(name)) return known->services;
  const std::optional<ServiceId> service = graph.find(name);
  const bool is_target = service && iequals(graph.at(*service).target(), name);
  return is_target ? std::vector{*service} : std::vector<ServiceId>();
}

void Healings::visit_rivals(std::string_view name, const std::function<void(const Healing&)>& visit) const {
  const auto visit_all = [&](const std::string& of) {
    if (const auto found = of_target_.find(of); found != of_target_.end())
      for (const HealingId id : found->second) visit(healings_.at(id));
  };
  visit_all(to_lower(name));
  const Target* const known = target(name);
  if (known == nullptr || known->conflicts.empty()) return;
  if (known->conflicts.size() < of_target_.size()) {
    for (const std::string& other : known->conflicts) visit_all(other);
  } else {
    for (const auto& [other, healings] : of_target_)
      if (known->conflicts.contains(other)) visit_all(other);
  }
}

}  // namespace healer::engine
