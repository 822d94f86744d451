// SPDX-License-Identifier: MIT
// How a healing starts: conditions, approval, one more look, lock and place (language 3.4, "Order of a start").
#include <algorithm>
#include <cmath>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;

/// People are told of what is held back for so long.
constexpr Duration kLongHeld = minutes{10};

}  // namespace

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
  for (const ServiceId service : services_of(world.graph(), healing.target)) add(add, service);
  add_named(healing.service);
  for (const Trigger& one : healing.also) add_named(one.service);
  return all;
}

const HealOrder* order_of(const Graph& graph, const Trigger& trigger) {
  const std::optional<ServiceId> service = graph.find(trigger.service);
  if (!service) return nullptr;
  const std::vector<Rule>& rules = graph.at(*service).rules;
  const auto rule = std::ranges::find(rules, trigger.rule, &Rule::key);
  return rule == rules.end() ? nullptr : (*rule)->action.heal.get();
}

bool Healings::trigger_stands(const HealingWorld& world, const Healing& healing, const Trigger& trigger) {
  if (trigger.rule == Hash128{}) return true;  // a person's word
  const std::optional<ServiceId> service = world.graph().find(trigger.service);
  return service && world.health(*service) != Health::Unmonitored &&
         world.stands(*service, trigger.rule, healing.target);
}

bool Healings::condition_stands(const HealingWorld& world, const Healing& healing) const {
  if (healing.escalated && healing.plan->only_alerts()) return true;
  if (!healing.escalated && healing.round == 0)
    return trigger_stands(world, healing, {healing.service, healing.rule}) ||
           std::ranges::any_of(healing.also, [&](const Trigger& one) { return trigger_stands(world, healing, one); });
  if (healing.cleared && !healing.by_person()) return false;
  // Once begun it goes by its plan, whatever became of the rule: it is over where all of the target that is monitored
  // is seen to be well.
  std::vector<ServiceId> services = services_of(world.graph(), healing.target);
  std::erase_if(services, [&](ServiceId one) {
    return world.health(one) == Health::Unmonitored || world.graph().at(one).is_event();
  });
  // While its recovery was awaited no run counted for its rules: they may not know yet that it fails again.
  const auto fails_now = [&](ServiceId one) {
    return std::ranges::any_of(world.graph().at(one).rules, [&](const Rule& rule) {
      return rule->mode == Mode::Latched && !rule->counts_restarts() && world.holds_now(one, rule.key) == true;
    });
  };
  return services.empty() || !std::ranges::all_of(services, [&](ServiceId one) {
           return world.health(one) == Health::Ok && !fails_now(one);
         });
}

HealingMode mode_of(const Workflow& plan, const Settings& settings, bool dry_run) {
  return std::min({plan.mode, settings.healing.mode,
                   dry_run || settings.dry_run ? HealingMode::DryRun : HealingMode::Automatic,
                   settings.shadow ? HealingMode::Shadow : HealingMode::Automatic});
}

void Healings::note_held(HealingWorld& world, Healing& healing, const BrakeVerdict& brake) {
  const bool other = healing.held_by != brake.brake;
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
  const bool by_plan = brake.brake == Brake::Again && (healing.stage == Stage::Between || healing.refused);
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

/// All that waits, the oldest first; what cannot start lets others pass.
void Healings::consider(HealingWorld& world) {
  if (stopping_) return;
  must_reevaluate_ = false;
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
  if (const auto again = asked_again(world)) consider_at_ = std::min(consider_at_.value_or(*again), *again);
  plan_wake(world);
}

/// Mono: when all that waits is to be asked again, though nothing happens: time lets something go then, or people are
/// to be told; at the latest in a cycle. None: nothing waits.
std::optional<Duration> Healings::asked_again(const HealingWorld& world) const {
  const Instant now = world.now();
  Duration next = now.mono + world.graph().settings->cycle_length();
  const auto in = [&](Duration left) {
    if (left > Duration{0}) next = std::min(next, now.mono + left);
  };
  bool waits = !memory_.closed.empty();
  std::set<Duration> spans;  // of limits
  const auto add_spans = [&](const std::vector<HealingLimit>& limits) {
    for (const HealingLimit& limit : limits)
      if (limit.within > Duration{0}) spans.insert(limit.within);
  };
  for (const auto& [id, healing] : healings_) {
    if (!healing.waits()) continue;
    waits = true;
    if (healing.stage == Stage::Held && !healing.seen)
      in(healing.asked + world.graph().settings->cycle_length() - now.wall);
    if (!healing.notified_long) in(healing.held_since.value_or(healing.asked) + kLongHeld - now.wall);
    add_spans(healing.plan->limits);
  }
  if (!waits) return std::nullopt;
  if (const auto released = world.time_releases()) in(*released - now.mono);
  for (const TargetMemory& memory : memory_.targets) in(memory.cooldown.left(now));
  add_spans(world.graph().settings->healing.limits);
  for (const Duration span : spans)
    for (const WorkflowMemory& memory : memory_.workflows)
      for (const WorkflowMemory::Try& begun : memory.tries) in(begun.when + span - now.wall);
  return next;
}

/// One that waits. Whether it has gone on, or ended.
bool Healings::consider(HealingWorld& world, Healing& healing) {
  if (healing.stage == Stage::Confirming) {
    // Who is not watched any more is not looked at either.
    auto& checks = confirming_[healing.id];
    std::erase_if(checks, [&](const auto& check) { return world.health(check.first) == Health::Unmonitored; });
    if (!checks.empty()) return false;
    confirmed(world, healing);
    return true;
  }
  if (healing.is_to_undo()) return consider_undoing(world, healing);
  const HealingId id = healing.id;
  if (const std::string why = world.left_out(healing); !why.empty() && !healing.has_begun()) {
    note_held(world, healing, {.brake = Brake::List, .lets = false, .text = why});
    return false;
  }
  if (!condition_stands(world, healing)) {
    // Who was well when a person asked is not well "again": that it is says nothing of what was to be done.
    if (healing.rule == Hash128{} && healing.round > 0) return consider_giving_up(world, healing);
    if (healing.has_begun())
      end(world, healing, HealingEnd::Done, healing.round > 0 ? "it recovered between its tries" : "it has recovered");
    else
      end(world, healing, HealingEnd::Dropped, "its rule is no longer failed");
    return true;
  }
  if (const HealingMode mode = mode_of(*healing.plan, *world.graph().settings, healing.dry_run); mode != healing.mode) {
    healing.mode = mode;
    if (healing.stage == Stage::Approval && !wants_approval(world, healing)) healing.ask_anew();
    count_again(world, healing.target);
  }
  if (healing.mode == HealingMode::Shadow) {
    end(world, healing, HealingEnd::WouldRun, "shadow");
    return true;
  }
  const std::optional<BrakeVerdict> brake = first_brake(world, healing);
  if (healing.stage == Stage::Approval && !await_approval(world, healing, brake)) return false;
  if (find(id) == nullptr) return true;
  if (brake) {
    // Doubt passes, and is no reason to ask people twice.
    const bool doubts = brake->brake == Brake::Doubt;
    if (!doubts && healing.round == 0 && !healing.approved_by.empty() && !healing.approved_early) {
      world
          .record(RecordKind::HealingStep, Severity::Warning, healing.service,
                  fmt::format("{}: the approval by {} is void: {}", describe(healing), healing.approved_by,
                              reason_of(*brake)))
          .subject = healing.id.number();
      healing.approved_by.clear();
      world.save(healing);
    }
    note_held(world, healing, *brake);
    return false;
  }
  healing.seen = true;
  healing.approved_early = false;
  if (wants_approval(world, healing)) {
    ask_for_approval(world, healing);
    return true;
  }
  if (!has_secrets(world, healing)) return false;
  if (healing.stage == Stage::Between || healing.by_person() || healing.plan->only_alerts())
    take(world, healing);
  else
    confirm(world, healing);
  return true;
}

/// What a cancelled healing did is undone as soon as there is a place for it: people have said so, so that no other
/// brake holds it. Whether that has begun.
bool Healings::consider_undoing(HealingWorld& world, Healing& healing) {
  if (const BrakeVerdict limit = limit_verdict(world, healing); !limit.lets) {
    note_held(world, healing, limit);
    return false;
  }
  undo(world, healing);
  return true;
}

/// A try for a person has failed, and the target is well: it is not tried again. Whether that was done: `on failure`
/// wants a place.
bool Healings::consider_giving_up(HealingWorld& world, Healing& healing) {
  if (const BrakeVerdict limit = limit_verdict(world, healing); !limit.lets) {
    note_held(world, healing, limit);
    return false;
  }
  healing.failure += "; it is not tried again, as its target is well";
  give_up(world, healing);
  return true;
}

/// Goes through `on cancel`, or ends where nothing is written there. Nothing of it is under way, and it has a place.
void Healings::undo(HealingWorld& world, Healing& healing) {
  healing.wait_for({});
  healing.not_before.reset();
  healing.stage = Stage::Stepping;
  healing.under_way.clear();
  go_on(world, healing);
}

/// From its guard back to where it waits. Whether it stays: the rules may have changed while the guard was asked.
bool Healings::wait_again(HealingWorld& world, Healing& healing) {
  healing.stage = healing.waiting_stage();
  return healing.stage != Stage::Held || judge_anew(world, healing);
}

/// The target is checked once more.
void Healings::confirm(HealingWorld& world, Healing& healing) {
  healing.stage = Stage::Confirming;
  healing.wait_for("its target is checked once more");
  auto& checks = confirming_[healing.id];
  checks.clear();
  const auto add = [&](const std::string& name) {
    if (const auto service = world.graph().find(name))
      for (const ServiceId member : world.seen_by(*service)) checks.emplace(member, world.now().mono);
  };
  add(healing.service);
  for (const Trigger& one : healing.also) add(one.service);
  world.save(healing);
  if (checks.empty()) return confirmed(world, healing);
  for (const auto& [member, since] : std::map(checks)) world.check(member);
}

void Healings::confirmed(HealingWorld& world, Healing& healing) {
  confirming_.erase(healing.id);
  healing.stage = Stage::Held;
  // One of those that asked for it is enough.
  std::optional<bool> holds;
  const auto ask = [&](const Trigger& one) {
    const auto service = world.graph().find(one.service);
    if (const auto current = service ? world.holds_now(*service, one.rule) : std::nullopt)
      holds = *current || holds == true;
  };
  ask({healing.service, healing.rule});
  for (const Trigger& one : healing.also) ask(one);
  if (!condition_stands(world, healing)) {
    end(world, healing, HealingEnd::Dropped, "its rule is no longer failed");
    return;
  }
  if (holds != true) {
    healing.not_before = Deadline::in(world.graph().settings->cycle_length(), world.now());
    healing.failure =
        holds ? "it did not fail when it was checked once more" : "its state was unknown when it was checked once more";
    note_held(world, healing, {.brake = Brake::Check, .lets = false, .text = healing.failure});
    world.save(healing);
    return;
  }
  forget_counts();
  watch_brakes(world);
  if (const std::optional<BrakeVerdict> brake = first_brake(world, healing)) {
    note_held(world, healing, *brake);
    world.save(healing);
    return;
  }
  take(world, healing);
}

/// Lock and place are taken; the guard is asked, or the try begins.
void Healings::take(HealingWorld& world, Healing& healing) {
  healing.wait_for({});
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
