// SPDX-License-Identifier: MIT
// What guards and brakes say to people who ask: of a healing that waits, and of one that nobody has asked for.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/rule.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::engine {

std::vector<BrakeVerdict> Healings::fresh_verdicts(const HealingWorld& world, const Healing& healing) const {
  forget_counts();
  return verdicts(world, healing);
}

std::vector<BrakeVerdict> Healings::would_say(const HealingWorld& world, ServiceId service,
                                              const HealOrder& order) const {
  const ServiceBlock& block = world.graph().at(service);
  Healing healing{.id = {},
                  .target = order.target.empty() ? block.target() : target_of(world.graph(), order.target),
                  .service = block.name,
                  .rule = hash128(block.name),  // any: as a rule asks, not a person
                  .by = {},
                  .cause = {},
                  .workflow = order.workflow,
                  .plan = world.graph().workflow(order.workflow),
                  .dry_run = order.dry_run,
                  .overrides = {},
                  .asked = world.now().wall,
                  .seen = true};  // a storm is looked for when it is asked for
  if (healing.plan == nullptr)
    return {{.brake = "workflow", .lets = false, .text = fmt::format("there is none named {}", order.workflow)}};
  healing.mode = mode_of(world, healing);
  std::vector<BrakeVerdict> said = fresh_verdicts(world, healing);
  // Brakes that go by how many of a group are not well close when something waits; this would be the first.
  const auto pause = std::ranges::find(said, "pause while", &BrakeVerdict::brake);
  if (pause == said.end() || !pause->lets) return said;
  for (const auto& [group, brake] : pauses_of(healing)) {
    const Census count = census(world, group);
    if (count.percent() <= brake.above || (brake.group.empty() && count.whole < kFewest)) continue;
    pause->lets = false;
    pause->text = fmt::format("{} of {} in group {} are not well", count.unhealthy, count.whole, group);
  }
  return said;
}

}  // namespace healer::engine
