// SPDX-License-Identifier: MIT
#include "engine/healing/parts/census.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healing.hpp"
#include "engine/healing/parts/running.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {

/// Not well is what has failed, is being healed, waits for it, is paused, is not known or judged, or was unmonitored by
/// a rule; left out is what a person has unmonitored.
Census::Fitness Census::fitness(const HealingContext& world, const TargetIndex::Target& target) const {
  bool monitored = false;
  bool well = true;
  bool paused = false;
  for (const ServiceId service : target.services) {
    const Health health = world.health(service);
    if (health == Health::Unmonitored && !world.given_up(service)) continue;
    monitored = true;
    paused = paused || !world.paused(service).empty();
    well = well && health == Health::Ok;
  }
  if (!monitored) return Fitness::LeftOut;
  if (paused) return Fitness::Paused;
  // What a person asks for may be well, as long as nothing was done: held back, or asked by its guard whether it is to
  // begin, it must not hold back others, and itself, for ever.
  const auto in_repair = [&](HealingId id) {
    const Healing& healing = healings_.at(id);
    return !healing.rehearses() &&
           (!healing.by_person() || healing.has_begun() || healing.stage() > Healing::Stage::Guarding);
  };
  if (well) well = std::ranges::none_of(healings_.of_target(target.name), in_repair);
  return well ? Fitness::Well : Fitness::Unwell;
}

/// All targets, once a turn.
void Census::count(const HealingContext& world) const {
  const std::vector<TargetIndex::Target>& targets = index_.targets();
  counts_.assign(index_.groups().size(), {});
  fitness_.assign(targets.size(), Fitness::LeftOut);
  for (std::uint32_t at = 0; at < targets.size(); ++at) {
    fitness_[at] = fitness(world, targets[at]);
    count(at, 1);
  }
  counted_ = true;
}

/// Puts a target into the counts of its groups (1), or takes it out (-1).
void Census::count(std::uint32_t target, int sign) const {
  const Fitness its = fitness_[target];
  if (its == Fitness::LeftOut) return;
  for (const std::uint32_t at : index_.targets()[target].groups) {
    counts_[at].whole += static_cast<std::size_t>(sign);
    if (its != Fitness::Well) counts_[at].unhealthy += static_cast<std::size_t>(sign);
    if (its == Fitness::Paused) counts_[at].paused += static_cast<std::size_t>(sign);
  }
}

void Census::count_again(const HealingContext& world, std::string_view target) const {
  const std::optional<std::uint32_t> known = index_.place_of(target);
  if (!counted_ || !known) return;
  count(*known, -1);
  fitness_[*known] = fitness(world, index_.targets()[*known]);
  count(*known, 1);
}

void Census::forget() const {
  counted_ = false;
  oldest_.assign(index_.groups().size(), std::nullopt);
}

GroupCount Census::of(const HealingContext& world, std::string_view group) const {
  if (!counted_) count(world);
  const std::optional<std::uint32_t> known = index_.place_of_group(group);
  return known ? counts_[*known] : GroupCount{};
}

bool Census::judged_since(const HealingContext& world, const Healing& healing) const {
  if (world.now().wall - healing.asked >= world.graph().settings->cycle_length()) return true;
  const std::optional<std::uint32_t> own = index_.place_of(healing.target);
  if (!own) return true;
  const Duration since = world.now().mono - (world.now().wall - healing.asked);
  return std::ranges::all_of(index_.targets()[*own].groups, [&](std::uint32_t at) {
    const Oldest& last = oldest(world, at);
    return (last.target == *own ? last.others : last.when) >= since;
  });
}

/// When the last of a target's services was judged that is watched; the end of time: none is.
Duration Census::judged(const HealingContext& world, const TargetIndex::Target& target) const {
  Duration longest_ago = Duration::max();
  for (const ServiceId service : target.services) {
    if (world.health(service) == Health::Unmonitored) continue;
    const auto run = judged_.find(service.number());
    longest_ago = std::min(longest_ago, run == judged_.end() ? Duration::min() : run->second);
  }
  return longest_ago;
}

/// Of a group, once a turn.
const Census::Oldest& Census::oldest(const HealingContext& world, std::uint32_t group) const {
  if (oldest_[group]) return *oldest_[group];
  Oldest last{.target = 0, .when = Duration::max(), .others = Duration::max()};
  for (const std::uint32_t at : index_.groups()[group].targets) {
    const Duration when = judged(world, index_.targets()[at]);
    if (when < last.when)
      last = {.target = at, .when = when, .others = last.when};
    else
      last.others = std::min(last.others, when);
  }
  return oldest_[group].emplace(last);
}

/// Who is paused counts as not well: those are told apart.
std::string Census::describe(const GroupCount& count, std::string_view group) const {
  const std::string paused = count.paused == 0 ? ""
                             : count.paused == 1
                                 ? " (1 of them is paused, which counts as not well)"
                                 : fmt::format(" ({} of them are paused, which counts as not well)", count.paused);
  return fmt::format("{} of {} in {} are not well{}", count.unhealthy, count.whole, group_text(index_.written(group)),
                     paused);
}

std::string Census::describe_closed(const GroupCount& count, std::string_view group, double above,
                                    const std::optional<double>& until) const {
  return describe(count, group) + (until ? fmt::format("; goes on at less than {:.3g} %", *until)
                                         : fmt::format("; goes on at no more than {:.3g} %", above));
}

}  // namespace healer::engine
