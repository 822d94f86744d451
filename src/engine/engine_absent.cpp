// SPDX-License-Identifier: MIT
// Services that their lists have, and the rules have not now: a row that does not compile, a list that cannot be used.
// What is known of them stays until they come back, or leave their lists.
#include <algorithm>
#include <utility>

#include "engine/engine.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/service.hpp"
#include "engine/turn.hpp"
#include "util/text.hpp"

namespace healer::engine {

/// What was saved of services that are not in the rules stays where a list is left out: it may be theirs.
void Engine::find_absent() {
  if (graph_->left_out.empty()) return;
  for (const auto& [name, saved] : found_.services)
    if (!graph_->find(name)) absent_.emplace(name, Absent{.saved = saved, .row = nullptr, .found = true});
}

/// Whether the rules do without it only as long as its row, or its list, is left out. While a list is not known that
/// may be any: a service is the same one however its list is written.
bool Engine::is_left_out(const ServiceBlock& block) const {
  return !graph_->left_out.lists.empty() || (block.row != nullptr && graph_->left_out.holds(block.row->variables));
}

void Engine::keep_absent(const ServiceBlock& block, SavedService saved) {
  absent_.insert_or_assign(block.name, Absent{.saved = std::move(saved), .row = block.row});
}

/// A service comes back: it is as it was.
void Engine::take_back(ServiceId id, Instant now) {
  const auto found = absent_.find(graph_->at(id).name);
  if (found == absent_.end()) return;
  restore(id, found->second.saved, now);
  find_child(id);  // its process may have lived on
  absent_.erase(found);
}

/// The rules of those who come back have the keys that they had.
void Engine::know_absent_rules() {
  if (absent_.empty()) return;
  std::unordered_map<std::string, SavedService> saved;
  for (const auto& [name, one] : absent_) saved.emplace(name, one.saved);
  graph_ = with_saved_keys(std::move(graph_), saved);
}

/// Those that have left their lists are forgotten.
void Engine::forget_absent(Turn& turn) {
  std::erase_if(absent_, [&](const auto& entry) {
    const auto& [name, one] = entry;
    if (graph_->find(name)) return true;
    const bool stays = !graph_->left_out.lists.empty() ||
                       (one.found ? !graph_->left_out.empty() : one.row && graph_->left_out.holds(one.row->variables));
    if (!stays) turn.commit.forgotten.push_back(name);
    return !stays;
  });
}

std::set<std::string> Engine::failed_absent_rows(const std::string& list) const {
  std::set<std::string> names;
  for (const auto& [name, one] : absent_) {
    const auto failed = [](const SavedRule& rule) { return rule.state.status == RuleStatus::Failed; };
    if (one.row == nullptr || std::ranges::none_of(one.saved.rules, failed)) continue;
    for (const auto& [variable, value] : one.row->variables)
      if (variable == list) names.insert(to_lower(value));
  }
  return names;
}

}  // namespace healer::engine
