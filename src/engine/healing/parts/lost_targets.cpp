// SPDX-License-Identifier: MIT
#include "engine/healing/parts/lost_targets.hpp"

#include <algorithm>
#include <cstddef>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) all.push_back(fmt::format("\"{}\"", name));
  return join_words(all, "and");
}

/// The steps that are under way.
std::string names_of(const Healing& healing) {
  if (healing.stage() == Stage::Guarding) return "its guard";
  std::vector<std::string> names;
  for (std::size_t i = 0; i < healing.under_way().size(); ++i)
    if (is_under_way(healing.under_way()[i])) names.push_back(step_of(healing.step(), i).name);
  return (names.size() == 1 ? "step " : "steps ") + quoted(names);
}

/// Whether an edit has taken the rows that stand in the rules, of those that a target is made of ("DISK" is "sdb"):
/// then it is gone, whatever the lists say that are read. Where one of these is not known that cannot be told.
bool has_lost_written_row(const Graph& next, const Variables& row) {
  const auto is_written = [&](const auto& variable) {
    return variable.first.find('.') == std::string::npos && !next.reads(variable.first);
  };
  if (std::ranges::none_of(row, is_written) || next.left_out.holds(row)) return false;
  return std::ranges::none_of(next.order, [&](ServiceId service) {
    const auto& other = next.at(service).row;
    return other != nullptr && std::ranges::all_of(row, [&](const auto& variable) {
             return !is_written(variable) || std::ranges::any_of(other->variables, [&](const auto& one) {
               return iequals(one.first, variable.first) && iequals(one.second, variable.second);
             });
           });
  });
}

}  // namespace

bool is_under_way(const StepRun& run) {
  return run.state == StepRun::State::Running || run.state == StepRun::State::Requesting ||
         run.state == StepRun::State::Bringing || run.state == StepRun::State::Ending;
}

/// A step that was done again counts by its last.
std::string steps_done(const Healing& healing) {
  std::vector<std::string> done;
  std::vector<std::string> failed;
  for (const StepOutcome& one : healing.outcomes) {
    std::erase(done, one.name);
    std::erase(failed, one.name);
    (one.good ? done : failed).push_back(one.name);
  }
  std::string text = done.empty() ? "no step was done" : "done: " + quoted(done);
  if (!failed.empty()) text += "; failed: " + quoted(failed);
  return text;
}

std::string what_goes_on(const Healing& healing) {
  return fmt::format("{} goes on to its end, and nothing follows", names_of(healing));
}

std::set<HealingId> taken_by(const std::map<HealingId, Healing>& healings, const TargetIndex& index, const Graph& now,
                             const Graph& next) {
  std::set<HealingId> taken;
  for (const auto& [id, healing] : healings) {
    if (healing.is_abandoned() || healing.is_yet_to_begin()) continue;
    const std::vector<ServiceId> before = index.services_of(now, healing.target);
    // A row that is not in its list says nothing of the rules: the list goes by what is healed, or was not read yet.
    const bool of_list = std::ranges::any_of(before, [&](ServiceId service) {
      const auto& row = now.at(service).row;
      return row != nullptr && std::ranges::any_of(row->lists, [&](const auto& list) { return next.reads(list); });
    });
    if ((before.empty() || of_list) && !has_lost_written_row(next, healing.row)) continue;
    const auto is_its = [&](ServiceId service) { return iequals(next.at(service).target(), healing.target); };
    if (std::ranges::none_of(next.order, is_its)) taken.insert(id);
  }
  return taken;
}

std::vector<std::string> lost_to(const std::map<HealingId, Healing>& healings, const TargetIndex& index,
                                 const Graph& now, const Graph& next) {
  std::vector<std::string> lost;
  for (const HealingId id : taken_by(healings, index, now, next)) {
    const Healing& healing = healings.at(id);
    lost.push_back(fmt::format(
        "healing {} of {} with {}: abandoned, as {}{}", id.number(), healing.target, healing.plan->name, kNotInRules,
        std::ranges::any_of(healing.under_way(), is_under_way) ? "; " + what_goes_on(healing) : ""));
  }
  for (const auto& [id, healing] : healings) {
    if (!healing.is_yet_to_begin()) continue;
    const auto gone = [&](const Trigger& one) { return is_gone(next, one) && !next.left_out.holds(healing.row); };
    const bool asked = !gone({healing.service, healing.rule}) || !std::ranges::all_of(healing.also, gone);
    if (asked && next.workflow(healing.workflow) != nullptr) continue;
    lost.push_back(fmt::format("healing {} of {} with {}: dropped before it began, as {}", id.number(), healing.target,
                               healing.plan->name,
                               asked ? "the rules no longer have that workflow" : "no rule asks for it any longer"));
  }
  return lost;
}

bool has_lost_target(const HealingContext& world, const TargetIndex& index, const Healing& healing) {
  const Graph& graph = world.graph();
  if (healing.is_abandoned() || healing.is_yet_to_begin()) return false;
  const bool of_list =
      std::ranges::any_of(healing.row, [&](const auto& variable) { return graph.reads(variable.first); });
  return (!of_list || has_lost_written_row(graph, healing.row)) && !graph.find(healing.service) &&
         is_gone(world, index, healing);
}

}  // namespace healer::engine
