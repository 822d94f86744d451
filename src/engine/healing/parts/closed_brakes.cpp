// SPDX-License-Identifier: MIT
#include "engine/healing/parts/closed_brakes.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/parts/running.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

std::string percent_text(double percent) { return fmt::format("{:.3g} %", percent); }

/// Whether it is this brake of the healing's plan that is closed.
bool is_same(const ClosedBrake& closed, const Healing& healing, const std::string& group, const PauseWhile& brake) {
  return to_lower(closed.workflow) == to_lower(healing.plan->name) && closed.group == group &&
         closed.above == brake.above;
}

}  // namespace

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? text + fmt::format(" and {} more", names.size() - kMost) : text;
}

ClosedBrakes::ClosedBrakes(std::vector<ClosedBrake> closed, const TargetIndex& index, const RunningHealings& healings,
                           const Census& census)
    : index_(index), healings_(healings), census_(census), closed_(std::move(closed)) {}

std::vector<std::pair<std::string, PauseWhile>> ClosedBrakes::pauses_of(const Healing& healing) const {
  std::vector<std::pair<std::string, PauseWhile>> brakes;
  if (healing.plan->only_alerts()) return brakes;
  for (const PauseWhile& brake : healing.plan->pauses) {
    if (!brake.group.empty()) {
      brakes.emplace_back(to_lower(brake.group), brake);
      continue;
    }
    const TargetIndex::Target* const known = index_.find(healing.target);
    if (known == nullptr) continue;
    for (const std::uint32_t at : known->groups)
      if (index_.groups()[at].targets.size() >= kFewest) brakes.emplace_back(index_.groups()[at].name, brake);
  }
  return brakes;
}

std::string ClosedBrakes::holding(const HealingContext& world, const Healing& healing) const {
  std::string text;
  for (const auto& [group, brake] : pauses_of(healing))
    for (const ClosedBrake& one : closed_)
      if (is_same(one, healing, group, brake))
        text = census_.describe_closed(census_.of(world, group), group, one.above, one.until);
  return text;
}

std::string ClosedBrakes::would_hold(const HealingContext& world, const Healing& healing) const {
  std::string text;
  for (const auto& [group, brake] : pauses_of(healing)) {
    const GroupCount count = census_.of(world, group);
    if (count.percent() <= brake.above || (brake.group.empty() && count.whole < kFewest)) continue;
    text = census_.describe_closed(count, group, brake.above, brake.until);
  }
  return text;
}

std::vector<std::string> ClosedBrakes::unwell(const HealingContext& world) const {
  std::vector<std::string> texts;
  for (const ClosedBrake& brake : closed_)
    texts.push_back(census_.describe_closed(census_.of(world, brake.group), brake.group, brake.above, brake.until));
  return texts;
}

void ClosedBrakes::watch(HealingWorld& world) {
  bool changed = close(world);
  changed = tell(world) || changed;
  changed = reopen(world) || changed;
  if (changed) world.save(closed_);
}

/// Those that what waits is held back by. Whether any has closed.
bool ClosedBrakes::close(HealingWorld& world) {
  bool changed = false;
  // While healer doubts what it sees nothing starts anyway: nobody is told that much is not well, as at each start.
  const bool doubts = !world.doubt().empty();
  for (const auto& [id, healing] : healings_.all()) {
    if (doubts || !healing.waits()) continue;
    for (const auto& [group, brake] : pauses_of(healing)) {
      if (std::ranges::any_of(closed_,
                              [&](const ClosedBrake& closed) { return is_same(closed, healing, group, brake); }))
        continue;
      const GroupCount now = census_.of(world, group);
      if (brake.group.empty() && now.whole < kFewest) continue;
      if (now.percent() <= brake.above) continue;
      closed_.push_back({.workflow = healing.plan->name,
                         .group = group,
                         .above = brake.above,
                         .until = brake.until,
                         .since = world.now().wall,
                         .notified = false});
      changed = true;
      world.record(RecordKind::HealingHeld, Severity::Error, {},
                   fmt::format("workflow {} is paused: {}, more than {}", healing.plan->name,
                               census_.describe(now, group), percent_text(brake.above)));
    }
  }
  return changed;
}

/// Whether a brake of the same workflow that is closed, and told, holds back all that this one does: the same machines
/// may be a list and a group.
bool ClosedBrakes::is_reported(const ClosedBrake& closed) const {
  return std::ranges::any_of(closed_, [&](const ClosedBrake& other) {
    return &other != &closed && other.notified && iequals(other.workflow, closed.workflow) &&
           std::ranges::all_of(index_.targets(), [&](const TargetIndex::Target& one) {
             return !index_.is_in(one.name, closed.group) || index_.is_in(one.name, other.group);
           });
  });
}

/// People, once of each workflow, what is held back. Whether that is news.
bool ClosedBrakes::tell(HealingWorld& world) {
  bool changed = false;
  std::map<std::string, std::vector<const ClosedBrake*>> closed_now;  // people are told once of each workflow
  for (ClosedBrake& closed : closed_) {
    // What people have paused, or the rules for a while, is no news to them.
    if (closed.notified || census_.of(world, closed.group).ill_percent() <= closed.above) continue;
    changed = true;
    if (!is_reported(closed)) closed_now[to_lower(closed.workflow)].push_back(&closed);
    closed.notified = true;
  }
  for (const auto& [workflow, brakes] : closed_now) {
    std::string why;
    for (const ClosedBrake* const closed : brakes)
      why +=
          fmt::format("{}{}, more than {}", why.empty() ? "" : "; ",
                      census_.describe(census_.of(world, closed->group), closed->group), percent_text(closed->above));
    std::vector<std::string> held;
    for (const auto& [id, healing] : healings_.all())
      if (healing.waits() && iequals(healing.plan->name, workflow) &&
          std::ranges::any_of(brakes, [&](const ClosedBrake* one) { return index_.is_in(healing.target, one->group); }))
        held.push_back(healing.target);
    world.notify_everyone(
        "Healing paused", effect::Cause::State::Failed,
        fmt::format("workflow {} is paused: {}; held back: {}; `healerctl heal NAME --override pause` heals "
                    "one of them none the less",
                    brakes.front()->workflow, why, names_text(held)));
  }
  return changed;
}

/// Whether it holds nothing back any more: by the rules, or by a plan that something goes by which has begun before
/// they were changed.
bool ClosedBrakes::opens(const HealingContext& world, const ClosedBrake& closed, const GroupCount& now) const {
  const std::shared_ptr<const Workflow> plan = world.graph().workflow(closed.workflow);
  const bool known =
      (plan != nullptr && std::ranges::any_of(plan->pauses,
                                              [&](const PauseWhile& brake) {
                                                return brake.above == closed.above &&
                                                       (brake.group.empty() || iequals(brake.group, closed.group));
                                              })) ||
      std::ranges::any_of(healings_.all(), [&](const auto& entry) {
        return entry.second.waits() && std::ranges::any_of(pauses_of(entry.second), [&](const auto& brake) {
                 return is_same(closed, entry.second, brake.first, brake.second);
               });
      });
  return !known || (closed.until ? now.percent() < *closed.until : now.percent() <= closed.above);
}

/// Those that hold nothing back any more. Whether any has opened.
bool ClosedBrakes::reopen(HealingWorld& world) {
  bool changed = false;
  std::vector<ClosedBrake> opened;
  std::erase_if(closed_, [&](const ClosedBrake& closed) {
    const GroupCount now = census_.of(world, closed.group);
    if (!opens(world, closed, now)) return false;
    changed = true;
    world.record(RecordKind::HealingStep, Severity::Info, {},
                 fmt::format("workflow {} goes on: {}", closed.workflow, census_.describe(now, closed.group)));
    if (closed.notified) opened.push_back(closed);
    return true;
  });
  std::map<std::string, std::string> texts;
  for (const ClosedBrake& closed : opened) {
    if (is_reported(closed)) continue;  // something that people were told of holds the same back still
    const auto [text, is_first] = texts.try_emplace(to_lower(closed.workflow));
    text->second += is_first ? fmt::format("workflow {} goes on: ", closed.workflow) : "; ";
    text->second += census_.describe(census_.of(world, closed.group), closed.group);
  }
  for (const auto& [workflow, text] : texts)
    world.notify_everyone("Healing resumed", effect::Cause::State::Succeeded, text);
  return changed;
}

}  // namespace healer::engine
