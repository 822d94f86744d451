// SPDX-License-Identifier: MIT
#include "engine/healing/parts/targets.hpp"

#include <algorithm>
#include <map>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing.hpp"
#include "engine/rules/graph.hpp"
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

void TargetIndex::index(const Graph& graph) {
  targets_.clear();
  groups_.clear();
  target_at_.clear();
  group_at_.clear();
  alone_ = 0;
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

std::string TargetIndex::meant_by(const Graph& graph, const std::string& name) const {
  if (!services_of(graph, name).empty()) return name;
  const std::optional<ServiceId> service = graph.find(name);
  return service ? graph.at(*service).target() : name;
}

std::optional<std::uint32_t> TargetIndex::place_of(std::string_view name) const {
  const auto found = target_at_.find(to_lower(name));
  return found == target_at_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> TargetIndex::place_of_group(std::string_view name) const {
  const auto found = group_at_.find(to_lower(name));
  return found == group_at_.end() ? std::nullopt : std::optional(found->second);
}

const TargetIndex::Target* TargetIndex::find(std::string_view name) const {
  const auto found = target_at_.find(to_lower(name));
  return found == target_at_.end() ? nullptr : &targets_[found->second];
}

std::string TargetIndex::written(std::string_view group) const {
  const auto known = group_at_.find(to_lower(group));
  return known == group_at_.end() ? std::string(group) : groups_[known->second].written;
}

bool TargetIndex::is_in(std::string_view name, std::string_view group) const {
  const Target* const known = find(name);
  return known != nullptr &&
         std::ranges::any_of(known->groups, [&](std::uint32_t at) { return iequals(groups_[at].name, group); });
}

std::vector<ServiceId> TargetIndex::services_of(const Graph& graph, std::string_view name) const {
  if (const Target* const known = find(name)) return known->services;
  const std::optional<ServiceId> service = graph.find(name);
  const bool is_target = service && iequals(graph.at(*service).target(), name);
  return is_target ? std::vector{*service} : std::vector<ServiceId>();
}

}  // namespace healer::engine
