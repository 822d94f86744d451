// SPDX-License-Identifier: MIT
// A person's approval of a healing: what is asked for, and what becomes of the answer.
#include <algorithm>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/healing/variables.hpp"
#include "engine/job.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {

namespace {

using Stage = Healing::Stage;

constexpr std::string_view kAskedFor = "approval: asked for";
constexpr std::string_view kNobodyInTime = "nobody in time";

}  // namespace

void Healings::ask_for_approval(HealingWorld& world, Healing& healing) {
  const Duration within = healing.plan->approval.value_or(Approval{}).within;
  healing.at = stage::Approval{{.reason = std::string(kAskedFor), .not_before = Deadline::in(within, world.now())}};
  const std::string text =
      fmt::format("{} waits for approval, for {}: `{}` or `healerctl reject {}`", describe(healing),
                  format_duration(within), approval_line(healing), healing.id.number());
  world.record(RecordKind::HealingHeld, Severity::Warning, healing.service, text).subject = healing.id.number();
  std::string mail = text + "\nwhat it is to do:";
  for (const std::string& line : lines_of_plan(healing, world.host())) mail += "\n  " + line;
  world.tell(healing, "Healing needs approval", effect::Cause::State::Failed, mail);
  world.save(healing);
}

/// Nobody has answered yet. A brake that closes meanwhile changes nothing of the request. Whether it has ended, or goes
/// on without an answer.
bool Healings::await_approval(HealingWorld& world, Healing& healing, const std::optional<BrakeVerdict>& brake) {
  const Instant now = world.now();
  if (!healing.not_before() || !healing.not_before()->over(now)) {
    std::string reason(kAskedFor);
    if (brake) reason += "; " + reason_of(*brake);
    if ((reason == kAskedFor) != (healing.reason() == kAskedFor)) world.save(healing);
    healing.wait_for(std::move(reason));
    return false;
  }
  const bool here = now.mono >= healing.not_before()->mono && healing.not_before()->boot == now.boot;
  const bool runs = healing.plan->approval && healing.plan->approval->else_run && healing.mode != HealingMode::Approval;
  if (!here || !runs) {
    end(world, healing, HealingEnd::Rejected, "nobody has approved it in time");
    return true;
  }
  healing.approved_by = kNobodyInTime;
  healing.approved_early = brakes_.holds(world, healing);
  healing.ask_anew();
  world.save(healing);
  return true;
}

/// What people were asked for, or have approved, is not what would be done now: that is another healing, in its place.
void Healings::ask_for_another_plan(HealingWorld& world, Healing& healing) {
  Healing next = healing;
  next.id = world.ids().healing();
  next.identity = identity_of(next, world.state_word());
  next.queued = healing.place_in_queue();
  next.approved_by.clear();
  next.approved_early = false;
  next.at = stage::Held{};
  const HealingId former = healing.id;
  end(world, healing, HealingEnd::Dropped,
      fmt::format("its plan has changed, so that its request for approval is void; it is requested as healing {}",
                  next.id.number()));
  const Healing& kept = running_.add(std::move(next));
  world
      .record(
          RecordKind::HealingAsked, Severity::Warning, kept.service,
          fmt::format("{} requested by {} (healing {}), in place of healing {}, whose plan has changed", describe(kept),
                      is_rule(kept.by) ? "its rule" : words_of(kept.by), kept.id.number(), former.number()))
      .subject = kept.id.number();
  world.save(kept);
  reevaluate(world);
}

Healings::Answer Healings::approve(HealingWorld& world, HealingId id, const std::string& by, std::string_view plan) {
  Healing* const healing = running_.find(id);
  if (healing == nullptr || healing->stage() != Stage::Approval)
    return {false, fmt::format("no healing {} waits for approval", id.number())};
  if (const std::string hash = hash_of_plan(*healing); !hash.starts_with(to_lower(plan)))
    return {false, fmt::format("nothing was approved: the plan of healing {} is {}, not {}; `healerctl healing status` "
                               "shows it",
                               id.number(), hash.substr(0, kHashShown), plan)};
  census_.forget();
  healing->approved_by = by;
  healing->approved_early = brakes_.holds(world, *healing);
  healing->ask_anew();
  memories_.approved(world, *healing);
  const std::string text = fmt::format("{} approved by {}", describe(*healing), by);
  world.record(RecordKind::HealingStep, Severity::Info, healing->service, text).subject = id.number();
  world.save(*healing);
  const bool early = healing->approved_early;
  consider(world);
  const Healing* const now = running_.find(id);
  return {true, early && now != nullptr && now->waits()
                    ? fmt::format("{}; it begins when nothing holds it back any more ({})", text, now->reason())
                    : text};
}

Healings::Answer Healings::reject(HealingWorld& world, HealingId id, const std::string& by) {
  Healing* const healing = running_.find(id);
  if (healing == nullptr || healing->stage() != Stage::Approval)
    return {false, fmt::format("no healing {} waits for approval", id.number())};
  const std::string text = describe(*healing);
  end(world, *healing, HealingEnd::Rejected, fmt::format("rejected by {}", by));
  return {true, fmt::format("{} rejected", text)};
}

}  // namespace healer::engine
