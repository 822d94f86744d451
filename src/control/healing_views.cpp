// SPDX-License-Identifier: MIT
#include "control/healing_views.hpp"

#include <algorithm>
#include <variant>

#include <spdlog/fmt/fmt.h>

#include "control/views.hpp"
#include "engine/engine.hpp"
#include "engine/healing/plan_text.hpp"
#include "engine/rules/rule.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "util/text.hpp"

namespace healer::control {
namespace {

using engine::Engine;
using engine::Healing;
using engine::StepRun;
using Stage = Healing::Stage;

/// The step under way; null: none.
const engine::Step* step_under_way(const Healing& healing) {
  if (healing.progress() == nullptr || healing.progress()->position >= healing.steps().size()) return nullptr;
  return &healing.step();
}

/// The run of the step, of several the first that is not over; null: it is not begun.
const StepRun* run_under_way(const Healing& healing) {
  const auto found = std::ranges::find_if(healing.under_way(), [](const StepRun& run) { return !run.over(); });
  return found == healing.under_way().end() ? nullptr : &*found;
}

std::string describe_wait(const StepRun& run) {
  switch (run.state) {
    case StepRun::State::Fresh: return "its turn";
    case StepRun::State::Running: return "its program to end";
    case StepRun::State::Requesting: return "the answer to " + run.request;
    case StepRun::State::Polling: return fmt::format("the result of its request ({})", run.request);
    case StepRun::State::Bringing: return "the service to be started or stopped";
    case StepRun::State::Waiting: return "its time to pass";
    case StepRun::State::Verifying: return "the target to recover";
    case StepRun::State::Pausing: return "its next attempt";
    case StepRun::State::Ending: return "its program to end (it was signalled)";
    case StepRun::State::Done:
    case StepRun::State::Failed: break;
  }
  return {};
}

/// The name of the step under way, "guard" or nothing; of `parallel` those that are not over.
std::string describe_doing(const Healing& healing) {
  if (healing.stage() == Stage::Guarding) return "guard";
  const engine::Step* const step = step_under_way(healing);
  if (step == nullptr) return {};
  const auto* const parallel = std::get_if<engine::step::Parallel>(&step->what);
  if (parallel == nullptr) return step->name;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parallel->steps.size(); ++i)
    if (i >= healing.under_way().size() || !healing.under_way()[i].over()) names.push_back(parallel->steps[i].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// How far it may go: settled when it has begun.
engine::HealingMode mode_of(const Engine& engine, const Healing& healing) {
  if (healing.stage() >= Stage::Claiming || healing.escalated) return healing.mode;
  return engine::mode_of(*healing.plan, *engine.graph()->settings, healing.dry_run);
}

/// None: the target does not rest any more.
std::optional<CooldownView> view_rest(const engine::TargetMemory& memory, Instant now) {
  const bool on_probation = memory.probation && !memory.probation->over(now);
  const bool vain = memory.in_vain();
  if (memory.cooldown.over(now) && !on_probation && !vain) return std::nullopt;
  return CooldownView{.target = memory.target,
                      .left = memory.cooldown.left(now),
                      .probation = on_probation ? std::optional(memory.probation->left(now)) : std::nullopt,
                      .healing = memory.healing.number(),
                      .end = std::string(to_string(memory.end)),
                      .ended = memory.ended,
                      .rehearsed = memory.rehearsed,
                      .until_recovered = vain};
}

std::vector<BrakeView> views_of(std::vector<engine::BrakeVerdict> verdicts) {
  std::vector<BrakeView> views;
  for (engine::BrakeVerdict& one : verdicts)
    views.push_back(
        {.brake = std::string(to_string(one.brake)), .lets = one.lets, .text = std::move(one.text), .left = one.left});
  return views;
}

/// Whether a rule that heals stands failed, while nothing is done about it any more, nor asked for: its healing was not
/// approved, or the rule heals only since it was edited.
bool asks_no_more(const Engine& engine, engine::ServiceId service, const engine::Rule& rule, Instant now) {
  if (rule->action.heal == nullptr || healing_of(engine, service) != nullptr) return false;
  const auto plan = engine.graph()->workflow(rule->action.heal->workflow);
  if (plan == nullptr ||
      engine::mode_of(*plan, *engine.graph()->settings, rule->action.heal->dry_run) < engine::HealingMode::Approval)
    return false;
  const auto& rules = engine.graph()->at(service).rules;
  const auto at = static_cast<std::size_t>(&rule - rules.data());
  if (at >= rules.size()) return false;
  const engine::RuleState& state = engine.rules(service)[at];
  return state.status == engine::RuleStatus::Failed && !rest_of(engine, service, now) &&
         engine.held_back().of(service, rule, state, engine::ActionKind::Heal, now) == engine::Hold::None;
}

}  // namespace

HealingView view_healing(const Engine& engine, const Healing& healing, Instant now) {
  HealingView view{.id = healing.id.number(),
                   .target = healing.target,
                   .service = healing.service,
                   .workflow = healing.workflow,
                   .plan = healing.plan->name,
                   .stage = std::string(to_string(healing.stage())),
                   .waits = healing.waits(),
                   .mode = std::string(to_string(mode_of(engine, healing))),
                   .reason = healing.reason(),
                   .hint = {},
                   .asked = healing.asked,
                   .by = words_of(healing.by),
                   .by_kind = std::string(kind_of(healing.by)),
                   .rule = healing.cause->rule,
                   .round = healing.round,
                   .tries = healing.plan->tries,
                   .step = 0,
                   .steps = 0,
                   .doing = describe_doing(healing),
                   .waits_for = {},
                   .since = {},
                   .left = {},
                   .action = 0,
                   .pid = 0,
                   .failure = healing.failure,
                   .overrides = {},
                   .approved_by = healing.approved_by,
                   .cancelled_by = healing.cancelled_by,
                   .abandoned = healing.abandoned};
  if (healing.stage() == Stage::Approval) {
    view.plan_hash = engine::hash_of_plan(healing).substr(0, engine::kHashShown);
    view.plan_lines = engine::lines_of_plan(healing, engine.host());
  }
  if (step_under_way(healing) != nullptr) {
    view.step = healing.progress()->position + 1;
    view.steps = static_cast<std::uint32_t>(healing.steps().size());
  }
  // The reason of another brake says by itself how long it lasts, where that is known.
  if (healing.stage() == Stage::Approval && healing.not_before() && !healing.not_before()->over(now))
    view.left = healing.not_before()->left(now);
  if (const StepRun* const run = run_under_way(healing)) {
    view.waits_for = describe_wait(*run);
    if (run->begun != WallTime{}) view.since = run->begun;
    if (run->due && !run->due->over(now)) view.left = run->due->left(now);
    if (!run->failure.empty()) view.failure = run->failure;
    if (run->state == StepRun::State::Running || run->state == StepRun::State::Ending)
      view.action = run->action.number();
  }
  if (const auto program = engine.programs().all().find(view.action);
      view.action != 0 && program != engine.programs().all().end())
    view.pid = program->second.pid;
  if (healing.stage() == Stage::Held || healing.stage() == Stage::Between) {
    if (healing.held_since) view.since = healing.held_since;
    for (const engine::BrakeVerdict& brake : engine.healing().verdicts(healing, now))
      if (!brake.lets && healing.held_by() == brake.brake && view.hint.empty())
        view.hint = engine::way_out(brake, healing);
  }
  if (healing.overrides.limit) view.overrides.emplace_back("limit");
  if (healing.overrides.cooldown) view.overrides.emplace_back("cooldown");
  if (healing.overrides.pause) view.overrides.emplace_back("pause");
  return view;
}

JobView view_healing_job(const Engine& engine, const Healing& healing, Instant now) {
  const HealingView one = view_healing(engine, healing, now);
  std::string doing = fmt::format("heal {} with {}", one.target, one.plan);
  if (one.round > 0 && one.tries > 1) doing += fmt::format(", try {} of {}", one.round, one.tries);
  if (healing.stage() == Stage::Failing || healing.stage() == Stage::Cancelling) doing += ", " + one.stage;
  if (!one.doing.empty()) doing += ", " + one.doing;
  return {.id = one.id,
          .kind = "heal",
          .service = one.service,
          .step = std::max<std::uint32_t>(one.step, 1),
          .steps = std::max<std::uint32_t>(one.steps, static_cast<std::uint32_t>(healing.plan->steps.size())),
          .doing = std::move(doing),
          .waits_for = !one.waits_for.empty() ? one.waits_for
                       : one.reason.empty()   ? one.stage
                                              : one.reason,
          .age = std::max(Duration{now.wall - healing.asked}, Duration{0}),
          .left = one.left,
          .by = one.by,
          .by_kind = one.by_kind,
          .rule = one.rule,
          .action = one.action,
          .pid = one.pid};
}

const Healing* healing_of(const Engine& engine, engine::ServiceId service) {
  const auto& all = engine.healings().all();
  if (all.empty()) return nullptr;
  const std::string& target = engine.graph()->at(service).target();
  const Healing* first = nullptr;
  for (const auto& [id, healing] : all) {
    if (!iequals(healing.target, target)) continue;
    if (!healing.waits()) return &healing;
    if (first == nullptr || (healing.locks() && !first->locks())) first = &healing;
  }
  return first;
}

std::optional<CooldownView> rest_of(const Engine& engine, engine::ServiceId service, Instant now) {
  const std::vector<engine::TargetMemory>& targets = engine.healings().memory().targets;
  const std::string& name = engine.graph()->at(service).target();
  const auto found = std::ranges::find_if(
      targets, [&](const engine::TargetMemory& memory) { return !memory.rehearsed && iequals(memory.target, name); });
  return found == targets.end() ? std::nullopt : view_rest(*found, now);
}

std::string healing_note(const Engine& engine, engine::ServiceId service, Instant now) {
  const Healing* const healing = healing_of(engine, service);
  if (healing == nullptr) {
    const std::optional<CooldownView> rest = rest_of(engine, service, now);
    return rest && rest->until_recovered ? fmt::format(
                                               "healing {} did not help ({}): rules heal it again only "
                                               "after it has recovered",
                                               rest->healing, rest->end)
           : std::ranges::any_of(engine.graph()->at(service).rules,
                                 [&](const engine::Rule& rule) { return asks_no_more(engine, service, rule, now); })
               ? "no healing is requested until it recovers and fails again; `healerctl heal` requests one now"
               : std::string();
  }
  const std::string& plan = healing->plan->name;
  const bool by_plan = healing->stage() == Stage::Between && healing->reason().starts_with("again:");
  if (healing->waits() && !by_plan && (healing->stage() == Stage::Held || healing->stage() == Stage::Between))
    return fmt::format("healing with {} held back: {}", plan, healing->reason());
  if (healing->stage() == Stage::Approval)
    return fmt::format("healing with {} waits for approval: {}", plan, engine::approval_line(*healing));
  const std::string doing = describe_doing(*healing);
  const std::string name = doing.empty() ? std::string(to_string(healing->stage())) : doing;
  if (step_under_way(*healing) == nullptr) return fmt::format("being healed with {}: {}", plan, name);
  return fmt::format("being healed with {}: {}step {} of {}, {}", plan,
                     healing->stage() == Stage::Stepping ? "" : fmt::format("{}, ", to_string(healing->stage())),
                     healing->progress()->position + 1, healing->steps().size(), name);
}

HealingHolds view_holds(const Engine& engine, Instant now) {
  HealingHolds holds{
      .doubt = engine.healing().doubt(now), .pauses = {}, .closed = {}, .open = {}, .cooldowns = {}, .spent = {}};
  for (const engine::WidePause& wide : engine.pauses().wide(now)) holds.pauses.push_back(view_pause(wide.pause, &wide));
  const engine::HealingMemoryView memory = engine.healings().memory();
  std::vector<std::string> unwell =
      memory.closed.empty() ? std::vector<std::string>() : engine.healing().unwell_of_closed(now);
  for (std::size_t i = 0; i < memory.closed.size(); ++i) {
    const engine::ClosedBrake& brake = memory.closed[i];
    const std::string group = engine.healings().targets().written(brake.group);
    const std::string_view list = engine::list_of(group);
    holds.closed.push_back({.workflow = brake.workflow,
                            .group = list.empty() ? group : "",
                            .list = std::string(list),
                            .above = brake.above,
                            .since = brake.since,
                            .text = std::move(unwell[i])});
  }
  for (const engine::WorkflowMemory& workflow : memory.workflows)
    if (workflow.open)
      holds.open.push_back(
          {.workflow = workflow.workflow,
           .failed = workflow.failures.size(),
           .failed_at = workflow.failures.empty() ? std::nullopt : std::optional(workflow.failures.back()),
           .targets = workflow.failed_targets()});
  for (const engine::ServiceId service : engine.graph()->order) {
    const auto& rules = engine.graph()->at(service).rules;
    const std::string& name = engine.graph()->at(service).target();
    if (std::ranges::any_of(rules, [&](const auto& rule) { return asks_no_more(engine, service, rule, now); }) &&
        std::ranges::find(holds.spent, name) == holds.spent.end())
      holds.spent.push_back(name);
  }
  for (const engine::TargetMemory& target : memory.targets)
    if (std::optional<CooldownView> rest = view_rest(target, now)) holds.cooldowns.push_back(std::move(*rest));
  return holds;
}

std::vector<WorkflowReport> view_report(const Engine& engine) {
  const std::vector<engine::WorkflowMemory>& known = engine.healings().memory().workflows;
  std::vector<WorkflowReport> reports;
  const auto add = [&](const std::string& name, bool in_rules) {
    WorkflowReport report{.workflow = name, .known = in_rules};
    for (const engine::WorkflowMemory& memory : known) {
      if (!iequals(memory.workflow, name)) continue;
      report.proposed = memory.counts.proposed;
      report.would_run = memory.counts.would_run;
      report.approved = memory.counts.approved;
      report.rejected = memory.counts.rejected;
      report.ran = memory.counts.ran;
      report.recovered = memory.counts.recovered;
      report.failed = memory.counts.failed;
      report.abandoned = memory.counts.abandoned;
    }
    reports.push_back(std::move(report));
  };
  for (const auto& workflow : engine.graph()->workflows) add(workflow->name, true);
  for (const engine::WorkflowMemory& memory : known)
    if (engine.graph()->workflow(memory.workflow) == nullptr) add(memory.workflow, false);
  return reports;
}

std::optional<HealExplanation> explain_healing(const Engine& engine, engine::ServiceId service,
                                               const engine::Rule& rule, Instant now) {
  if (rule->action.heal == nullptr) return std::nullopt;
  const engine::HealOrder& order = *rule->action.heal;
  const engine::ServiceBlock& block = engine.graph()->at(service);
  HealExplanation view{.workflow = order.workflow,
                       .target = order.target.empty() ? block.target() : order.target,
                       .mode = {},
                       .guard = {},
                       .healing = {},
                       .spent = asks_no_more(engine, service, rule, now),
                       .brakes = {}};
  std::shared_ptr<const engine::Workflow> plan = engine.graph()->workflow(order.workflow);
  const auto& all = engine.healings().all();
  const auto found = std::ranges::find_if(all, [&](const auto& entry) {
    return iequals(entry.second.target, view.target) && iequals(entry.second.workflow, view.workflow);
  });
  if (found != all.end()) {
    const Healing& healing = found->second;
    plan = healing.plan;
    view.healing = view_healing(engine, healing, now);
    view.mode = view.healing->mode;
    // Those of one that has begun have let it go.
    if (healing.waits()) view.brakes = views_of(engine.healing().verdicts(healing, now));
  } else {
    if (plan != nullptr) view.mode = to_string(engine::mode_of(*plan, *engine.graph()->settings, order.dry_run));
    view.brakes = views_of(engine.healing().preview_brakes(service, order, now));
  }
  if (plan != nullptr && plan->guard && !plan->guard->program.command.arguments.empty())
    view.guard = plan->guard->program.command.arguments.front();
  return view;
}

}  // namespace healer::control
