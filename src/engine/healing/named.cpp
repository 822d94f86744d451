// SPDX-License-Identifier: MIT
#include "engine/healing/named.hpp"

#include <algorithm>

#include "engine/healing/healings.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {

const ServiceBlock* block_to_heal(std::span<const ServiceBlock* const> all, std::string_view name, bool named) {
  const ServiceBlock* best = nullptr;
  const ServiceBlock* service = nullptr;
  int most = -1;
  for (const ServiceBlock* block : all) {
    const bool has_name = iequals(block->name, name);
    if (has_name) service = block;
    if (!iequals(block->target(), name)) continue;
    const bool heals = std::ranges::any_of(block->rules, [](const Rule& rule) { return rule->action.heal != nullptr; });
    const int fits = (heals ? 2 : 0) + (has_name ? (named ? 4 : 1) : 0);
    if (fits <= most) continue;
    best = block;
    most = fits;
  }
  return best != nullptr ? best : service;
}

const Healing* healing_meant(const Healings& healings, std::string_view target, bool decides) {
  const Healing* first = nullptr;
  for (const auto& [id, healing] : healings.all()) {
    if (!iequals(healing.target, target)) continue;
    if (decides ? healing.stage() == Healing::Stage::Approval : !healing.waits()) return &healing;
    if (!decides && first == nullptr) first = &healing;
  }
  return first;
}

}  // namespace healer::engine
