// SPDX-License-Identifier: MIT
// What guards and brakes say to people who ask: of a healing that waits, of one that nobody has asked for, and of what
// rules leave alone.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {

namespace {

/// The rule of a service that orders so; where it is none's, any: as a rule asks, not a person.
Hash128 rule_of(const ServiceBlock& block, const HealOrder& order) {
  for (const Rule& rule : block.rules) {
    const HealOrder* const its = rule->action.heal.get();
    if (its != nullptr && iequals(its->workflow, order.workflow) && its->target == order.target &&
        its->dry_run == order.dry_run)
      return rule.key;
  }
  return hash128(block.name);
}

}  // namespace

std::vector<BrakeVerdict> Healings::fresh_verdicts(const HealingWorld& world, const Healing& healing) const {
  forget_counts();
  return verdicts(world, healing);
}

std::vector<BrakeVerdict> Healings::preview_brakes(const HealingWorld& world, ServiceId service,
                                                   const HealOrder& order) const {
  const ServiceBlock& block = world.graph().at(service);
  Healing healing{.id = {},
                  .target = order.target.empty() ? block.target() : target_of(world.graph(), order.target),
                  .service = block.name,
                  .rule = rule_of(block, order),
                  .by = {},
                  .cause = {},
                  .workflow = order.workflow,
                  .plan = world.graph().workflow(order.workflow),
                  .dry_run = order.dry_run,
                  .overrides = {},
                  .asked = world.now().wall,
                  .seen = true};  // a storm is looked for when it is asked for
  if (healing.plan == nullptr)
    return {{.brake = Brake::Workflow, .lets = false, .text = fmt::format("there is none named {}", order.workflow)}};
  healing.mode = mode_of(*healing.plan, *world.graph().settings, healing.dry_run);
  std::vector<BrakeVerdict> all_verdicts = fresh_verdicts(world, healing);
  // Brakes that go by how many of a group are not well close when something waits; this would be the first.
  const auto pause = std::ranges::find(all_verdicts, Brake::PauseWhile, &BrakeVerdict::brake);
  if (pause == all_verdicts.end() || !pause->lets) return all_verdicts;
  for (const auto& [group, brake] : pauses_of(healing)) {
    const Census count = census(world, group);
    if (count.percent() <= brake.above || (brake.group.empty() && count.whole < kFewest)) continue;
    pause->lets = false;
    pause->text = describe_closed(count, group, brake.above, brake.until);
  }
  return all_verdicts;
}

/// Who is paused counts as not well: those are told apart.
std::string Healings::describe(const Census& count, std::string_view group) const {
  const std::string paused = count.paused == 0 ? ""
                             : count.paused == 1
                                 ? " (1 of them is paused, which counts as not well)"
                                 : fmt::format(" ({} of them are paused, which counts as not well)", count.paused);
  return fmt::format("{} of {} in {} are not well{}", count.unhealthy, count.whole, group_text(written(group)), paused);
}

std::string Healings::describe_closed(const Census& count, std::string_view group, double above,
                                      const std::optional<double>& until) const {
  return describe(count, group) + (until ? fmt::format("; goes on at less than {:.3g} %", *until)
                                         : fmt::format("; goes on at no more than {:.3g} %", above));
}

std::vector<std::string> Healings::unwell_of_closed(const HealingWorld& world) const {
  forget_counts();
  std::vector<std::string> texts;
  for (const ClosedBrake& brake : memory_.closed)
    texts.push_back(describe_closed(census(world, brake.group), brake.group, brake.above, brake.until));
  return texts;
}

std::string Healings::way_out(const BrakeVerdict& brake, const Healing& healing) {
  if (brake.lets) return {};
  const auto overridden = [&](std::string_view what) {
    return fmt::format("`healerctl heal {} --override {}` heals it none the less", healing.target, what);
  };
  std::string text;
  if (brake.left) text = fmt::format("it can begin in {}", format_duration(std::max(*brake.left, Duration{0})));
  if (brake.brake == Brake::Limit)
    return fmt::format("{}; {}", brake.left ? text : "it begins when one of those has ended", overridden("limit"));
  if (brake.brake == Brake::Cooldown) return fmt::format("{}; {}", text, overridden("cooldown"));
  if (brake.brake == Brake::Pause || brake.brake == Brake::PauseWhile) return overridden("pause");
  if (brake.brake == Brake::Names || brake.brake == Brake::Dependency)
    return "it begins when that is over, if it fails still";
  return brake.brake == Brake::Again ? std::string() : text;
}

std::string to_string(const Overrides& overrides) {
  std::vector<std::string> words;
  if (overrides.limit) words.emplace_back("limit");
  if (overrides.cooldown) words.emplace_back("cooldown");
  if (overrides.pause) words.emplace_back("pause");
  return join_words(words, "and");
}

/// What has become of a healing that a person has asked for.
std::string Healings::came_to(HealingId id) const {
  const auto known = healings_.find(id);
  if (known == healings_.end()) return "has ended: see its history";
  const Healing& healing = known->second;
  switch (healing.stage) {
    case Healing::Stage::Held:
      if (healing.held_by == Brake::Secrets) return "begins when its secrets have been looked at";
      return "is held back: " + healing.reason;
    case Healing::Stage::Approval: return "waits for approval";
    case Healing::Stage::Confirming: return "is checked once more";
    case Healing::Stage::Between: return "waits: " + healing.reason;
    case Healing::Stage::Guarding: return "has begun: its guard is running";
    default: return "has begun";
  }
}

/// For whom it does not help to reset a workflow: the targets that are healed with it, and that a healing has not
/// healed. Empty: there are none.
std::string Healings::left_alone(const HealingWorld& world, std::string_view workflow) const {
  const auto healed_with_it = [&](ServiceId service) {
    return std::ranges::any_of(world.graph().at(service).rules, [&](const Rule& rule) {
      return rule->action.heal != nullptr && iequals(rule->action.heal->workflow, workflow);
    });
  };
  constexpr std::size_t kMost = 10;
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const TargetMemory& memory : memory_.targets) {
    if (!memory.in_vain() || !std::ranges::any_of(services_of(world.graph(), memory.target), healed_with_it)) continue;
    if (names.size() < kMost)
      names.push_back(memory.target);
    else
      ++more;
  }
  if (names.empty()) return {};
  return fmt::format(
      "\na healing did not help these, so rules heal them again only after they have recovered: {}{}; "
      "`healerctl heal NAME` heals one before that",
      fmt::join(names, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace healer::engine
