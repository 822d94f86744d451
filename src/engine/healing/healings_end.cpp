// SPDX-License-Identifier: MIT
// How a healing ends: what is counted, remembered and told.
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/parts/steps.hpp"

namespace healer::engine {

void Healings::end(HealingWorld& world, Healing& healing, HealingEnd how, const std::string& why) {
  const bool bad = how == HealingEnd::Failed || how == HealingEnd::Interrupted || how == HealingEnd::Refused ||
                   (how == HealingEnd::Rejected);
  const bool brakes = !healing.plan->only_alerts() || healing.escalated;
  const bool called = how == HealingEnd::Called;
  const std::string text = fmt::format("{} {}{}{}{}", describe(healing), called ? "ended: " : "", to_string(how),
                                       why.empty() ? "" : ": ", why);
  Record& record = world.record(how == HealingEnd::Failed || how == HealingEnd::Interrupted ? RecordKind::HealingFailed
                                                                                            : RecordKind::HealingEnded,
                                bad                                      ? Severity::Error
                                : how == HealingEnd::Abandoned || called ? Severity::Warning
                                                                         : Severity::Info,
                                healing.service, text);
  record.subject = healing.id.number();
  recoveries_.stop(healing);
  confirmations_.forget(healing.id);
  claims_.forget(healing.id);

  memories_.reached(world, healing, how);
  memories_.ended(world, healing, how, brakes);
  if (how != HealingEnd::Dropped && !(how == HealingEnd::Done && !brakes)) {
    const bool well = how == HealingEnd::Verified || how == HealingEnd::Done;
    std::string text_of_alert = called ? fmt::format("{}. {}", text, healing.cause->description) : text;
    if (const TargetMemory* const rest = memories_.target(healing.target, false);
        rest != nullptr && rest->healing == healing.id && rest->in_vain())
      text_of_alert +=
          fmt::format("\nRules heal {} again only after it has recovered; `healerctl heal {}` does at once.",
                      healing.target, healing.target);
    world.tell(healing, called ? "Healing ended" : fmt::format("Healing {}", to_string(how)),
               how == HealingEnd::Abandoned ? effect::Cause::State::Changed
               : well                       ? effect::Cause::State::Succeeded
                                            : effect::Cause::State::Failed,
               text_of_alert);
  }
  const HealingId id = healing.id;
  const std::string target = healing.target;
  running_.remove(id);
  secrets_.forget(id);
  world.forget(id);
  if (how == HealingEnd::Verified)
    for (const ServiceId service : targets_.services_of(world.graph(), target)) {
      for (const ServiceId member : world.seen_by(service)) world.recover(member);
      world.recover(service);
    }
  reevaluate(world);
  waking_.plan(world);
}

}  // namespace healer::engine
