// SPDX-License-Identifier: MIT
#include "engine/judging/rows.hpp"

#include <algorithm>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/words/explain.hpp"
#include "util/text.hpp"

namespace healer::engine {

namespace {

/// Whether its condition is Failed. Of many thousands that are well little memory is looked at: the loop waits for it.
bool stands_failed(const Engine& engine, ServiceId service) {
  return engine.service(service).monitored && std::ranges::any_of(engine.rules(service), [](const RuleState& state) {
           return state.status == RuleStatus::Failed && !state.resting();
         });
}

}  // namespace

std::set<std::string> failed_rows(const Engine& engine, const std::string& list) {
  std::set<std::string> names = engine.absent().failed_rows(list);
  const Graph& graph = *engine.graph();
  for (const ServiceId id : graph.order) {
    if (!stands_failed(engine, id)) continue;
    const auto& row = graph.at(id).row;
    if (!row) continue;
    for (const auto& [name, value] : row->variables)
      if (name == list) names.insert(to_lower(value));
  }
  return names;
}

namespace {

/// Whether it waits for its target to be well or to leave.
bool may_leave(const Healing& healing) {
  if (healing.under_way().size() != 1 || healing.under_way().front().state != StepRun::State::Verifying) return false;
  return std::visit([](const auto& kind) { return lets_leave(kind); }, healing.step().what);
}

}  // namespace

std::set<std::string> rows_in_repair(const Engine& engine, const std::string& list) {
  std::set<std::string> names;
  for (const auto& [id, healing] : engine.healings().all()) {
    if (!healing.locks() || may_leave(healing)) continue;
    if (const auto row = healing.row.find(list); row != healing.row.end()) names.insert(to_lower(row->second));
  }
  return names;
}

std::vector<const Healing*> healings_of_row(const Engine& engine, std::string_view row) {
  std::vector<const Healing*> all;
  for (const auto& [id, healing] : engine.healings().all())
    if (std::ranges::any_of(healing.row, [&](const auto& variable) {
          return engine.graph()->reads(variable.first) && iequals(variable.second, row);
        }))
      all.push_back(&healing);
  return all;
}

KeptRow why_row_is_kept(const Engine& engine, std::string_view row) {
  for (const Healing* const healing : healings_of_row(engine, row))
    if (healing->locks())
      return {fmt::format("{} is being healed (healing {} with {})", healing->target, healing->id.number(),
                          healing->plan->name),
              fmt::format("`healerctl cancel {}` ends that first", healing->id.number())};
  return {};
}

}  // namespace healer::engine
