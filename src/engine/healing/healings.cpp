// SPDX-License-Identifier: MIT
#include "engine/healing/healings.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/job.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

/// What may have changed is looked at so much later, once for all that changes meanwhile.
constexpr Duration kGather{20};
constexpr Duration kLongestGather{1'000};

constexpr const char* kOnlyWatches = "healer only watches (shadow)";

}  // namespace

std::string_view to_string(HealingEnd end) {
  switch (end) {
    case HealingEnd::Verified: return "recovered";
    case HealingEnd::Done: return "done";
    case HealingEnd::Failed: return "failed";
    case HealingEnd::Refused: return "refused";
    case HealingEnd::Cancelled: return "cancelled";
    case HealingEnd::Rejected: return "not approved";
    case HealingEnd::Interrupted: return "interrupted";
    case HealingEnd::Dropped: return "dropped";
    case HealingEnd::WouldRun: return "would have run";
    case HealingEnd::Abandoned: return "abandoned";
    case HealingEnd::Called: return "a person was called";
  }
  return {};
}

std::vector<std::string> WorkflowMemory::failed_targets() const {
  std::vector<std::string> targets;
  for (const std::string& target : failed)
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  return targets;
}

std::string_view to_string(Healing::Stage stage) {
  switch (stage) {
    case Healing::Stage::Held: return "held back";
    case Healing::Stage::Approval: return "waits for approval";
    case Healing::Stage::Confirming: return "checks the target once more";
    case Healing::Stage::Guarding: return "runs the guard";
    case Healing::Stage::Stepping: return "under way";
    case Healing::Stage::Between: return "waits for its next try";
    case Healing::Stage::Failing: return "on failure";
    case Healing::Stage::Cancelling: return "on cancel";
  }
  return {};
}

Healings::Healings(std::vector<Healing> healings, HealingMemory memory) : memory_(std::move(memory)) {
  for (Healing& healing : healings) add(std::move(healing));
}

Healing& Healings::add(Healing healing) {
  const HealingId id = healing.id;
  of_target_[to_lower(healing.target)].push_back(id);
  return healings_.insert_or_assign(id, std::move(healing)).first->second;
}

void Healings::remove(HealingId healing) {
  const auto known = healings_.find(healing);
  const auto of = of_target_.find(to_lower(known->second.target));
  std::erase(of->second, healing);
  if (of->second.empty()) of_target_.erase(of);
  healings_.erase(known);
  secrets_.erase(healing);
  secret_checks_.erase(healing);
}

bool Healings::rests(std::string_view target, Instant now) const {
  bool locked = false;
  visit_rivals(target, [&](const Healing& healing) { locked = locked || healing.locks(); });
  if (locked) return true;
  const TargetMemory* const memory = target_memory(target, false);
  return memory != nullptr && (!memory->cooldown.over(now) || memory->in_vain());
}

/// From now on this is what is known of how the target was healed last.
void Healings::remember(HealingWorld& world, TargetMemory target) {
  std::erase_if(memory_.targets, [&](const TargetMemory& other) {
    return other.rehearsed == target.rehearsed && iequals(other.target, target.target);
  });
  world.save(target);
  memory_.targets.push_back(std::move(target));
}

/// A target whose healing did not help has recovered when none of the rules that wait for its healing stands failed.
/// Alerts and execs do not wait, so they do not count.
void Healings::note_recovery(HealingWorld& world, TargetMemory& memory) {
  if (!memory.in_vain() || !world.graph().left_out.empty()) return;
  const auto stands = [&](ServiceId service) {
    return world.health(service) != Health::Unmonitored &&
           std::ranges::any_of(world.graph().at(service).rules, [&](const Rule& rule) {
             return rule->mode == Mode::Latched && rule->action.waits_for_healing() &&
                    world.stands(service, rule.key, memory.target);
           });
  };
  if (std::ranges::any_of(services_of(world.graph(), memory.target), stands)) return;
  memory.recovered = true;
  world.save(memory);
}

void Healings::recovered(HealingWorld& world, ServiceId service) {
  const std::string& target = world.graph().at(service).target();
  for (TargetMemory& memory : memory_.targets)
    if (memory.in_vain() && iequals(memory.target, target)) note_recovery(world, memory);
}

void Healings::unsettled(HealingWorld& world, const Trigger& trigger, const std::string& target,
                         const std::string& lapsed) {
  const auto of_it = of_target_.find(to_lower(target_of(world.graph(), target)));
  if (of_it == of_target_.end()) return;
  const auto is_it = [&](const Trigger& one) {
    return iequals(one.service, trigger.service) && one.rule == trigger.rule;
  };
  for (const HealingId id : std::vector<HealingId>(of_it->second)) {
    Healing* const healing = find(id);
    if (healing == nullptr) continue;
    const Trigger first{healing->service, healing->rule};
    if (!is_it(first) && std::ranges::none_of(healing->also, is_it)) continue;
    if (trigger_stands(world, *healing, first) ||
        std::ranges::any_of(healing->also, [&](const Trigger& one) { return trigger_stands(world, *healing, one); }))
      continue;
    if (healing->has_begun()) {
      if (!lapsed.empty() || std::exchange(healing->cleared, true)) continue;
      world.save(*healing);
      reevaluate(world);
    } else if (healing->waits()) {
      if (!lapsed.empty())
        world.tell(*healing, "Healing dropped", effect::Cause::State::Failed,
                   fmt::format("{} is dropped: {}", describe(*healing), lapsed));
      end(world, *healing, HealingEnd::Dropped, lapsed.empty() ? "an event has said that all is well" : lapsed);
    }
  }
}

std::vector<HealingId> Healings::ids() const {
  std::vector<HealingId> all;
  all.reserve(healings_.size());
  bool in_order = true;
  for (const auto& [id, healing] : healings_) {
    all.push_back(id);
    in_order = in_order && healing.queued == 0;
  }
  if (!in_order)
    std::ranges::stable_sort(all, {}, [this](HealingId one) { return healings_.at(one).place_in_queue(); });
  return all;
}

Healing* Healings::find(HealingId id) {
  const auto found = healings_.find(id);
  return found == healings_.end() ? nullptr : &found->second;
}

Healing* Healings::of_action(ActionId action) {
  for (auto& [id, healing] : healings_)
    for (const StepRun& run : healing.under_way)
      if (run.action == action && (run.state == StepRun::State::Running || run.state == StepRun::State::Ending))
        return &healing;
  return nullptr;
}

bool Healings::ends(ActionId action) const {
  return std::ranges::any_of(healings_, [&](const auto& entry) {
    return std::ranges::any_of(entry.second.under_way, [&](const StepRun& run) {
      return run.action == action && run.state == StepRun::State::Ending;
    });
  });
}

const WorkflowMemory* Healings::workflow_memory(std::string_view workflow) const {
  const auto found = std::ranges::find_if(
      memory_.workflows, [&](const WorkflowMemory& memory) { return iequals(memory.workflow, workflow); });
  return found == memory_.workflows.end() ? nullptr : &*found;
}

WorkflowMemory& Healings::workflow_memory(std::string_view workflow) {
  if (const WorkflowMemory* const known = std::as_const(*this).workflow_memory(workflow))
    return memory_.workflows[static_cast<std::size_t>(known - memory_.workflows.data())];
  memory_.workflows.push_back({.workflow = std::string(workflow)});
  return memory_.workflows.back();
}

const TargetMemory* Healings::target_memory(std::string_view target, bool rehearsed) const {
  const auto found = std::ranges::find_if(memory_.targets, [&](const TargetMemory& memory) {
    return memory.rehearsed == rehearsed && iequals(memory.target, target);
  });
  return found == memory_.targets.end() ? nullptr : &*found;
}

// ---- what happens -------------------------------------------------------------------------------------------------

void Healings::carry(HealingWorld& world, WallTime seen) {
  const Instant now = world.now();
  for (TargetMemory& memory : memory_.targets) {
    memory.cooldown = memory.cooldown.carried_on(seen, now);
    if (memory.probation) memory.probation = memory.probation->carried_on(seen, now);
    world.save(memory);
  }
  // The time for an approval goes on while healer is down, and that of a step by the clock.
  for (auto& [id, healing] : healings_) {
    if (!healing.not_before || healing.stage == Healing::Stage::Approval) continue;
    healing.not_before = healing.not_before->carried_on(seen, now);
    world.save(healing);
  }
  const Duration away = std::max(Duration{now.wall - seen}, Duration{0});
  const auto later = [&](WallTime when) { return std::min(when + away, now.wall); };
  for (WorkflowMemory& memory : memory_.workflows) {
    for (WorkflowMemory::Try& one : memory.tries) one.when = later(one.when);
    for (WallTime& failure : memory.failures) failure = later(failure);
    world.save(memory);
  }
}

void Healings::stop(HealingWorld& world) {
  stopping_ = true;
  for (const auto& [run, questions] : polls_)
    if (questions.flight != ActionId{}) world.end_request(questions.flight);
  polls_.clear();
  confirming_.clear();  // whoever resumes holds those back again
}

void Healings::resume(HealingWorld& world, const std::set<ActionId>& lives) {
  stopping_ = false;
  using State = StepRun::State;
  const bool watches = world.graph().settings->shadow;
  if (!watches) end_what_lost_its_target(world);
  for (const HealingId id : ids()) {
    Healing& healing = healings_.at(id);
    if (watches) {
      end(world, healing, healing.waits() ? HealingEnd::Dropped : HealingEnd::Interrupted, kOnlyWatches);
      continue;
    }
    if (healing.stage == Healing::Stage::Confirming) healing.stage = Healing::Stage::Held;
    if (healing.stage == Healing::Stage::Approval && healing.not_before && healing.not_before->over(world.now())) {
      end(world, healing, HealingEnd::Rejected, "the time for its approval ran out while healer was down");
      continue;
    }
    std::vector<ActionId> lost;
    if (std::ranges::any_of(healing.under_way,
                            [](const StepRun& run) { return run.state == State::Ending && run.action == ActionId{}; }))
      world.leave(healing);
    for (StepRun& run : healing.under_way) {
      if ((run.state == State::Running || run.state == State::Ending) && !lives.contains(run.action))
        lost.push_back(run.action);
      else if (run.state == State::Ending)
        world.end_program(run.action);
      if (run.state != State::Requesting && run.state != State::Bringing) continue;
      const Step& step = step_of(healing.steps()[healing.position], index_of(healing, run));
      if (run.state == State::Requesting)
        request_lost(world, healing, step, run);
      else if (healing.is_abandoned())  // a job that has outlived the daemon goes on by itself
        run_over(world, healing, step, run, StepEnd::InDoubt, "was under way when healer was restarted");
      else
        (void)run.restore(terms_of(step));  // Fresh: it looks first
    }
    for (const ActionId action : lost)
      program_ended(world, action, {.end = StepEnd::InDoubt, .text = std::string(kCutOff), .output = {}});
    if (Healing* const still = find(id)) go_on(world, *still);
  }
  verify_all(world);
  reevaluate(world);
}

/// healer only watches from now on (shadow).
void Healings::watch_only(HealingWorld& world, Healing& healing) {
  if (!healing.waits()) end_others(world, healing);
  end(world, healing, healing.waits() ? HealingEnd::Dropped : HealingEnd::Interrupted, kOnlyWatches);
}

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
  const std::string target = order.target.empty() ? block.target() : target_of(world.graph(), named.text);
  if (plan == nullptr) {
    const std::string text = fmt::format("heal with {}: there is no such workflow", order.workflow);
    world.record(RecordKind::HealingHeld, Severity::Error, block.name, text);
    return {text};
  }
  const Trigger trigger{block.name, rule == nullptr ? Hash128{} : rule->key};
  const auto of_it = of_target_.find(to_lower(target));
  for (const HealingId id : of_it == of_target_.end() ? std::vector<HealingId>() : of_it->second) {
    Healing& other = healings_.at(id);
    if (!iequals(other.workflow, plan->name) || other.dry_run != order.dry_run || !other.cancelled_by.empty() ||
        other.is_abandoned())
      continue;
    // One that runs is the answer to this failure, too; what comes of it is seen at its end.
    const bool waits = other.waits();
    std::string text =
        fmt::format("{} is {} already (healing {})", describe(other), waits ? "requested" : "under way", id.number());
    const bool is_known = (iequals(other.service, trigger.service) && other.rule == trigger.rule) ||
                          std::ranges::find(other.also, trigger) != other.also.end();
    if (waits && (!is_known || overrides != Overrides{})) {
      if (!is_known) other.also.push_back(trigger);
      if (overrides != Overrides{}) {  // a person's word opens what may be opened
        other.overrides = {.limit = other.overrides.limit || overrides.limit,
                           .cooldown = other.overrides.cooldown || overrides.cooldown,
                           .pause = other.overrides.pause || overrides.pause};
        other.overridden_by = words_of(by);
      }
      world.save(other);
      reevaluate(world);
    }
    world
        .record(RecordKind::HealingHeld, Severity::Info, block.name,
                fmt::format("{}; requested by {}, too{}", text, is_rule(by) ? "another rule" : words_of(by),
                            overrides == Overrides{} ? "" : ", with brakes overridden"))
        .subject = id.number();
    if (rule != nullptr) return {text};
    if (!waits)
      return {overrides == Overrides{} ? text
                                       : text + "; it has already begun and no brake holds it: nothing was overridden"};
    return {fmt::format("{}{}; it ", text, overrides == Overrides{} ? "" : "; overridden: " + to_string(overrides)),
            id};
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
  if (const TargetMemory* const memory = target_memory(target, false);
      memory != nullptr && rule != nullptr && memory->probation && !memory->probation->over(world.now()) &&
      memory->plan != nullptr) {
    healing.in_probation = true;
    healing.plan = memory->plan;
  }
  const HealingId id = healing.id;
  WorkflowMemory& memory = workflow_memory(plan->name);
  ++memory.counts.proposed;
  world.save(memory);
  const Healing& kept = add(std::move(healing));
  world
      .record(RecordKind::HealingAsked, Severity::Warning, block.name,
              fmt::format("{} requested by {} (healing {})", describe(kept), is_rule(by) ? "its rule" : words_of(by),
                          id.number()))
      .subject = id.number();
  world.save(kept);
  reevaluate(world);
  return {describe(kept) + " ", id, fmt::format(" (healing {})", id.number())};
}

std::vector<std::string> Healings::begin(HealingWorld& world, const std::vector<Asked>& all) {
  if (std::ranges::any_of(all, [](const Asked& one) { return one.healing.has_value(); })) consider(world);
  std::vector<std::string> texts;
  for (const auto& [text, healing, after] : all) texts.push_back(healing ? text + came_to(*healing) + after : text);
  return texts;
}

void Healings::reevaluate(HealingWorld& world) {
  if (!follows_runs() && memory_.closed.empty()) return;
  must_reevaluate_ = true;
  // To look at all that waits costs the more the more there is: it never takes more than a small part of the time.
  const auto much = static_cast<Duration::rep>((targets_.size() + alone_) / 100 + healings_.size() / 5);
  const Duration soon = world.now().mono + std::min(kGather + Duration{much}, kLongestGather);
  consider_at_ = std::min(consider_at_.value_or(soon), soon);
  next_ = std::min(next_.value_or(*consider_at_), *consider_at_);
}

void Healings::checked(HealingWorld& world, ServiceId service, Duration began, std::optional<bool> clear) {
  if (!follows_runs()) return;
  if (!healings_.empty()) judged_[service.number()] = world.now().mono;
  if (const auto progress = verifying_.find(service); progress != verifying_.end() && began >= progress->second.since) {
    Progress& now = progress->second;
    if (clear == true) {
      ++now.clear;
      if (!now.clear_since) now.clear_since = began;
    } else {
      now.clear = 0;
      now.clear_since.reset();
    }
    if (Healing* const healing = find(now.healing)) verify(world, *healing);
  }
}

void Healings::confirm_by(HealingWorld& world, ServiceId service, Duration began) {
  for (auto awaited = confirming_.begin(); awaited != confirming_.end();) {
    auto& checks = awaited->second;
    const HealingId id = awaited->first;
    ++awaited;
    const auto check = checks.find(service);
    if (check == checks.end()) continue;
    if (began < check->second) {
      world.check(service);
      continue;
    }
    checks.erase(check);
    if (Healing* const healing = find(id); healing != nullptr && checks.empty()) confirmed(world, *healing);
  }
  reevaluate(world);
}

bool Healings::wake(HealingWorld& world) {
  if (!next_ || *next_ > world.now().mono) return false;
  for (const HealingId id : ids())
    if (Healing* const healing = find(id); healing != nullptr && healing->has_place()) go_on(world, *healing);
  verify_all(world);
  for (auto& [service, progress] : verifying_)
    if (world.now().mono - progress.checked >= world.graph().settings->cycle_length()) {
      progress.checked = world.now().mono;
      world.check(service);
    }
  return true;
}

void Healings::wake_waiting(HealingWorld& world) {
  if (consider_at_ && *consider_at_ <= world.now().mono) must_reevaluate_ = true;
  for (const auto& [id, healing] : healings_)
    if (healing.not_before && healing.not_before->over(world.now())) must_reevaluate_ = true;
  if (must_reevaluate_) consider(world);
  const Instant now = world.now();
  // A row of a list is not judged yet because of this healing.
  const auto delays_rows = [&](const TargetMemory& memory) {
    const Target* const its = memory.rehearsed ? nullptr : target(memory.target);
    return its != nullptr && std::ranges::any_of(its->services, [&](ServiceId service) {
             const ServiceBlock* const block = world.graph().block(service);
             return block != nullptr && block->is_listed() && memory.ended + block->other->listed.delay > now.wall;
           });
  };
  std::erase_if(memory_.targets, [&](TargetMemory& memory) {
    note_recovery(world, memory);  // where its services, or their rules, have gone
    const bool over = memory.cooldown.over(now) && (!memory.probation || memory.probation->over(now)) &&
                      !memory.in_vain() && !delays_rows(memory);
    if (over) world.forget(memory);
    return over;
  });
  plan_wake(world);
}

void Healings::plan_wake(const HealingWorld& world) {
  const Instant now = world.now();
  next_.reset();
  const auto at = [&](Duration when) { next_ = next_ ? std::min(*next_, when) : when; };
  if (consider_at_) at(*consider_at_);
  for (const auto& [id, healing] : healings_) {
    if (healing.not_before && healing.waits() && !healing.not_before->over(now))
      at(now.mono + healing.not_before->left(now));
    for (const StepRun& run : healing.under_way)
      if (run.due && !run.over()) at(now.mono + std::max(run.due->left(now), Duration{1}));
  }
  for (const auto& [run, questions] : polls_)
    if (questions.flight == ActionId{}) at(std::max(questions.next, now.mono + Duration{1}));
  for (const TargetMemory& memory : memory_.targets) {
    if (const Duration left = memory.cooldown.left(now); left > Duration{0}) at(now.mono + left);
    if (memory.probation && !memory.probation->over(now)) at(now.mono + memory.probation->left(now));
  }
  if (!verifying_.empty()) at(now.mono + world.graph().settings->cycle_length());
}

// ---- the words of people ------------------------------------------------------------------------------------------

Healings::Answer Healings::cancel(HealingWorld& world, HealingId id, const std::string& by) {
  Healing* const healing = find(id);
  if (healing == nullptr) return {false, fmt::format("there is no healing {} (any more)", id.number())};
  if (!healing->cancelled_by.empty())
    return {false, fmt::format("healing {} is being ended: cancelled by {}", id.number(), healing->cancelled_by)};
  const std::string what = describe(*healing);
  healing->cancelled_by = by;
  if (healing->waits() && (healing->round == 0 || healing->plan->on_cancel.empty())) {
    end(world, *healing, HealingEnd::Cancelled, fmt::format("cancelled by {}", by));
    return {true, fmt::format("{} cancelled", what)};
  }
  world
      .record(RecordKind::HealingStep, Severity::Warning, healing->service,
              fmt::format("{} is to end: cancelled by {}", what, by))
      .subject = id.number();
  if (healing->waits()) {  // between its tries: nothing of it is under way, but it has no place
    healing->stage = Healing::Stage::Between;
    healing->not_before.reset();
    world.save(*healing);
    consider(world);
  } else {
    end_others(world, *healing);
    world.save(*healing);
    go_on(world, *healing);
  }
  return {true, fmt::format("{} cancelled", what)};
}

Healings::Answer Healings::reset(HealingWorld& world, std::string_view workflow, const std::string& by) {
  if (world.graph().workflow(workflow) == nullptr && std::as_const(*this).workflow_memory(workflow) == nullptr)
    return {false, fmt::format("there is no workflow {}", workflow)};
  WorkflowMemory& memory = workflow_memory(workflow);
  const bool was_open = std::exchange(memory.open, false);
  memory.failures.clear();
  memory.failed.clear();
  memory.ramp = memory.verified = 0;
  world.save(memory);
  const std::string text =
      fmt::format("workflow {} reset by {}{}", memory.workflow, by, was_open ? ": its breaker is closed again" : "");
  world.record(RecordKind::HealingStep, Severity::Info, {}, text);
  reevaluate(world);
  return {true, text + left_alone(world, workflow)};
}

std::string Healings::describe(const Healing& healing) const {
  return fmt::format("healing of {} with {}", healing.target, healing.plan->name);
}

}  // namespace healer::engine
