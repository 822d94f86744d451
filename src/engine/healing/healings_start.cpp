// SPDX-License-Identifier: MIT
// How a healing starts: conditions, approval, one more look, lock and place (language 3.4, "Order of a start").
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/healing/variables.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;
using For = stage::Claiming::For;

}  // namespace

Healings::Asked Healings::want(HealingWorld& world, ServiceId service, const Rule* rule, const HealOrder& order,
                               std::shared_ptr<const effect::Cause> cause, const Origin& by, Overrides overrides) {
  const ServiceBlock& block = world.graph().at(service);
  const std::shared_ptr<const Workflow> plan = world.graph().workflow(order.workflow);
  Variables known{{"SERVICE", block.name}, {"TARGET", block.target()}, {"HOST", world.host()}};
  if (block.row != nullptr)
    for (const auto& [name, value] : block.row->variables) known.insert_or_assign(name, value);
  for (const auto& [name, value] : cause->fields) known.insert_or_assign(name, value);
  const Filled named = fill(order.target, known);
  if (!named.missing.empty()) {
    const std::string text =
        fmt::format("heal with {}: it is for the target that an event names ({})", order.workflow, order.target);
    world.record(RecordKind::HealingHeld, Severity::Error, block.name, text);
    return {text};
  }
  const std::string target = order.target.empty() ? block.target() : targets_.meant_by(world.graph(), named.text);
  if (plan == nullptr) {
    const std::string text = fmt::format("heal with {}: there is no such workflow", order.workflow);
    world.record(RecordKind::HealingHeld, Severity::Error, block.name, text);
    return {text};
  }
  const Trigger trigger{block.name, rule == nullptr ? Hash128{} : rule->key};
  for (const HealingId id : std::vector(running_.of_target(to_lower(target)))) {
    Healing& other = running_.at(id);
    if (!iequals(other.workflow, plan->name) || other.dry_run != order.dry_run || !other.cancelled_by.empty() ||
        other.is_abandoned())
      continue;
    return join(world, other, trigger, by, overrides);
  }
  Healing healing{
      .id = world.ids().healing(),
      .target = target,
      .service = block.name,
      .rule = trigger.rule,
      .by = by,
      .cause = std::move(cause),
      .workflow = plan->name,
      .plan = plan,
      .dry_run = order.dry_run,
      .overrides = overrides,
      .overridden_by = overrides == Overrides{} ? "" : words_of(by),
      .row = block.row == nullptr ? Variables{} : Variables(block.row->variables.begin(), block.row->variables.end()),
      .asked = world.now().wall};
  healing.identity = identity_of(healing, world.state_word());
  if (const TargetMemory* const memory = memories_.target(target, false);
      memory != nullptr && rule != nullptr && memory->probation && !memory->probation->over(world.now()) &&
      memory->plan != nullptr) {
    healing.in_probation = true;
    healing.plan = memory->plan;
  }
  const HealingId id = healing.id;
  memories_.proposed(world, plan->name);
  const Healing& kept = running_.add(std::move(healing));
  world
      .record(RecordKind::HealingAsked, Severity::Warning, block.name,
              fmt::format("{} requested by {} (healing {})", describe(kept), is_rule(by) ? "its rule" : words_of(by),
                          id.number()))
      .subject = id.number();
  world.save(kept);
  reevaluate(world);
  return {describe(kept) + " ", id, fmt::format(" (healing {})", id.number())};
}

/// Another one asks for what was asked for already.
Healings::Asked Healings::join(HealingWorld& world, Healing& healing, const Trigger& trigger, const Origin& by,
                               Overrides overrides) {
  // One that runs is the answer to this failure, too; what comes of it is seen at its end.
  const bool waits = healing.waits();
  std::string text = fmt::format("{} is {} already (healing {})", describe(healing), waits ? "requested" : "under way",
                                 healing.id.number());
  const bool is_known = (iequals(healing.service, trigger.service) && healing.rule == trigger.rule) ||
                        std::ranges::find(healing.also, trigger) != healing.also.end();
  if (waits && (!is_known || overrides != Overrides{})) {
    if (!is_known) healing.also.push_back(trigger);
    if (overrides != Overrides{}) {  // a person's word opens what may be opened
      healing.overrides = {.limit = healing.overrides.limit || overrides.limit,
                           .cooldown = healing.overrides.cooldown || overrides.cooldown,
                           .pause = healing.overrides.pause || overrides.pause};
      healing.overridden_by = words_of(by);
    }
    world.save(healing);
    reevaluate(world);
  }
  world
      .record(RecordKind::HealingHeld, Severity::Info, trigger.service,
              fmt::format("{}; requested by {}, too{}", text,
                          !is_rule(by)          ? words_of(by)
                          : is_rule(healing.by) ? "another rule"
                                                : "a rule",
                          overrides == Overrides{} ? "" : ", with brakes overridden"))
      .subject = healing.id.number();
  if (trigger.rule != Hash128{}) return {text};
  if (!waits)
    return {overrides == Overrides{} ? text
                                     : text + "; it has already begun and no brake holds it: nothing was overridden"};
  return {fmt::format("{}{}; it ", text, overrides == Overrides{} ? "" : "; overridden: " + to_string(overrides)),
          healing.id};
}

/// All that waits, the oldest first; what cannot start lets others pass.
void Healings::consider(HealingWorld& world) {
  if (stopping_) return;
  waking_.considering();
  census_.forget();
  for (const auto& [id, healing] : running_.all()) memories_.keep_active(world, healing.plan->name);
  closed_.watch(world);
  for (const HealingId id : running_.ids()) {
    Healing* const healing = running_.find(id);
    if (healing == nullptr || !healing->waits()) continue;
    const std::string target = healing->target;
    if (consider(world, *healing)) census_.count_again(world, target);
  }
  if (running_.empty()) census_.forget_runs();
  if (const auto again = brakes_.asked_again(world)) waking_.consider_at(*again);
  waking_.plan(world);
}

/// One that waits. Whether it has gone on, or ended.
bool Healings::consider(HealingWorld& world, Healing& healing) {
  if (healing.stage() == Stage::Confirming) {
    if (confirmations_.awaits(world, healing)) return false;
    confirmed(world, healing);
    return true;
  }
  if (healing.is_to_undo()) return consider_place(world, healing);
  const HealingId id = healing.id;
  if (const std::string why = world.left_out(healing); !why.empty() && !healing.has_begun()) {
    brakes_.hold(world, healing, {.brake = Brake::List, .lets = false, .text = why});
    return false;
  }
  if (!condition_stands(world, targets_, healing)) {
    // Who was well when a person asked is not well "again": that it is says nothing of what was to be done.
    if (healing.rule == Hash128{} && healing.round > 0) return consider_place(world, healing);
    if (healing.has_begun())
      end(world, healing, HealingEnd::Done, healing.round > 0 ? "it recovered between its tries" : "it has recovered");
    else
      end(world, healing, HealingEnd::Dropped, "its rule is no longer failed");
    return true;
  }
  if (const HealingMode mode = mode_of(*healing.plan, *world.graph().settings, healing.dry_run); mode != healing.mode) {
    healing.mode = mode;
    if (healing.stage() == Stage::Approval && !brakes_.wants_approval(world, healing)) healing.ask_anew();
    census_.count_again(world, healing.target);
  }
  if (healing.mode == HealingMode::Shadow) {
    end(world, healing, HealingEnd::WouldRun, "shadow");
    return true;
  }
  std::optional<BrakeVerdict> brake = brakes_.first(world, healing);
  if (!brake) brake = claims_.denial(id, world.now());
  if (healing.stage() == Stage::Approval && !await_approval(world, healing, brake)) return false;
  if (running_.find(id) == nullptr) return true;
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
    brakes_.hold(world, healing, *brake);
    return false;
  }
  healing.seen = true;
  healing.approved_early = false;
  if (brakes_.wants_approval(world, healing)) {
    ask_for_approval(world, healing);
    return true;
  }
  if (!secrets_.are_there(world, healing)) return false;
  // What a rule asks for begins when its target was checked once more.
  if (healing.stage() == Stage::Between || healing.by_person() || healing.plan->only_alerts())
    claim(world, healing, For::Try);
  else if (healing.at = stage::Confirming{}; !confirmations_.begin(world, healing))
    confirmed(world, healing);
  return true;
}

/// What only waits for a place, which nothing but a limit keeps from it: what a cancelled healing did is undone, for
/// people have said so; or, where a try for a person has failed and the target is well, it is not tried again, and
/// `on failure` is next. Whether that has begun.
bool Healings::consider_place(HealingWorld& world, Healing& healing) {
  if (const BrakeVerdict limit = brakes_.limit(world, healing); !limit.lets) {
    brakes_.hold(world, healing, limit);
    return false;
  }
  if (const std::optional<BrakeVerdict> denied = claims_.denial(healing.id, world.now())) {
    brakes_.hold(world, healing, *denied);
    return false;
  }
  claim(world, healing, healing.is_to_undo() ? For::Undo : For::OnFailure);
  return true;
}

/// From its guard back to where it waits. Whether it stays: the rules may have changed while the guard was asked.
bool Healings::wait_again(HealingWorld& world, Healing& healing) {
  healing.wait_with({});
  return healing.has_begun() || judge_anew(world, healing);
}

void Healings::confirmed(HealingWorld& world, Healing& healing) {
  confirmations_.forget(healing.id);
  healing.ask_anew();
  // One of those that asked for it is enough.
  std::optional<bool> holds;
  const auto ask = [&](const Trigger& one) {
    const auto service = world.graph().find(one.service);
    if (const auto current = service ? world.holds_now(*service, one.rule) : std::nullopt)
      holds = *current || holds == true;
  };
  ask({healing.service, healing.rule});
  for (const Trigger& one : healing.also) ask(one);
  if (!condition_stands(world, targets_, healing)) {
    end(world, healing, HealingEnd::Dropped, "its rule is no longer failed");
    return;
  }
  if (holds != true) {
    healing.waiting()->not_before = Deadline::in(world.graph().settings->cycle_length(), world.now());
    healing.failure =
        holds ? "it did not fail when it was checked once more" : "its state was unknown when it was checked once more";
    brakes_.hold(world, healing, {.brake = Brake::Check, .lets = false, .text = healing.failure});
    world.save(healing);
    return;
  }
  census_.forget();
  closed_.watch(world);
  if (const std::optional<BrakeVerdict> brake = brakes_.first(world, healing)) {
    brakes_.hold(world, healing, *brake);
    world.save(healing);
    return;
  }
  claim(world, healing, For::Try);
}

/// Lock and place are asked for. What does nothing to its target takes neither.
void Healings::claim(HealingWorld& world, Healing& healing, For next) {
  healing.at = stage::Claiming{next};
  if (healing.rehearses() || healing.plan->only_alerts()) return take(world, healing, next);
  claims_.ask(world, healing);
  world.save(healing);
}

void Healings::claimed(HealingWorld& world, HealingId id, std::uint64_t claim, std::optional<BrakeVerdict> denied) {
  if (stopping_ || !claims_.answered(id, claim)) return;
  Healing& healing = running_.at(id);
  const For next = std::get<stage::Claiming>(healing.at).next;
  bool is_news = true;
  if (denied) {
    is_news = claims_.denied(id, *denied, world);
    healing.approved_early = !healing.approved_by.empty();  // that others were first does not void an approval
  }
  if (!denied && next == For::Try) denied = brakes_.closed_since(world, healing);
  if (!denied) return take(world, healing, next);
  healing.wait_with({});
  if (!is_news) healing.wait_for(reason_of(*denied), denied->brake);  // which is on record
  brakes_.hold(world, healing, *denied);
  world.save(healing);
  reevaluate(world);
}

/// Lock and place are taken; what they were asked for begins.
void Healings::take(HealingWorld& world, Healing& healing, For next) {
  if (next == For::Undo) {  // through `on cancel`; it ends where nothing is written there
    healing.at = stage::Stepping{};
    return go_on(world, healing);
  }
  if (next == For::OnFailure) {
    healing.failure += "; it is not tried again, as its target is well";
    return give_up(world, healing);
  }
  healing.failure.clear();
  if (healing.begun == WallTime{}) healing.begun = world.now().wall;
  if (healing.in_probation) {
    if (healing.rehearses()) return end(world, healing, HealingEnd::WouldRun, "dry run: its `on failure`");
    healing.at = stage::Failing{};
    healing.failure = "it has failed again in its probation";
    const std::string text = fmt::format("{}: {}", describe(healing), healing.failure);
    world.record(RecordKind::HealingBegun, Severity::Error, healing.service, text).subject = healing.id.number();
    world.save(healing);
    return go_on(world, healing);
  }
  if (!asks_guard(healing)) return begin_try(world, healing);
  begin_guard(world, healing);
}

/// One that has not begun, by the rules that are in force now. Whether it stays.
bool Healings::judge_anew(HealingWorld& world, Healing& healing) {
  if (!world.left_out(healing).empty()) return true;
  const auto drop = [&](const std::string& why) {
    world.tell(healing, "Healing dropped", effect::Cause::State::Changed,
               fmt::format("{} dropped: {}", describe(healing), why));
    end(world, healing, HealingEnd::Dropped, why);
    return false;
  };
  std::erase_if(healing.also, [&](const Trigger& one) { return is_gone(world.graph(), one); });
  if (is_gone(world.graph(), {healing.service, healing.rule})) {
    if (healing.also.empty())
      return drop(healing.by_person() ? fmt::format("{} is no longer in the rules", healing.service)
                                      : "no rule asks for it any longer");
    healing.service = healing.also.front().service;
    healing.rule = healing.also.front().rule;
    healing.also.erase(healing.also.begin());
    world.save(healing);
  }
  std::string workflow = healing.workflow;
  bool dry_run = healing.dry_run;
  if (const HealOrder* const order = order_of(world.graph(), {healing.service, healing.rule})) {
    workflow = order->workflow;
    dry_run = order->dry_run;
  }
  const std::shared_ptr<const Workflow> plan = world.graph().workflow(workflow);
  if (plan == nullptr) return drop(fmt::format("workflow {} is no longer in the rules", workflow));
  if (plan->key == healing.plan->key && dry_run == healing.dry_run) return true;
  const std::string before = hash_of_plan(healing);
  const bool was_asked = healing.stage() == Stage::Approval || !healing.approved_by.empty();
  healing.workflow = plan->name;
  healing.dry_run = dry_run;
  if (!healing.in_probation) healing.plan = plan;
  if (was_asked && before == hash_of_plan(healing)) {  // limits and brakes are no part of what people approve
    world.save(healing);
    return true;
  }
  if (was_asked) {
    ask_for_another_plan(world, healing);
    return false;
  }
  healing.ask_anew();
  world.save(healing);
  return true;
}

}  // namespace healer::engine
