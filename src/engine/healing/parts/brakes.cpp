// SPDX-License-Identifier: MIT
#include "engine/healing/parts/brakes.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/parts/census.hpp"
#include "engine/healing/parts/closed_brakes.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/memories.hpp"
#include "engine/healing/parts/running.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/world.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

/// People are told of what is held back for so long.
constexpr Duration kLongHeld = minutes{10};

std::string in_group_text(const std::string& group) { return group.empty() ? "" : " in " + group_text(group); }

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

/// Adds what a brake says: `why` it holds back, else `well`.
void say(std::vector<BrakeVerdict>& all, Brake brake, std::string why, std::string well = {}) {
  const bool lets = why.empty();
  all.push_back({.brake = brake, .lets = lets, .text = lets ? std::move(well) : std::move(why)});
}

}  // namespace

std::string reason_of(const BrakeVerdict& verdict) {
  return fmt::format("{}: {}", title_of(verdict.brake), verdict.text);
}

std::string way_out(const BrakeVerdict& brake, const Healing& healing) {
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

// ---- limits

/// What a limit says to a healing. `of_workflow`: it counts those of the plan alone.
BrakeVerdict Brakes::verdict_of(const HealingContext& world, const Healing& healing, const HealingLimit& limit,
                                bool of_workflow) const {
  const BrakeVerdict lets{.brake = Brake::Limit, .lets = true, .text = {}};
  const auto in_group = [&](const std::string& name) { return limit.group.empty() || index_.is_in(name, limit.group); };
  if (!limit.percent && !in_group(healing.target)) return lets;
  std::size_t most = limit.number;
  if (limit.percent)
    most = std::max<std::size_t>(
        1, static_cast<std::size_t>(
               std::floor(static_cast<double>(census_.of(world, limit.group).whole) * limit.number / 100)));
  const std::string& plan = healing.plan->name;
  // One that was asked for before and is checked once more goes first.
  const auto goes_first = [&](const Healing& other) {
    return other.stage() == Stage::Confirming && other.place_in_queue() < healing.place_in_queue();
  };
  const auto counts = [&](const Healing& other) {
    return other.id != healing.id && other.rehearses() == healing.rehearses() && !other.plan->only_alerts() &&
           (!of_workflow || iequals(other.plan->name, plan)) && in_group(other.target);
  };
  std::size_t count = 0;
  if (limit.within > Duration{0} && healing.is_to_undo()) return lets;  // no try begins
  if (limit.within == Duration{0}) {
    for (const auto& [id, other] : healings_.all())
      if ((other.has_place() || goes_first(other)) && counts(other)) ++count;
    if (count < most) return lets;
    return {.brake = Brake::Limit,
            .lets = false,
            .text = fmt::format("{} of {} running{}", count, most, in_group_text(limit.group))};
  }
  // Whose guard is asked, or whose place for a try is, may begin at any time.
  const auto may_begin = [&](const Healing& other) {
    const auto* const claiming = std::get_if<stage::Claiming>(&other.at);
    const bool claims_try = claiming != nullptr && claiming->next == stage::Claiming::For::Try && !other.in_probation;
    return claims_try || other.stage() == Stage::Guarding || goes_first(other);
  };
  for (const auto& [id, other] : healings_.all())
    if (may_begin(other) && counts(other)) ++count;
  std::vector<WallTime> begun;
  for (const WorkflowMemory& memory : memories_.workflows()) {
    if (of_workflow && !iequals(memory.workflow, plan)) continue;
    for (const WorkflowMemory::Try& one : memory.tries)
      if (one.rehearsed == healing.rehearses() && one.when > world.now().wall - limit.within && in_group(one.target))
        begun.push_back(one.when);
  }
  const std::size_t asked = count;
  count += begun.size();
  if (count < most) return lets;
  BrakeVerdict over{.brake = Brake::Limit,
                    .lets = false,
                    .text = fmt::format("{} of {} started within {}{}", count, most, format_duration(limit.within),
                                        in_group_text(limit.group))};
  std::ranges::sort(begun);
  if (asked < most) over.left = begun[count - most] + limit.within - world.now().wall;
  return over;
}

BrakeVerdict Brakes::limit(const HealingContext& world, const Healing& healing) const {
  BrakeVerdict verdict{.brake = Brake::Limit, .lets = true, .text = {}};
  if (healing.overrides.limit)
    return {.brake = Brake::Limit, .lets = true, .text = "overridden by " + healing.overridden_by};
  const auto ask = [&](const HealingLimit& one, bool of_workflow) {
    if (!verdict.lets) return;
    verdict = verdict_of(world, healing, one, of_workflow);
  };
  for (const HealingLimit& one : world.graph().settings->healing.limits) ask(one, false);
  for (const HealingLimit& one : healing.plan->limits) ask(one, true);
  if (!healing.plan->ramp.empty()) {
    const WorkflowMemory* const memory = memories_.workflow(healing.plan->name);
    const bool rested = memory == nullptr || world.now().wall - memory->active > kRampRest;
    const std::size_t at = rested ? 0 : std::min<std::size_t>(memory->ramp, healing.plan->ramp.size() - 1);
    ask({.number = healing.plan->ramp[at], .percent = false, .group = {}, .within = Duration{0}}, true);
  }
  return verdict;
}

// ---- all of them

/// The healing that its target is left to first, for people; empty: there is none.
std::string Brakes::rival_of(const Healing& healing) const {
  std::string other;
  healings_.visit_rivals(index_, healing.target, [&](const Healing& rival) {
    if (rival.id == healing.id || rival.rehearses() != healing.rehearses()) return;
    if (rival.locks())
      other = fmt::format("{} is being healed (healing {})", rival.target, rival.id.number());
    else if (iequals(rival.target, healing.target) &&
             (rival.place_in_queue() < healing.place_in_queue() || rival.stage() == Stage::Confirming) &&
             !rival.plan->only_alerts() && other.empty())
      other = fmt::format("healing {} of it was requested before", rival.id.number());
  });
  return other;
}

/// What the services say that have a say.
void Brakes::ask_services(const HealingContext& world, const Healing& healing, std::vector<BrakeVerdict>& all) const {
  const std::vector<ServiceId> services = concerned(world, index_, healing);
  std::string paused, busy, needs, list;
  for (const ServiceId service : services) {
    if (paused.empty()) paused = world.paused(service);
    if (busy.empty()) busy = world.busy(service);
    if (list.empty()) list = world.list_doubt(service);
    for (const ServiceId needed : world.failed_requirements(service))  // what is healed itself is no reason to wait
      if (needs.empty() && std::ranges::find(services, needed) == services.end()) needs = world.graph().at(needed).name;
  }
  if (paused.empty()) paused = world.all_paused();
  if (list.empty() && !healing.row.empty() && index_.services_of(world.graph(), healing.target).empty())
    list = world.lists_doubt();
  if (healing.overrides.pause)
    say(all, Brake::Pause, {}, paused.empty() ? "" : "overridden by " + healing.overridden_by);
  else
    say(all, Brake::Pause, std::move(paused));
  say(all, Brake::Doubt, world.doubt());
  say(all, Brake::Names, nameless(world, healing) ? "name servers do not answer" : "");
  say(all, Brake::List, std::move(list));
  say(all, Brake::Dependency, needs.empty() ? "" : needs + ", which it depends on, has failed");
  say(all, Brake::Jobs, busy.empty() ? "" : busy + " is under way");
}

std::vector<BrakeVerdict> Brakes::verdicts(const HealingContext& world, const Healing& healing) const {
  std::vector<BrakeVerdict> all_verdicts;
  const Instant now = world.now();
  say(all_verdicts, Brake::OneAtATime, rival_of(healing));
  if (healing.plan->only_alerts()) return all_verdicts;
  ask_services(world, healing, all_verdicts);
  const WorkflowMemory* const memory = memories_.workflow(healing.plan->name);
  say(all_verdicts, Brake::Breaker,
      memory == nullptr || !memory->open
          ? ""
          : fmt::format("too many healings with {0} have failed{1}; `healerctl healing reset {0}` lets them go on",
                        healing.plan->name,
                        memory->failed.empty() ? "" : fmt::format(" (of {})", names_text(memory->failed_targets()))));
  std::string closed = closed_.holding(world, healing);
  if (healing.overrides.pause)
    say(all_verdicts, Brake::PauseWhile, {}, closed.empty() ? "" : "overridden by " + healing.overridden_by);
  else
    say(all_verdicts, Brake::PauseWhile, std::move(closed));
  all_verdicts.push_back(limit(world, healing));
  const TargetMemory* const rest = memories_.target(healing.target, healing.rehearses());
  const Duration left = rest == nullptr || healing.stage() == Stage::Between ? Duration{0} : rest->cooldown.left(now);
  if (rest != nullptr && healing.stage() == Stage::Held && !healing.by_person() && rest->in_vain())
    say(all_verdicts, Brake::Recovery,
        fmt::format("healing {} did not help: no rule heals it again until it has recovered; `healerctl heal {}` heals "
                    "it before that",
                    rest->healing.number(), healing.target));
  const auto lasts = [&](Brake brake, Duration time, std::string why, std::string well = {}) {
    say(all_verdicts, brake, std::move(why), std::move(well));
    if (!all_verdicts.back().lets) all_verdicts.back().left = time;
  };
  if (healing.overrides.cooldown)
    say(all_verdicts, Brake::Cooldown, {}, left > Duration{0} ? "overridden by " + healing.overridden_by : "");
  else
    lasts(Brake::Cooldown, left, left == Duration{0} ? "" : fmt::format("another {}", format_duration(left)));
  if (healing.not_before() && healing.stage() != Stage::Approval && !healing.not_before()->over(now))
    lasts(Brake::Again, healing.not_before()->left(now),
          fmt::format("{}; asked again in {}", healing.failure.empty() ? "refused" : healing.failure,
                      format_duration(healing.not_before()->left(now))));
  if (healing.stage() == Stage::Held && !healing.seen)
    lasts(Brake::Storm, healing.asked + world.graph().settings->cycle_length() - now.wall,
          census_.judged_since(world, healing) ? "" : "waits up to one cycle to see whether others fail, too");
  return all_verdicts;
}

std::optional<BrakeVerdict> Brakes::closed_since(const HealingContext& world, const Healing& healing) const {
  census_.forget();
  if (!condition_stands(world, index_, healing))
    return BrakeVerdict{.brake = Brake::Check, .lets = false, .text = "its target no longer fails"};
  // Its place it has: to ask for that again could hold up all for ever.
  constexpr Brake kAskedAgain[] = {Brake::Pause, Brake::Doubt,   Brake::Names,
                                   Brake::List,  Brake::Breaker, Brake::PauseWhile};
  for (BrakeVerdict& verdict : counted_verdicts(world, healing))
    if (!verdict.lets && std::ranges::find(kAskedAgain, verdict.brake) != std::end(kAskedAgain))
      return std::move(verdict);
  return std::nullopt;
}

std::optional<BrakeVerdict> Brakes::first(const HealingContext& world, const Healing& healing) const {
  for (BrakeVerdict& verdict : verdicts(world, healing))
    if (!verdict.lets) return std::move(verdict);
  return {};
}

bool Brakes::holds(const HealingContext& world, const Healing& healing) const {
  return std::ranges::any_of(verdicts(world, healing),
                             [](const BrakeVerdict& one) { return !one.lets && one.brake != Brake::Doubt; });
}

bool Brakes::wants_approval(const HealingContext& world, const Healing& healing) const {
  if (!healing.approved_by.empty() || healing.plan->only_alerts()) return false;
  if (healing.mode == HealingMode::Approval) return true;
  const std::optional<Approval>& approval = healing.plan->approval;
  if (!approval || healing.rehearses()) return false;
  return !approval->when || census_.of(world, approval->when->group).percent() > approval->when->above;
}

bool Brakes::rests(std::string_view target, Instant now) const {
  bool locked = false;
  healings_.visit_rivals(index_, target, [&](const Healing& healing) { locked = locked || healing.locks(); });
  if (locked) return true;
  const TargetMemory* const memory = memories_.target(target, false);
  return memory != nullptr && (!memory->cooldown.over(now) || memory->in_vain());
}

std::optional<Duration> Brakes::asked_again(const HealingContext& world) const {
  const Instant now = world.now();
  Duration next = now.mono + world.graph().settings->cycle_length();
  const auto in = [&](Duration left) {
    if (left > Duration{0}) next = std::min(next, now.mono + left);
  };
  bool waits = !closed_.empty();
  std::set<Duration> spans;  // of limits
  const auto add_spans = [&](const std::vector<HealingLimit>& limits) {
    for (const HealingLimit& limit : limits)
      if (limit.within > Duration{0}) spans.insert(limit.within);
  };
  for (const auto& [id, healing] : healings_.all()) {
    if (!healing.waits()) continue;
    waits = true;
    if (healing.stage() == Stage::Held && !healing.seen)
      in(healing.asked + world.graph().settings->cycle_length() - now.wall);
    if (!healing.notified_long) in(healing.held_since.value_or(healing.asked) + kLongHeld - now.wall);
    add_spans(healing.plan->limits);
  }
  if (!waits) return std::nullopt;
  if (const auto released = world.time_releases()) in(*released - now.mono);
  for (const TargetMemory& memory : memories_.targets()) in(memory.cooldown.left(now));
  add_spans(world.graph().settings->healing.limits);
  for (const Duration span : spans)
    for (const WorkflowMemory& memory : memories_.workflows())
      for (const WorkflowMemory::Try& begun : memory.tries) in(begun.when + span - now.wall);
  return next;
}

void Brakes::hold(HealingWorld& world, Healing& healing, const BrakeVerdict& brake) const {
  const bool other = healing.held_by() != brake.brake;
  const std::string reason = reason_of(brake);
  healing.wait_for(reason, brake.brake);
  if (other) {
    world
        .record(RecordKind::HealingHeld, Severity::Info, healing.service,
                fmt::format("{} is held back: {}", describe(healing), reason))
        .subject = healing.id.number();
    world.save(healing);
  }
  // Its next try is a matter of its plan, and a refusal was told. That a breaker has stopped it nobody would expect.
  const WallTime now = world.now().wall;
  const bool by_plan = brake.brake == Brake::Again && (healing.stage() == Stage::Between || healing.refused);
  if (!healing.held_since && !by_plan) healing.held_since = now;
  const bool stopped = brake.brake == Brake::Breaker;
  if (healing.notified_long || by_plan || (!stopped && now - *healing.held_since < kLongHeld)) return;
  healing.notified_long = true;
  std::string text = fmt::format(
      "{} {}: {}", describe(healing),
      stopped ? "is held back" : "has been held back for " + format_duration(now - *healing.held_since), reason);
  for (const BrakeVerdict& verdict : verdicts(world, healing))
    if (!verdict.lets && verdict.brake == brake.brake)
      if (const std::string out = way_out(verdict, healing); !out.empty()) text += "; " + out;
  world.tell(healing, "Healing held back", effect::Cause::State::Failed, text);
  world.save(healing);
}

// ---- for people

std::vector<BrakeVerdict> Brakes::fresh_verdicts(const HealingContext& world, const Healing& healing) const {
  census_.forget();
  return verdicts(world, healing);
}

/// As verdicts(), for one that does not wait, or not yet: brakes that go by how many of a group are not well close for
/// what waits, and are asked here whether they would.
std::vector<BrakeVerdict> Brakes::counted_verdicts(const HealingContext& world, const Healing& healing) const {
  std::vector<BrakeVerdict> all_verdicts = verdicts(world, healing);
  const auto pause = std::ranges::find(all_verdicts, Brake::PauseWhile, &BrakeVerdict::brake);
  if (pause == all_verdicts.end() || !pause->lets || healing.overrides.pause) return all_verdicts;
  if (std::string why = closed_.would_hold(world, healing); !why.empty()) {
    pause->lets = false;
    pause->text = std::move(why);
  }
  return all_verdicts;
}

std::vector<BrakeVerdict> Brakes::preview(const HealingContext& world, ServiceId service,
                                          const HealOrder& order) const {
  const ServiceBlock& block = world.graph().at(service);
  Healing healing{.id = {},
                  .target = order.target.empty() ? block.target() : index_.meant_by(world.graph(), order.target),
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
  census_.forget();
  return counted_verdicts(world, healing);
}

std::vector<std::string> Brakes::unwell_of_closed(const HealingContext& world) const {
  census_.forget();
  return closed_.unwell(world);
}

}  // namespace healer::engine
