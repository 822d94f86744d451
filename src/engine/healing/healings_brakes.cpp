// SPDX-License-Identifier: MIT
// What guards and brakes say to a healing: counts of groups, limits, pauses (language 3.7).
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

/// A ramp begins again when nothing was healed or held for so long.
constexpr Duration kRampRest = hours{1};

std::string percent_text(double percent) { return fmt::format("{:.3g} %", percent); }

std::string in_group_text(const std::string& group) { return group.empty() ? "" : " in " + group_text(group); }

/// "n1, n2 and 3 more".
std::string named(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? text + fmt::format(" and {} more", names.size() - kMost) : text;
}

}  // namespace

namespace {

constexpr std::array<std::string_view, kBrakes> kWords{
    "one at a time", "pause",    "doubt",    "names", "list",  "dependency", "jobs", "breaker", "pause while",
    "limit",         "recovery", "cooldown", "again", "storm", "secrets",    "look", "workflow"};

}  // namespace

std::string_view to_string(Brake brake) { return kWords.at(static_cast<std::size_t>(brake)); }

std::string_view title_of(Brake brake) { return brake == Brake::Limit ? "limit reached" : to_string(brake); }

std::string reason_of(const BrakeVerdict& verdict) {
  return fmt::format("{}: {}", title_of(verdict.brake), verdict.text);
}

/// Not well is what has failed, is being healed, waits for it, is paused, is not known or judged, or was unmonitored by
/// a rule; left out is what a person has unmonitored.
Healings::Fitness Healings::fitness(const HealingWorld& world, const Target& target) const {
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
    if (target.fitness != Fitness::Well) groups_[at].census.unhealthy += static_cast<std::size_t>(sign);
    if (target.fitness == Fitness::Paused) groups_[at].census.paused += static_cast<std::size_t>(sign);
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
  if (healing.plan->only_alerts()) return brakes;
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
                                .since = world.now().wall,
                                .notified = false});
      changed = true;
      world.record(RecordKind::HealingHeld, Severity::Error, {},
                   fmt::format("workflow {} is paused: {}, more than {}", healing.plan->name, describe(now, group),
                               percent_text(brake.above)));
    }
  }
  // Whether a brake of the same workflow that is closed, and told, holds back all that this one does: the same machines
  // may be a list and a group.
  const auto is_reported = [&](const ClosedBrake& closed) {
    return std::ranges::any_of(memory_.closed, [&](const ClosedBrake& other) {
      return &other != &closed && other.notified && iequals(other.workflow, closed.workflow) &&
             std::ranges::all_of(targets_, [&](const Target& one) {
               return !is_in(one.name, closed.group) || is_in(one.name, other.group);
             });
    });
  };
  std::map<std::string, std::vector<const ClosedBrake*>> closed_now;  // people are told once of each workflow
  for (ClosedBrake& closed : memory_.closed) {
    // What people have paused, or the rules for a while, is no news to them.
    if (closed.notified || census(world, closed.group).ill_percent() <= closed.above) continue;
    changed = true;
    if (!is_reported(closed)) closed_now[to_lower(closed.workflow)].push_back(&closed);
    closed.notified = true;
  }
  for (const auto& [workflow, brakes] : closed_now) {
    std::string why;
    for (const ClosedBrake* const closed : brakes)
      why += fmt::format("{}{}, more than {}", why.empty() ? "" : "; ",
                         describe(census(world, closed->group), closed->group), percent_text(closed->above));
    std::vector<std::string> held;
    for (const auto& [id, healing] : healings_)
      if (healing.waits() && iequals(healing.plan->name, workflow) &&
          std::ranges::any_of(brakes, [&](const ClosedBrake* one) { return is_in(healing.target, one->group); }))
        held.push_back(healing.target);
    world.notify_everyone(
        "Healing paused", effect::Cause::State::Failed,
        fmt::format("workflow {} is paused: {}; held back: {}; `healerctl heal NAME --override pause` heals "
                    "one of them none the less",
                    brakes.front()->workflow, why, named(held)));
  }
  std::vector<ClosedBrake> opened;
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
    world.record(RecordKind::HealingStep, Severity::Info, {},
                 fmt::format("workflow {} goes on: {}", closed.workflow, describe(now, closed.group)));
    if (closed.notified) opened.push_back(closed);
    return true;
  });
  std::map<std::string, std::string> texts;
  for (const ClosedBrake& closed : opened) {
    if (is_reported(closed)) continue;  // something that people were told of holds the same back still
    const auto [text, is_first] = texts.try_emplace(to_lower(closed.workflow));
    text->second += is_first ? fmt::format("workflow {} goes on: ", closed.workflow) : "; ";
    text->second += describe(census(world, closed.group), closed.group);
  }
  for (const auto& [workflow, text] : texts)
    world.notify_everyone("Healing resumed", effect::Cause::State::Succeeded, text);
  if (changed) world.save(memory_.closed);
}

/// What a limit says to a healing. `of_workflow`: it counts those of the plan alone.
BrakeVerdict Healings::verdict_of(const HealingWorld& world, const Healing& healing, const HealingLimit& limit,
                                  bool of_workflow) const {
  const BrakeVerdict lets{.brake = Brake::Limit, .lets = true, .text = {}};
  const auto in_group = [&](const std::string& name) { return limit.group.empty() || is_in(name, limit.group); };
  if (!limit.percent && !in_group(healing.target)) return lets;
  std::size_t most = limit.number;
  if (limit.percent)
    most = std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(
                                        static_cast<double>(census(world, limit.group).whole) * limit.number / 100)));
  const std::string& plan = healing.plan->name;
  // One that was asked for before and is checked once more goes first.
  const auto goes_first = [&](const Healing& other) {
    return other.stage == Stage::Confirming && other.place_in_queue() < healing.place_in_queue();
  };
  const auto counts = [&](const Healing& other) {
    return other.id != healing.id && other.rehearses() == healing.rehearses() && !other.plan->only_alerts() &&
           (!of_workflow || iequals(other.plan->name, plan)) && in_group(other.target);
  };
  std::size_t count = 0;
  if (limit.within > Duration{0} && healing.is_to_undo()) return lets;  // no try begins
  if (limit.within == Duration{0}) {
    for (const auto& [id, other] : healings_)
      if ((other.has_place() || goes_first(other)) && counts(other)) ++count;
    if (count < most) return lets;
    return {.brake = Brake::Limit,
            .lets = false,
            .text = fmt::format("{} of {} running{}", count, most, in_group_text(limit.group))};
  }
  // Whose guard is asked may begin at any time.
  for (const auto& [id, other] : healings_)
    if ((other.stage == Stage::Guarding || goes_first(other)) && counts(other)) ++count;
  std::vector<WallTime> begun;
  for (const WorkflowMemory& memory : memory_.workflows) {
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

BrakeVerdict Healings::limit_verdict(const HealingWorld& world, const Healing& healing) const {
  BrakeVerdict verdict{.brake = Brake::Limit, .lets = true, .text = {}};
  if (healing.overrides.limit)
    return {.brake = Brake::Limit, .lets = true, .text = "overridden by " + healing.overridden_by};
  const auto ask = [&](const HealingLimit& limit, bool of_workflow) {
    if (!verdict.lets) return;
    verdict = verdict_of(world, healing, limit, of_workflow);
  };
  for (const HealingLimit& limit : world.graph().settings->healing.limits) ask(limit, false);
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
  std::vector<BrakeVerdict> all_verdicts;
  const auto say = [&](Brake brake, std::string why, std::string well = {}) {
    const bool lets = why.empty();
    all_verdicts.push_back({.brake = brake, .lets = lets, .text = lets ? std::move(well) : std::move(why)});
  };
  const Instant now = world.now();
  std::string other;
  visit_rivals(healing.target, [&](const Healing& rival) {
    if (rival.id == healing.id || rival.rehearses() != healing.rehearses()) return;
    if (rival.locks())
      other = fmt::format("{} is being healed (healing {})", rival.target, rival.id.number());
    else if (iequals(rival.target, healing.target) &&
             (rival.place_in_queue() < healing.place_in_queue() || rival.stage == Stage::Confirming) &&
             !rival.plan->only_alerts() && other.empty())
      other = fmt::format("healing {} of it was requested before", rival.id.number());
  });
  say(Brake::OneAtATime, std::move(other));
  if (healing.plan->only_alerts()) return all_verdicts;

  const std::vector<ServiceId> services = concerned(world, healing);
  std::string paused, busy, needs, list;
  for (const ServiceId service : services) {
    if (paused.empty()) paused = world.paused(service);
    if (busy.empty()) busy = world.busy(service);
    if (list.empty()) list = world.list_doubt(service);
    for (const ServiceId needed : world.failed_requirements(service))  // what is healed itself is no reason to wait
      if (needs.empty() && std::ranges::find(services, needed) == services.end()) needs = world.graph().at(needed).name;
  }
  if (paused.empty()) paused = world.all_paused();
  if (list.empty() && !healing.row.empty() && services_of(world.graph(), healing.target).empty())
    list = world.lists_doubt();
  if (healing.overrides.pause)
    say(Brake::Pause, {}, paused.empty() ? "" : "overridden by " + healing.overridden_by);
  else
    say(Brake::Pause, std::move(paused));
  say(Brake::Doubt, world.doubt());
  say(Brake::Names, nameless(world, healing) ? "name servers do not answer" : "");
  say(Brake::List, std::move(list));
  say(Brake::Dependency, needs.empty() ? "" : needs + ", which it depends on, has failed");
  say(Brake::Jobs, busy.empty() ? "" : busy + " is under way");
  const WorkflowMemory* const memory = workflow_memory(healing.plan->name);
  say(Brake::Breaker,
      memory == nullptr || !memory->open
          ? ""
          : fmt::format("too many healings with {0} have failed{1}; `healerctl healing reset {0}` lets them go on",
                        healing.plan->name,
                        memory->failed.empty() ? "" : fmt::format(" (of {})", named(memory->failed_targets()))));
  std::string closed;
  for (const auto& [group, brake] : pauses_of(healing))
    for (const ClosedBrake& one : memory_.closed)
      if (to_lower(one.workflow) == to_lower(healing.plan->name) && one.group == group && one.above == brake.above)
        closed = describe_closed(census(world, group), group, one.above, one.until);
  if (healing.overrides.pause)
    say(Brake::PauseWhile, {}, closed.empty() ? "" : "overridden by " + healing.overridden_by);
  else
    say(Brake::PauseWhile, std::move(closed));
  all_verdicts.push_back(limit_verdict(world, healing));
  const TargetMemory* const rest = target_memory(healing.target, healing.rehearses());
  const Duration left = rest == nullptr || healing.stage == Stage::Between ? Duration{0} : rest->cooldown.left(now);
  if (rest != nullptr && healing.stage == Stage::Held && !healing.by_person() && rest->in_vain())
    say(Brake::Recovery,
        fmt::format("healing {} did not help: no rule heals it again until it has recovered; `healerctl heal {}` heals "
                    "it before that",
                    rest->healing.number(), healing.target));
  const auto lasts = [&](Brake brake, Duration time, std::string why, std::string well = {}) {
    say(brake, std::move(why), std::move(well));
    if (!all_verdicts.back().lets) all_verdicts.back().left = time;
  };
  if (healing.overrides.cooldown)
    say(Brake::Cooldown, {}, left > Duration{0} ? "overridden by " + healing.overridden_by : "");
  else
    lasts(Brake::Cooldown, left, left == Duration{0} ? "" : fmt::format("another {}", format_duration(left)));
  if (healing.not_before && healing.stage != Stage::Approval && !healing.not_before->over(now))
    lasts(Brake::Again, healing.not_before->left(now),
          fmt::format("{}; asked again in {}", healing.failure.empty() ? "refused" : healing.failure,
                      format_duration(healing.not_before->left(now))));
  if (healing.stage == Stage::Held && !healing.seen)
    lasts(Brake::Storm, healing.asked + world.graph().settings->cycle_length() - now.wall,
          judged_since(world, healing) ? "" : "waits up to one cycle to see whether others fail, too");
  return all_verdicts;
}

/// Whether it is asked for only by rules that say nothing of the target: no name server has answered when they were
/// judged last.
bool Healings::nameless(const HealingWorld& world, const Healing& healing) {
  if (healing.by_person()) return false;
  bool found = false;
  const auto says = [&](const Trigger& one) {
    if (!trigger_stands(world, healing, one)) return false;
    found = true;
    return !world.holds_nameless(*world.graph().find(one.service), one.rule);
  };
  return !says({healing.service, healing.rule}) && std::ranges::none_of(healing.also, says) && found;
}

std::optional<BrakeVerdict> Healings::first_brake(const HealingWorld& world, const Healing& healing) const {
  for (BrakeVerdict& verdict : verdicts(world, healing))
    if (!verdict.lets) return std::move(verdict);
  return {};
}

/// A storm must be seen before the first healing of it starts: every target of its groups has been judged since the
/// firing, or a cycle has passed.
bool Healings::judged_since(const HealingWorld& world, const Healing& healing) const {
  if (world.now().wall - healing.asked >= world.graph().settings->cycle_length()) return true;
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

/// The ramp of a workflow begins again when nothing of it was held or healed for long.
void Healings::keep_active(HealingWorld& world, const std::string& workflow) {
  WorkflowMemory& memory = workflow_memory(workflow);
  const Duration since = world.now().wall - memory.active;
  if (since <= kRampRest / 2) return;
  if (since > kRampRest) memory.ramp = memory.verified = 0;
  memory.active = world.now().wall;
  world.save(memory);
}

}  // namespace healer::engine
