// SPDX-License-Identifier: MIT
// Whether a healing may start: conditions, brakes, approval, one more look (language 3.4, "Order of a start").
#include <algorithm>
#include <cmath>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/job.hpp"
#include "engine/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

/// A ramp begins again when nothing was healed or held for so long.
constexpr Duration kRampRest = hours{1};
/// People are told of what is held back for so long.
constexpr Duration kLongHeld = minutes{15};

constexpr std::string_view kDoubt = "doubt";

std::string percent_text(double percent) { return fmt::format("{:.3g} %", percent); }

std::string group_text(const std::string& group) { return group.empty() ? "" : " of group " + group; }

}  // namespace

/// Not well is what has failed, is being healed, waits for it, is paused, is not known or judged, or was unmonitored by
/// a rule; left out is what a person has unmonitored.
Healings::Fitness Healings::fitness(const HealingWorld& world, const Target& target) const {
  bool monitored = false;
  bool well = true;
  for (const ServiceId service : target.services) {
    const Health health = world.health(service);
    if (health == Health::Unmonitored && !world.given_up(service)) continue;
    monitored = true;
    well = well && health == Health::Ok && world.paused(service).empty();
  }
  if (!monitored) return Fitness::LeftOut;
  const auto of = of_target_.find(target.name);
  // What a person asks for and is held back may be well: it must not hold back others, and itself, for ever.
  const auto in_repair = [&](HealingId id) {
    const Healing& healing = healings_.at(id);
    return !healing.rehearses() && (healing.locks() || (healing.waits() && !healing.by_person()));
  };
  if (well && of != of_target_.end()) well = std::ranges::none_of(of->second, in_repair);
  return well ? Fitness::Well : Fitness::Unwell;
}

/// All targets, once a turn.
void Healings::count(const HealingWorld& world) const {
  for (const Group& group : groups_) group.census = {};
  for (const Target& target : targets_) {
    target.fitness = fitness(world, target);
    count(target, 1);
  }
  counted_ = true;
}

/// Puts a target into the counts of its groups (1), or takes it out (-1).
void Healings::count(const Target& target, int sign) const {
  if (target.fitness == Fitness::LeftOut) return;
  for (const std::uint32_t at : target.groups) {
    groups_[at].census.whole += static_cast<std::size_t>(sign);
    if (target.fitness == Fitness::Unwell) groups_[at].census.unhealthy += static_cast<std::size_t>(sign);
  }
}

/// A healing of the target has come, gone, or gone on.
void Healings::count_again(const HealingWorld& world, std::string_view name) const {
  const Target* const known = target(name);
  if (!counted_ || known == nullptr) return;
  count(*known, -1);
  known->fitness = fitness(world, *known);
  count(*known, 1);
}

void Healings::forget_counts() const {
  counted_ = false;
  for (const Group& group : groups_) group.oldest.reset();
}

Healings::Census Healings::census(const HealingWorld& world, std::string_view group) const {
  if (!counted_) count(world);
  const auto known = group_at_.find(to_lower(group));
  return known == group_at_.end() ? Census{} : groups_[known->second].census;
}

/// The brakes of a healing's plan by group; the default one by each group of its target.
std::vector<std::pair<std::string, PauseWhile>> Healings::pauses_of(const Healing& healing) const {
  std::vector<std::pair<std::string, PauseWhile>> brakes;
  if (healing.plan->only_tells()) return brakes;
  for (const PauseWhile& brake : healing.plan->pauses) {
    if (!brake.group.empty()) {
      brakes.emplace_back(to_lower(brake.group), brake);
      continue;
    }
    const Target* const known = target(healing.target);
    if (known == nullptr) continue;
    for (const std::uint32_t at : known->groups)
      if (groups_[at].targets.size() >= kFewest) brakes.emplace_back(groups_[at].name, brake);
  }
  return brakes;
}

/// Closes and opens the brakes that go by how many of a group are not well, and tells people, once each.
void Healings::watch_brakes(HealingWorld& world) {
  bool changed = false;
  const auto is_same = [](const ClosedBrake& closed, const Healing& healing, const std::string& group,
                          const PauseWhile& brake) {
    return to_lower(closed.workflow) == to_lower(healing.plan->name) && closed.group == group &&
           closed.above == brake.above;
  };
  // While healer doubts what it sees nothing starts anyway: nobody is told that much is not well, as at each start.
  const bool doubts = !world.doubt().empty();
  for (const auto& [id, healing] : healings_) {
    if (doubts || !healing.waits()) continue;
    for (const auto& [group, brake] : pauses_of(healing)) {
      if (std::ranges::any_of(memory_.closed,
                              [&](const ClosedBrake& closed) { return is_same(closed, healing, group, brake); }))
        continue;
      const Census now = census(world, group);
      if (brake.group.empty() && now.whole < kFewest) continue;
      if (now.percent() <= brake.above) continue;
      memory_.closed.push_back({.workflow = healing.plan->name,
                                .group = group,
                                .above = brake.above,
                                .until = brake.until,
                                .since = world.now().wall});
      changed = true;
      const std::string text =
          fmt::format("workflow {} is paused: {} of {} in group {} are not well, more than {}", healing.plan->name,
                      now.unhealthy, now.whole, group, percent_text(brake.above));
      world.record(RecordKind::HealingHeld, Severity::Error, {}, text);
      world.tell_all("Healing paused", effect::Cause::State::Failed, text);
    }
  }
  std::erase_if(memory_.closed, [&](const ClosedBrake& closed) {
    // By the rules, or by a plan that something goes by which has begun before they were changed.
    const std::shared_ptr<const Workflow> plan = world.graph().workflow(closed.workflow);
    const bool known =
        (plan != nullptr && std::ranges::any_of(plan->pauses,
                                                [&](const PauseWhile& brake) {
                                                  return brake.above == closed.above &&
                                                         (brake.group.empty() || iequals(brake.group, closed.group));
                                                })) ||
        std::ranges::any_of(healings_, [&](const auto& entry) {
          return entry.second.waits() && std::ranges::any_of(pauses_of(entry.second), [&](const auto& brake) {
                   return is_same(closed, entry.second, brake.first, brake.second);
                 });
        });
    const Census now = census(world, closed.group);
    const bool opens = !known || (closed.until ? now.percent() < *closed.until : now.percent() <= closed.above);
    if (!opens) return false;
    changed = true;
    const std::string text = fmt::format("workflow {} goes on: {} of {} in group {} are not well", closed.workflow,
                                         now.unhealthy, now.whole, closed.group);
    world.record(RecordKind::HealingStep, Severity::Info, {}, text);
    world.tell_all("Healing resumed", effect::Cause::State::Succeeded, text);
    return true;
  });
  if (changed) world.save(memory_.closed);
}

/// Why a limit lets no other healing begin; empty: it does. `of_workflow`: it counts those of the plan alone.
std::string Healings::over_limit(const HealingWorld& world, const Healing& healing, const HealingLimit& limit,
                                 bool of_workflow) const {
  const auto in_group = [&](const std::string& name) { return limit.group.empty() || is_in(name, limit.group); };
  if (!limit.percent && !in_group(healing.target)) return {};
  std::size_t most = limit.number;
  if (limit.percent)
    most = std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(
                                        static_cast<double>(census(world, limit.group).whole) * limit.number / 100)));
  const std::string& plan = healing.plan->name;
  // One that was asked for before and is looked at once more goes first.
  const auto goes_first = [&](const Healing& other) {
    return other.stage == Stage::Confirming && other.id < healing.id;
  };
  const auto counts = [&](const Healing& other) {
    return other.id != healing.id && other.rehearses() == healing.rehearses() && !other.plan->only_tells() &&
           (!of_workflow || iequals(other.plan->name, plan)) && in_group(other.target);
  };
  std::size_t count = 0;
  if (limit.within == Duration{0}) {
    for (const auto& [id, other] : healings_)
      if ((other.has_place() || goes_first(other)) && counts(other)) ++count;
    return count < most ? std::string() : fmt::format("{} at once{} under way", count, group_text(limit.group));
  }
  // Whose guard is asked may begin at any time.
  for (const auto& [id, other] : healings_)
    if ((other.stage == Stage::Guarding || goes_first(other)) && counts(other)) ++count;
  for (const WorkflowMemory& memory : memory_.workflows) {
    if (of_workflow && !iequals(memory.workflow, plan)) continue;
    for (const WorkflowMemory::Try& begun : memory.tries)
      if (begun.rehearsed == healing.rehearses() && begun.when > world.now().wall - limit.within &&
          in_group(begun.target))
        ++count;
  }
  return count < most
             ? std::string()
             : fmt::format("{} begun within {}{}", count, format_duration(limit.within), group_text(limit.group));
}

BrakeVerdict Healings::limit_verdict(const HealingWorld& world, const Healing& healing) const {
  BrakeVerdict verdict{.brake = "limit", .lets = true, .text = {}};
  if (healing.overrides.limit) return {.brake = "limit", .lets = true, .text = "set aside by " + healing.overridden_by};
  const auto ask = [&](const HealingLimit& limit, bool of_workflow) {
    if (!verdict.lets) return;
    if (std::string over = over_limit(world, healing, limit, of_workflow); !over.empty())
      verdict = {.brake = "limit", .lets = false, .text = std::move(over)};
  };
  for (const HealingLimit& limit : world.graph().settings.healing.limits) ask(limit, false);
  for (const HealingLimit& limit : healing.plan->limits) ask(limit, true);
  if (!healing.plan->ramp.empty()) {
    const WorkflowMemory* const memory = workflow_memory(healing.plan->name);
    const bool rested = memory == nullptr || world.now().wall - memory->active > kRampRest;
    const std::size_t at = rested ? 0 : std::min<std::size_t>(memory->ramp, healing.plan->ramp.size() - 1);
    ask({.number = healing.plan->ramp[at], .percent = false, .group = {}, .within = Duration{0}}, true);
  }
  return verdict;
}

std::vector<BrakeVerdict> Healings::verdicts(const HealingWorld& world, const Healing& healing) const {
  std::vector<BrakeVerdict> said;
  const auto say = [&](std::string brake, std::string why, std::string well = {}) {
    const bool lets = why.empty();
    said.push_back({.brake = std::move(brake), .lets = lets, .text = lets ? std::move(well) : std::move(why)});
  };
  const Instant now = world.now();
  std::string other;
  visit_rivals(healing.target, [&](const Healing& rival) {
    if (rival.id == healing.id || rival.rehearses() != healing.rehearses()) return;
    if (rival.locks())
      other = fmt::format("{} is being healed (healing {})", rival.target, rival.id.number());
    else if (iequals(rival.target, healing.target) && (rival.id < healing.id || rival.stage == Stage::Confirming) &&
             !rival.plan->only_tells() && other.empty())
      other = fmt::format("healing {} of it was asked for before", rival.id.number());
  });
  say("one at a time", std::move(other));
  if (healing.plan->only_tells()) return said;

  const std::vector<ServiceId> services = concerned(world, healing);
  std::string paused, busy, needs, list;
  for (const ServiceId service : services) {
    if (paused.empty()) paused = world.paused(service);
    if (busy.empty()) busy = world.busy(service);
    if (list.empty()) list = world.doubted_list(service);
    for (const ServiceId needed : world.failed_requirements(service))  // what is healed itself is no reason to wait
      if (needs.empty() && std::ranges::find(services, needed) == services.end()) needs = world.graph().at(needed).name;
  }
  if (healing.overrides.pause)
    say("pause", {}, paused.empty() ? "" : "set aside by " + healing.overridden_by);
  else
    say("pause", std::move(paused));
  say(std::string(kDoubt), world.doubt());
  say("list", list.empty()
                  ? ""
                  : fmt::format("nobody knows yet whether the list {} is right; `healerctl accept list {}` says so",
                                list, list));
  say("dependency", needs.empty() ? "" : needs + ", which it depends on, has failed");
  say("jobs", busy.empty() ? "" : busy + " is under way");
  const WorkflowMemory* const memory = workflow_memory(healing.plan->name);
  say("breaker",
      memory == nullptr || !memory->open
          ? ""
          : fmt::format("too many healings with {} have failed; `healerctl healing reset {}` lets them go on",
                        healing.plan->name, healing.plan->name));
  std::string closed;
  for (const auto& [group, brake] : pauses_of(healing))
    for (const ClosedBrake& one : memory_.closed)
      if (to_lower(one.workflow) == to_lower(healing.plan->name) && one.group == group && one.above == brake.above) {
        const Census count = census(world, group);
        closed = fmt::format("{} of {} in group {} are not well", count.unhealthy, count.whole, group);
      }
  if (healing.overrides.pause)
    say("pause while", {}, closed.empty() ? "" : "set aside by " + healing.overridden_by);
  else
    say("pause while", std::move(closed));
  said.push_back(limit_verdict(world, healing));
  const TargetMemory* const rest = target_memory(healing.target, healing.rehearses());
  const Duration left = rest == nullptr || healing.stage == Stage::Between ? Duration{0} : rest->cooldown.left(now);
  if (healing.overrides.cooldown)
    say("cooldown", {}, left > Duration{0} ? "set aside by " + healing.overridden_by : "");
  else
    say("cooldown", left == Duration{0} ? "" : fmt::format("for another {}", format_duration(left)));
  if (rest != nullptr && left == Duration{0} && healing.stage == Stage::Held && !healing.by_person() &&
      stays_failed(world, *rest))
    say("recovery", fmt::format("healing {} has not healed it: nothing more starts by itself until it has recovered",
                                rest->healing.number()));
  if (healing.not_before && healing.stage != Stage::Approval && !healing.not_before->over(now))
    say("again", fmt::format("{}; asked again in {}", healing.failure.empty() ? "refused" : healing.failure,
                             format_duration(healing.not_before->left(now))));
  if (healing.stage == Stage::Held && !healing.seen)
    say("storm", judged_since(world, healing) ? "" : "its groups have not all been judged since");
  return said;
}

std::string Healings::first_brake(const HealingWorld& world, const Healing& healing) const {
  for (const BrakeVerdict& verdict : verdicts(world, healing))
    if (!verdict.lets) return fmt::format("{}: {}", verdict.brake, verdict.text);
  return {};
}

/// A storm must be seen before the first healing of it starts: every target of its groups has been judged since the
/// firing, or a cycle has passed.
bool Healings::judged_since(const HealingWorld& world, const Healing& healing) const {
  if (world.now().wall - healing.asked >= world.graph().settings.cycle_length()) return true;
  const auto own = target_at_.find(to_lower(healing.target));
  if (own == target_at_.end()) return true;
  const Duration since = world.now().mono - (world.now().wall - healing.asked);
  return std::ranges::all_of(targets_[own->second].groups, [&](std::uint32_t at) {
    const Oldest& last = oldest(world, groups_[at]);
    return (last.target == own->second ? last.others : last.when) >= since;
  });
}

/// When the last of a target's services was judged that is watched; the end of time: none is.
Duration Healings::judged(const HealingWorld& world, const Target& target) const {
  Duration oldest = Duration::max();
  for (const ServiceId service : target.services) {
    if (world.health(service) == Health::Unmonitored) continue;
    const auto judged = judged_.find(service.number());
    oldest = std::min(oldest, judged == judged_.end() ? Duration::min() : judged->second);
  }
  return oldest;
}

/// Of a group, once a turn.
const Healings::Oldest& Healings::oldest(const HealingWorld& world, const Group& group) const {
  if (group.oldest) return *group.oldest;
  Oldest last{.target = 0, .when = Duration::max(), .others = Duration::max()};
  for (const std::uint32_t at : group.targets) {
    const Duration when = judged(world, targets_[at]);
    if (when < last.when)
      last = {.target = at, .when = when, .others = last.when};
    else
      last.others = std::min(last.others, when);
  }
  return group.oldest.emplace(last);
}

/// All whose state has a say: the services of the target, those that asked, and what they are made of.
std::vector<ServiceId> Healings::concerned(const HealingWorld& world, const Healing& healing) const {
  std::vector<ServiceId> all;
  const auto add = [&](auto&& self, ServiceId service) -> void {
    if (std::ranges::find(all, service) != all.end()) return;
    all.push_back(service);
    if (world.graph().at(service).has_members())
      for (const ServiceId member : world.graph().members[service.index()]) self(self, member);
  };
  const auto add_named = [&](const std::string& name) {
    if (const auto service = world.graph().find(name)) add(add, *service);
  };
  for (const ServiceId service : services_of(healing.target)) add(add, service);
  add_named(healing.service);
  for (const Trigger& one : healing.also) add_named(one.service);
  return all;
}

/// What the rule that asked says today; null: it is gone, or heals no more.
const HealOrder* Healings::order_of(const HealingWorld& world, const Trigger& trigger) {
  const std::optional<ServiceId> service = world.graph().find(trigger.service);
  if (!service) return nullptr;
  const std::vector<Rule>& rules = world.graph().at(*service).rules;
  const auto rule = std::ranges::find(rules, trigger.rule, &Rule::key);
  return rule == rules.end() ? nullptr : rule->action.heal.get();
}

bool Healings::trigger_stands(const HealingWorld& world, const Trigger& trigger) {
  if (trigger.rule == Hash128{}) return true;  // a person's word
  const std::optional<ServiceId> service = world.graph().find(trigger.service);
  return service && world.health(*service) != Health::Unmonitored && world.stands(*service, trigger.rule);
}

bool Healings::condition_stands(const HealingWorld& world, const Healing& healing) const {
  if (healing.escalated && healing.plan->only_tells()) return true;
  if (!healing.escalated && healing.round == 0)
    return trigger_stands(world, {healing.service, healing.rule}) ||
           std::ranges::any_of(healing.also, [&](const Trigger& one) { return trigger_stands(world, one); });
  // Once begun it goes by its plan, whatever became of the rule: it is over where the target is seen to be well.
  const std::vector<ServiceId> services = services_of(healing.target);
  return services.empty() ||
         !std::ranges::all_of(services, [&](ServiceId one) { return world.health(one) == Health::Ok; });
}

/// The most careful of all that apply.
HealingMode Healings::mode_of(const HealingWorld& world, const Healing& healing) {
  const Settings& settings = world.graph().settings;
  return std::min({healing.plan->mode, settings.healing.mode,
                   healing.dry_run || settings.dry_run ? HealingMode::DryRun : HealingMode::Automatic,
                   settings.shadow ? HealingMode::Shadow : HealingMode::Automatic});
}

bool Healings::wants_approval(const HealingWorld& world, const Healing& healing) const {
  if (!healing.approved_by.empty() || healing.plan->only_tells()) return false;
  if (healing.mode == HealingMode::Approval) return true;
  const std::optional<Approval>& approval = healing.plan->approval;
  if (!approval || healing.rehearses()) return false;
  return !approval->when || census(world, approval->when->group).percent() > approval->when->above;
}

void Healings::note_held(HealingWorld& world, Healing& healing, const std::string& reason) {
  const auto kind_of = [](const std::string& text) { return text.substr(0, text.find(':')); };
  const bool other = kind_of(healing.reason) != kind_of(reason);
  healing.reason = reason;
  if (other) {
    world
        .record(RecordKind::HealingHeld, Severity::Info, healing.service,
                fmt::format("{} is held back: {}", describe(healing), reason))
        .subject = healing.id.number();
    world.save(healing);
  }
  if (!healing.told_long && world.now().wall - healing.asked >= kLongHeld) {
    healing.told_long = true;
    world.tell(healing, "Healing held back", effect::Cause::State::Failed,
               fmt::format("{} has been held back for {}: {}", describe(healing),
                           format_duration(world.now().wall - healing.asked), reason));
    world.save(healing);
  }
}

/// The ramp of a workflow begins again when nothing of it was held or healed for long.
void Healings::keep_active(HealingWorld& world, const std::string& workflow) {
  WorkflowMemory& memory = workflow_memory(workflow);
  const Duration since = world.now().wall - memory.active;
  if (since <= kRampRest / 2) return;
  if (since > kRampRest) memory.ramp = memory.verified = 0;
  memory.active = world.now().wall;
  world.save(memory);
}

/// All that waits, the oldest first; what cannot start lets others pass.
void Healings::consider(HealingWorld& world) {
  stirred_ = false;
  consider_at_.reset();
  forget_counts();
  for (const auto& [id, healing] : healings_) keep_active(world, healing.plan->name);
  watch_brakes(world);
  for (const HealingId id : ids()) {
    Healing* const healing = find(id);
    if (healing == nullptr || !healing->waits()) continue;
    const std::string target = healing->target;
    if (consider(world, *healing)) count_again(world, target);
  }
  if (healings_.empty()) judged_.clear();
  plan_wake(world);
}

/// One that waits. Whether it has gone on, or ended.
bool Healings::consider(HealingWorld& world, Healing& healing) {
  if (healing.stage == Stage::Confirming) {
    // Who is not watched any more is not looked at either.
    auto& looks = confirming_[healing.id];
    std::erase_if(looks, [&](const auto& look) { return world.health(look.first) == Health::Unmonitored; });
    if (!looks.empty()) return false;
    confirmed(world, healing);
    return true;
  }
  const Instant now = world.now();
  if (!condition_stands(world, healing)) {
    if (healing.escalated || healing.round > 0)
      end(world, healing, HealingEnd::Done,
          healing.round > 0 ? "it is well again between its tries" : "it is well again");
    else
      end(world, healing, HealingEnd::Dropped, "its rule does not stand failed any more");
    return true;
  }
  const auto wait_again = [&] {
    healing.stage = healing.escalated ? Stage::Between : Stage::Held;
    healing.not_before.reset();
  };
  if (const HealingMode mode = mode_of(world, healing); mode != healing.mode) {
    healing.mode = mode;
    if (healing.stage == Stage::Approval) wait_again();
    count_again(world, healing.target);
  }
  if (healing.mode == HealingMode::Shadow) {
    end(world, healing, HealingEnd::WouldRun, "shadow");
    return true;
  }
  if (const std::string brake = first_brake(world, healing); !brake.empty()) {
    // Doubt passes, and is no reason to ask people twice.
    const bool doubts = brake.starts_with(kDoubt);
    if (healing.stage == Stage::Approval && !doubts) wait_again();
    if (healing.stage == Stage::Held && !doubts) healing.approved_by.clear();
    note_held(world, healing, brake);
    return false;
  }
  healing.seen = true;
  if (healing.stage == Stage::Approval) {
    if (!healing.not_before || !healing.not_before->over(now)) return false;
    const bool here = now.mono >= healing.not_before->mono && healing.not_before->boot == now.boot;
    if (here && healing.plan->approval && healing.plan->approval->else_run && healing.mode != HealingMode::Approval) {
      healing.approved_by = "nobody in time";
      wait_again();
    } else {
      end(world, healing, HealingEnd::Rejected, "nobody has approved it in time");
      return true;
    }
  }
  if (wants_approval(world, healing)) {
    const Duration within = healing.plan->approval.value_or(Approval{}).within;
    healing.stage = Stage::Approval;
    healing.not_before = Deadline::in(within, now);
    healing.reason = "approval: asked for";
    const std::string text = fmt::format(
        "{} waits for approval, for {}: `healerctl approve {}` or `healerctl reject {}` (plan {})", describe(healing),
        format_duration(within), healing.id.number(), healing.id.number(), to_string(healing.plan->key).substr(0, 8));
    world.record(RecordKind::HealingHeld, Severity::Warning, healing.service, text).subject = healing.id.number();
    world.tell(healing, "Healing wants approval", effect::Cause::State::Failed, text);
    world.save(healing);
    return true;
  }
  if (healing.stage == Stage::Between || healing.by_person() || healing.plan->only_tells())
    take(world, healing);
  else
    confirm(world, healing);
  return true;
}

/// The target is looked at once more.
void Healings::confirm(HealingWorld& world, Healing& healing) {
  healing.stage = Stage::Confirming;
  healing.reason = "its target is looked at once more";
  auto& looks = confirming_[healing.id];
  looks.clear();
  const auto add = [&](const std::string& name) {
    if (const auto service = world.graph().find(name))
      for (const ServiceId member : world.seen_by(*service)) looks.emplace(member, world.now().mono);
  };
  add(healing.service);
  for (const Trigger& one : healing.also) add(one.service);
  world.save(healing);
  if (looks.empty()) return confirmed(world, healing);
  for (const auto& [member, since] : std::map(looks)) world.look(member);
}

void Healings::confirmed(HealingWorld& world, Healing& healing) {
  confirming_.erase(healing.id);
  healing.stage = Stage::Held;
  // One of those that asked for it is enough.
  std::optional<bool> holds;
  const auto ask = [&](const Trigger& one) {
    const auto service = world.graph().find(one.service);
    if (const auto told = service ? world.holds_now(*service, one.rule) : std::nullopt) holds = *told || holds == true;
  };
  ask({healing.service, healing.rule});
  for (const Trigger& one : healing.also) ask(one);
  if (!condition_stands(world, healing)) {
    end(world, healing, HealingEnd::Dropped, "its rule does not stand failed any more");
    return;
  }
  if (holds != true) {
    healing.not_before = Deadline::in(world.graph().settings.cycle_length(), world.now());
    healing.failure = holds ? "it did not fail when it was looked at once more"
                            : "nobody could tell how it is when it was looked at once more";
    note_held(world, healing, "look: " + healing.failure);
    world.save(healing);
    return;
  }
  forget_counts();
  watch_brakes(world);
  if (const std::string brake = first_brake(world, healing); !brake.empty()) {
    note_held(world, healing, brake);
    world.save(healing);
    return;
  }
  take(world, healing);
}

/// Lock and place are taken; the guard is asked, or the try begins.
void Healings::take(HealingWorld& world, Healing& healing) {
  healing.reason.clear();
  healing.not_before.reset();
  healing.failure.clear();
  if (healing.begun == WallTime{}) healing.begun = world.now().wall;
  if (healing.in_probation) {
    if (healing.rehearses()) return end(world, healing, HealingEnd::WouldRun, "dry run: its `on failure`");
    healing.stage = Stage::Failing;
    healing.position = 0;
    healing.failure = "it has failed again in its probation";
    const std::string text = fmt::format("{}: {}", describe(healing), healing.failure);
    world.record(RecordKind::HealingBegun, Severity::Error, healing.service, text).subject = healing.id.number();
    world.save(healing);
    return go_on(world, healing);
  }
  healing.stage = Stage::Guarding;
  if (!healing.plan->guard || (healing.plan->guard->once && healing.round > 0)) return begin_try(world, healing);
  begin_guard(world, healing);
}

}  // namespace healer::engine
