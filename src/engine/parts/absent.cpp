// SPDX-License-Identifier: MIT
#include "engine/parts/absent.hpp"

#include <algorithm>
#include <utility>

#include "engine/parts/pauses.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {

void AbsentServices::restore(const std::unordered_map<std::string, SavedService>& saved) {
  if (graph_->left_out.empty()) return;
  for (const auto& [name, one] : saved)
    if (!graph_->find(name)) all_.emplace(name, Absent{.saved = one, .row = nullptr, .found = true});
}

bool AbsentServices::is_left_out(const ServiceBlock& block) const {
  return !graph_->left_out.lists.empty() || (block.row != nullptr && graph_->left_out.holds(block.row->variables));
}

void AbsentServices::keep(const ServiceBlock& block, SavedService saved) {
  all_.insert_or_assign(block.name, Absent{.saved = std::move(saved), .row = block.row});
}

std::optional<SavedService> AbsentServices::take(const std::string& name) {
  auto found = all_.extract(name);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped().saved);
}

std::shared_ptr<const Graph> AbsentServices::with_known_keys(std::shared_ptr<const Graph> graph) const {
  if (all_.empty()) return graph;
  std::unordered_map<std::string, SavedService> saved;
  for (const auto& [name, one] : all_) saved.emplace(name, one.saved);
  return with_saved_keys(std::move(graph), saved);
}

void AbsentServices::forget(Turn& turn) {
  std::erase_if(all_, [&](const auto& entry) {
    const auto& [name, one] = entry;
    if (graph_->find(name)) return true;
    const bool stays = !graph_->left_out.lists.empty() ||
                       (one.found ? !graph_->left_out.empty() : one.row && graph_->left_out.holds(one.row->variables));
    if (!stays) turn.commit().forgotten.push_back(name);
    return !stays;
  });
}

void AbsentServices::carry_pauses(WallTime seen, Turn& turn) {
  for (auto& [name, absent] : all_)
    if (absent.saved.pause && carry(*absent.saved.pause, seen, turn.now))
      turn.commit().services.emplace_back(name, absent.saved);
}

std::set<std::string> AbsentServices::failed_rows(const std::string& list) const {
  std::set<std::string> names;
  for (const auto& [name, one] : all_) {
    const auto failed = [](const SavedRule& rule) { return rule.state.status == RuleStatus::Failed; };
    if (one.row == nullptr || std::ranges::none_of(one.saved.rules, failed)) continue;
    for (const auto& [variable, value] : one.row->variables)
      if (variable == list) names.insert(to_lower(value));
  }
  return names;
}

}  // namespace healer::engine
