// SPDX-License-Identifier: MIT
#include "engine/judging/delay.hpp"

#include <algorithm>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {

std::optional<WallTime> healed(const Engine& engine, std::string_view target) {
  for (const TargetMemory& memory : engine.healings().memory().targets)
    if (!memory.rehearsed && iequals(memory.target, target) && memory.end != HealingEnd::Refused &&
        memory.end != HealingEnd::Rejected && memory.end != HealingEnd::Dropped)
      return memory.ended;
  return std::nullopt;
}

std::optional<WallTime> judged_from(const Engine& engine, ServiceId id, const Evidence& seen) {
  const ServiceBlock& block = engine.graph()->at(id);
  const Duration delay = block.other->listed.delay;
  if (delay == Duration{0}) return std::nullopt;
  WallTime since{};
  if (seen.facts && seen.facts->further->row) since = seen.facts->further->row->known;
  if (const auto ended = healed(engine, block.target())) since = std::max(since, *ended);
  return since + delay;
}

bool is_delayed(const Engine& engine, ServiceId id, const Evidence& seen, Instant now) {
  if (!engine.graph()->at(id).is_listed() || engine.healings().recoveries().awaits(id)) return false;
  const std::optional<WallTime> from = judged_from(engine, id, seen);
  return from && *from > now.wall;
}

}  // namespace healer::engine
