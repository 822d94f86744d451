// SPDX-License-Identifier: MIT
// How a healing goes: guard, tries, steps.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/parts/conditions.hpp"
#include "engine/healing/parts/recoveries.hpp"
#include "engine/healing/parts/steps.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/job.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/steps/step_work.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;
using State = StepRun::State;

/// What a workflow does, for people: "Its steps are "shut down" and "rebuild"; if they fail, call_a_person comes next."
std::string what_comes(const Workflow& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) {
    const auto* const parallel = std::get_if<step::Parallel>(&step.what);
    if (parallel == nullptr) names.push_back(fmt::format("\"{}\"", step.name));
    for (std::size_t i = 0; parallel != nullptr && i < parallel->steps.size(); ++i)
      names.push_back(fmt::format("\"{}\"", parallel->steps[i].name));
  }
  std::string text = fmt::format("Its step{} {}", names.size() == 1 ? " is" : "s are", join_words(names, "and"));
  if (plan.tries > 1) text += fmt::format(", tried up to {} times", plan.tries);
  if (plan.on_failure.empty()) return text + ".";
  const auto* const next = std::get_if<step::Escalate>(&plan.on_failure.back().what);
  return text + fmt::format("; if that fails, {} comes next.", next != nullptr ? next->workflow : "its 'on failure'");
}

/// What a healing has come to whose steps are all done.
HealingEnd end_of(const Healing& healing) {
  const bool verifies_itself = std::ranges::any_of(healing.plan->steps, [](const Step& step) {
    return std::visit([](const auto& kind) { return verifies(kind); }, step.what);
  });
  return verifies_itself                                    ? HealingEnd::Verified
         : healing.escalated && healing.plan->only_alerts() ? HealingEnd::Called
                                                            : HealingEnd::Done;
}

/// The run that has failed, and is to blame: of `parallel` not one that was ended, but the one for which it was. Null:
/// none has failed.
const StepRun* failed_run(const Healing& healing) {
  const std::span<const StepRun> runs = healing.under_way();
  const auto failed = std::ranges::find(runs, State::Failed, &StepRun::state);
  if (failed == runs.end()) return nullptr;
  const auto guilty = std::find_if(
      failed, runs.end(), [](const StepRun& run) { return run.state == State::Failed && run.failure != kWasEnded; });
  return guilty != runs.end() ? &*guilty : &*failed;
}

/// What a step does, on behalf of its healing.
class StepOfHealing final : public StepWork {
 public:
  StepOfHealing(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, const TargetIndex& targets,
                Recoveries& recoveries)
      : world_(world), healing_(healing), step_(step), run_(run), targets_(targets), recoveries_(recoveries) {}

  [[nodiscard]] std::string filled(const std::string& text) const override {
    return fill(text, variables_of(world_, healing_, step_.name)).text;
  }
  [[nodiscard]] const std::string& target() const override { return healing_.target; }
  void wait_for(State what, Duration at_most) override {
    run_.begin(what);
    run_.due = Deadline::in(at_most, world_.now());
  }
  void end(StepEnd how, const std::string& text) override { run_over(world_, healing_, step_, run_, how, text); }
  void tell(const std::string& text) override { world_.tell(healing_, "Healing", effect::Cause::State::Changed, text); }
  bool await_recovery() override { return recoveries_.begin(world_, healing_); }
  [[nodiscard]] RecoveryOutcome recovery(bool or_gone) override {
    return recoveries_.outcome(world_, healing_, or_gone);
  }
  void leave_recovery() override { recoveries_.stop(healing_); }
  [[nodiscard]] bool is_target_gone() const override { return is_gone(world_, targets_, healing_); }
  [[nodiscard]] bool is_told_by_events() const override {
    const std::vector<ServiceId> its = targets_.services_of(world_.graph(), healing_.target);
    return healing_.cause->occurrence != 0 &&
           std::ranges::all_of(its, [&](ServiceId one) { return world_.graph().at(one).is_event(); });
  }

 private:
  HealingWorld& world_;
  Healing& healing_;
  const Step& step_;
  StepRun& run_;
  const TargetIndex& targets_;
  Recoveries& recoveries_;
};

/// Whether a kind of step is done by others, who answer to the healing itself.
template <typename Kind>
constexpr bool kIsAnswered =
    std::is_same_v<Kind, step::Program> || std::is_same_v<Kind, step::Http> || std::is_same_v<Kind, step::Bring> ||
    std::is_same_v<Kind, step::Escalate> || std::is_same_v<Kind, step::Parallel>;

/// Begins one of the other kinds.
void begin_kind(const Step& step, StepWork& work) {
  std::visit(
      [&]<typename Kind>([[maybe_unused]] const Kind& kind) {
        if constexpr (!kIsAnswered<Kind>) begin(kind, work);
      },
      step.what);
}

}  // namespace

// ---- guard and try ------------------------------------------------------------------------------------------------

void Healings::begin_guard(HealingWorld& world, Healing& healing, std::uint32_t doubts) {
  const Guard& guard = *healing.plan->guard;
  const Variables values = variables_of(world, healing, "guard");
  const FilledProgram filled = fill(guard.program, values, secrets_.of(healing));
  healing.at = stage::Guarding{{.state = State::Running, .doubts = doubts, .begun = world.now().wall}};
  if (std::string why = why_not_filled(filled.missing, filled.refused); !why.empty()) {
    world.save(healing);
    return guard_ended(world, healing, {.text = std::move(why), .output = {}});
  }
  healing.under_way().front().action = world.run(healing, filled.program, guard.timeout,
                                                 place_of(filled.program, values, secrets_.of(healing)), "guard");
  world.save(healing);
}

/// Refused: it uses no try, and is asked again after the cooldown while the condition stands.
void Healings::guard_ended(HealingWorld& world, Healing& healing, const ProgramEnd& end_of_guard) {
  StepRun run = std::get<stage::Guarding>(healing.at).run;
  if (healing.is_abandoned()) return end_abandoned(world, healing);
  if (!healing.cancelled_by.empty()) {
    if (healing.round > 0) return take(world, healing, stage::Claiming::For::Undo);  // an earlier try did something
    return end(world, healing, HealingEnd::Cancelled, "cancelled by " + healing.cancelled_by);
  }
  if (end_of_guard.end == StepEnd::Done) {
    const std::optional<BrakeVerdict> brake = brakes_.closed_since(world, healing);
    if (!brake) return begin_try(world, healing);
    if (!wait_again(world, healing)) return;
    brakes_.hold(world, healing, *brake);
    world.save(healing);
    return reevaluate(world);
  }
  if (end_of_guard.end == StepEnd::InDoubt && !run.restore({.repeatable = true}))  // it asks, and changes nothing
    return begin_guard(world, healing, run.doubts);
  refuse(world, healing, "refused by its guard", end_of_guard.text, end_of_guard.output);
}

/// Asked again after the cooldown; a later try, or what a person has asked for now, is over.
void Healings::refuse(HealingWorld& world, Healing& healing, const std::string& by, const std::string& why,
                      std::string_view output) {
  if (healing.has_begun() || healing.rule == Hash128{}) return end(world, healing, HealingEnd::Refused, why);
  const std::string text = fmt::format("{} {}: {}", describe(healing), by, why);
  Record& record = world.record(RecordKind::HealingHeld, Severity::Warning, healing.service, text);
  record.subject = healing.id.number();
  record.output = std::string(output);
  if (!std::exchange(healing.refused, true)) world.tell(healing, "Healing refused", effect::Cause::State::Failed, text);
  healing.approved_by.clear();
  if (!wait_again(world, healing)) return;
  healing.failure = fmt::format("{}: {}", by, why);
  healing.wait_for("again: " + healing.failure, Brake::Again);
  healing.waiting()->not_before = Deadline::in(healing.plan->cooldown, world.now());
  world.save(healing);
  reevaluate(world);
}

void Healings::begin_try(HealingWorld& world, Healing& healing) {
  memories_.begun(world, healing);
  ++healing.round;
  if (healing.rehearses()) return end(world, healing, HealingEnd::WouldRun, "dry run");
  healing.at = stage::Stepping{};
  healing.failure.clear();
  std::string text = describe(healing) + " begins";
  if (healing.plan->tries > 1) text += fmt::format(", try {} of {}", healing.round, healing.plan->tries);
  if (!is_rule(healing.by) && !healing.escalated) text += ", requested by " + words_of(healing.by);
  if (healing.overrides != Overrides{})
    text += fmt::format(", overriding {} (by {})", to_string(healing.overrides), healing.overridden_by);
  world.record(RecordKind::HealingBegun, Severity::Warning, healing.service, text).subject = healing.id.number();
  // That another plan takes over was told with the failure of the one before.
  if (healing.round == 1 && !healing.plan->only_alerts() && !healing.escalated)
    world.tell(healing, "Healing begun", effect::Cause::State::Changed,
               fmt::format("{}: {}\n{}", text, healing.cause->description, what_comes(*healing.plan)));
  world.save(healing);
  go_on(world, healing);
}

/// The try has failed, and nothing of it is under way any more.
void Healings::try_failed(HealingWorld& world, Healing& healing) {
  recoveries_.stop(healing);
  if (healing.stage() == Stage::Failing) return end(world, healing, HealingEnd::Failed, healing.failure);
  if (healing.stage() == Stage::Cancelling)
    return end(world, healing, HealingEnd::Cancelled, fmt::format("cancelled by {}", healing.cancelled_by));
  if (healing.round < healing.plan->tries) {
    healing.at = stage::Between{{.reason = fmt::format("again: try {} failed", healing.round),
                                 .held_by = Brake::Again,
                                 .not_before = Deadline::in(healing.plan->cooldown, world.now())}};
    const std::string text = fmt::format("{}: try {} of {} failed: {}", describe(healing), healing.round,
                                         healing.plan->tries, healing.failure);
    world.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
    healing.held_since.reset();
    healing.notified_long = false;
    world.save(healing);
    return reevaluate(world);
  }
  give_up(world, healing);
}

/// No try is left: `on failure`, or the end.
void Healings::give_up(HealingWorld& world, Healing& healing) {
  if (healing.plan->on_failure.empty()) return end(world, healing, HealingEnd::Failed, healing.failure);
  const std::string text = fmt::format("{} failed: {}", describe(healing), healing.failure);
  world.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
  healing.at = stage::Failing{};
  world.save(healing);
  go_on(world, healing);
}

// ---- steps --------------------------------------------------------------------------------------------------------

/// As far as it goes by itself.
void Healings::go_on(HealingWorld& world, Healing& healing) {
  const HealingId id = healing.id;
  while (Healing* const known = running_.find(id)) {
    Healing& now = *known;
    stage::Progress* const progress = now.progress();
    if (progress == nullptr) return;
    if (now.is_abandoned()) {
      if (!std::ranges::all_of(progress->under_way, &StepRun::over)) return waking_.plan(world);
      return end_abandoned(world, now);
    }
    const bool cancelled = !now.cancelled_by.empty() && now.stage() != Stage::Cancelling;
    if (progress->under_way.empty()) {
      if (cancelled) {
        if (now.plan->on_cancel.empty())
          return end(world, now, HealingEnd::Cancelled, fmt::format("cancelled by {}", now.cancelled_by));
        now.at = stage::Cancelling{};
        world.save(now);
        continue;
      }
      if (progress->position >= now.steps().size()) {
        if (now.stage() == Stage::Failing)
          return end(world, now, HealingEnd::Failed, now.failure + "; its 'on failure' is done");
        if (now.stage() == Stage::Cancelling)
          return end(world, now, HealingEnd::Cancelled, fmt::format("cancelled by {}", now.cancelled_by));
        return end(world, now, end_of(now), {});
      }
      progress->under_way.resize(runs_of(now.step()));
      world.save(now);
    }
    const std::uint32_t position = progress->position;
    const auto away = [](const stage::Progress& one) {
      return one.detour ? std::optional(one.detour->of_plan) : std::nullopt;
    };
    const std::optional<bool> was_away = away(*progress);
    const Step& step = now.step();
    bool turned = false;  // to a step whose secret was lost
    for (std::size_t i = 0; i < progress->under_way.size(); ++i) {
      StepRun& run = progress->under_way[i];
      const Step& its = step_of(step, i);
      if (stopping_) continue;
      if (run.due && run.due->over(world.now()))
        if (const auto ended = run.deadline())
          run_over(world, now, its, run, *ended,
                   std::visit([&](const auto& kind) { return when_over(kind, run.due->length); }, its.what));
      if (run.state == State::Polling)
        requests_.poll(world, now, its, i, secrets_);
      else if (run.state == State::Fresh)
        begin_step(world, now, its, run);
      else
        continue;
      const Healing* const still = running_.find(id);
      const stage::Progress* const its_own = still == nullptr ? nullptr : still->progress();
      turned = its_own == nullptr || its_own->position != position || away(*its_own) != was_away;
      if (turned || its_own->under_way.empty()) break;
    }
    Healing* const still = turned ? nullptr : running_.find(id);
    if (still == nullptr || still->under_way().empty()) continue;  // gone, or another's step or plan now
    if (std::ranges::any_of(still->under_way(), [](const StepRun& run) { return run.state == State::Failed; }))
      end_others(world, *still);
    if (!std::ranges::all_of(still->under_way(), &StepRun::over)) return waking_.plan(world);
    if (const StepRun* const failed = failed_run(*still)) {
      if (cancelled) {
        progress->under_way.clear();
        progress->detour.reset();
        continue;
      }
      const std::string why =
          fmt::format("step \"{}\" {}", step_of(step, index_of(*still, *failed)).name, failed->failure);
      still->failure = still->stage() == Stage::Failing ? fmt::format("{}; on failure: {}", still->failure, why) : why;
      try_failed(world, *still);
      continue;
    }
    if (progress->detour) {
      come_back(*progress);
    } else {
      progress->under_way.clear();
      ++progress->position;
    }
    world.save(*still);
  }
}

void Healings::begin_step(HealingWorld& world, Healing& healing, const Step& step, StepRun& run) {
  run.begun = world.now().wall;
  run.due.reset();
  const Variables values = variables_of(world, healing, step.name);
  const auto fails = [&](const std::string& text) { run_over(world, healing, step, run, StepEnd::Failed, text); };
  if (const auto* const program = std::get_if<step::Program>(&step.what)) {
    const FilledProgram filled = fill(*program, values, secrets_.of(healing));
    if (!filled.missing.empty() && requests_.save_again(world, healing, filled.missing)) return;
    if (const std::string why = why_not_filled(filled.missing, filled.refused); !why.empty())
      return run_over(world, healing, step, run, StepEnd::Failed, why, kNeverAgain);
    run.begin(State::Running);
    Variables all = values;
    all.insert(secrets_.of(healing).begin(), secrets_.of(healing).end());
    run.action = world.run(healing, filled.program, step.timeout, place_of(filled.program, all, secrets_.of(healing)),
                           step.name);
  } else if (std::holds_alternative<step::Http>(step.what)) {
    requests_.begin(world, healing, step, run, secrets_);
    return;
  } else if (const auto* const bring = std::get_if<step::Bring>(&step.what)) {
    const std::string name = fill(bring->service, values).text;
    const std::optional<ServiceId> service = world.graph().find(name);
    if (!service) return fails(fmt::format("there is no service {} any more", name));
    // A pause of the target has let the healing begin, or has come since: it holds no step back.
    const std::vector<ServiceId> own = concerned(world, targets_, healing);
    const bool of_target = std::ranges::find(own, *service) != own.end();
    const std::string why = world.left_alone(healing, bring->what, *service, of_target, stopped_by(world, healing));
    if (!why.empty()) return fails("not done: " + why);
    run.begin(State::Bringing);
    world.bring(healing, index_of(healing, run), bring->what, *service);
  } else if (const auto* const other = std::get_if<step::Escalate>(&step.what)) {
    const std::shared_ptr<const Workflow> plan = world.graph().workflow(other->workflow);
    if (plan == nullptr) return fails(fmt::format("there is no workflow {} any more", other->workflow));
    return escalate(world, healing, plan);
  } else {
    StepOfHealing work(world, healing, step, run, targets_, recoveries_);
    begin_kind(step, work);
  }
  world.save(healing);
}

/// It goes on with another plan, as its own has failed.
void Healings::escalate(HealingWorld& world, Healing& healing, const std::shared_ptr<const Workflow>& plan) {
  const std::string text = fmt::format("{} goes on with {}: {}", describe(healing), plan->name, healing.failure);
  world.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
  world.tell(healing, "Healing escalated", effect::Cause::State::Failed,
             fmt::format("{} failed: {}\nIt goes on with {}. {}", describe(healing), healing.failure, plan->name,
                         what_comes(*plan)));
  healing.held_since.reset();
  healing.notified_long = false;
  memories_.failed(world, healing);
  auto cause = std::make_shared<effect::Cause>(*healing.cause);
  cause->description = fmt::format("{} failed: {}", healing.plan->name, healing.failure);
  healing.cause = std::move(cause);
  healing.plan = plan;
  healing.escalated = true;
  healing.in_probation = false;
  healing.approved_by.clear();
  healing.round = 0;
  healing.at = stage::Between{{.reason = "brakes of " + plan->name}};
  memories_.proposed(world, plan->name);
  world.save(healing);
  reevaluate(world);
}

/// The first failure ends the others, and so does a person.
void Healings::end_others(HealingWorld& world, Healing& healing) {
  bool leaves = false;
  for (StepRun& run : healing.under_way()) {
    if (run.state == State::Running) {
      run.begin(State::Ending);
      world.end_program(run.action);
      continue;
    }
    if (run.state == State::Bringing) {
      run.begin(State::Ending);
      leaves = true;
      continue;
    }
    if (run.state == State::Requesting) world.end_request(run.action);
    if (run.state == State::Polling) requests_.stop(world, healing, index_of(healing, run));
    if (run.state != State::Ending && !run.over()) {
      run.event(StepEnd::Failed, kNeverAgain);
      run.failure = kWasEnded;
    }
  }
  if (leaves) world.leave(healing);
  recoveries_.stop(healing);
}

void Healings::program_ended(HealingWorld& world, ActionId action, const ProgramEnd& end_of_program) {
  Healing* const healing = running_.of_action(action);
  if (healing == nullptr) return;
  if (healing->stage() == Stage::Guarding) return guard_ended(world, *healing, end_of_program);
  const Step& all = healing->step();
  for (std::size_t i = 0; i < healing->under_way().size(); ++i) {
    StepRun& run = healing->under_way()[i];
    if (run.action != action || run.over()) continue;
    const Step& step = step_of(all, i);
    std::optional<StepEnd> end = end_of_program.end;
    if (end == StepEnd::InDoubt) end = run.restore(healing->is_abandoned() ? kNeverAgain : terms_of(step));
    if (!end) {
      world
          .record(RecordKind::HealingStep, Severity::Warning, healing->service,
                  fmt::format("{}, step \"{}\": {}; it is run again, as it may be repeated", describe(*healing),
                              step.name, end_of_program.text))
          .subject = healing->id.number();
      world.save(*healing);
      break;
    }
    const bool was_ended = run.state == State::Ending;
    StepEnd how = *end;
    StepTerms terms = terms_of(step);
    std::string text = was_ended ? std::string(kWasEnded) : end_of_program.text;
    if (how == StepEnd::Done && !was_ended) {
      const std::string why = secrets_.save(*healing, std::get<step::Program>(step.what).saves, end_of_program.saved);
      if (!why.empty()) {
        how = StepEnd::Failed;
        text = fmt::format("{}, but its output {}", text, why);
        terms = once_done(terms);
      }
    }
    if (end_of_program.end == StepEnd::InDoubt && !was_ended) text += "; it is not run again";
    run_over(world, *healing, step, run, how, text, terms, end_of_program.elapsed);
    break;
  }
  go_on(world, *healing);
}

void Healings::answered(HealingWorld& world, const event::Answered& answer) {
  if (const auto asker = secrets_.asker(answer.request)) {
    Healing& healing = running_.at(*asker);
    const bool there = secrets_.answered(healing.id, answer);
    if (!healing.waits() || healing.is_to_undo()) return;
    if (!there) return refuse(world, healing, "refused", answer.why, {});
    return consider(world);
  }
  for (const auto& [id, known] : running_.all()) {
    Healing& healing = running_.at(id);
    for (std::size_t i = 0; i < healing.under_way().size(); ++i) {
      StepRun& run = healing.under_way()[i];
      const bool is_poll = run.state == State::Polling && requests_.is_question(answer.request, id, i);
      if (!is_poll && (run.state != State::Requesting || run.action != answer.request)) continue;
      const Step& step = step_of(healing.step(), i);
      if (is_poll)
        requests_.polled(world, healing, step, i, answer);
      else
        requests_.answered(world, healing, step, run, answer, secrets_);
      return go_on(world, healing);
    }
  }
}

void Healings::brought(HealingWorld& world, HealingId id, std::size_t run, StepEnd how, const std::string& text) {
  Healing* const healing = running_.find(id);
  if (healing == nullptr || run >= healing->under_way().size()) return;
  StepRun& its = healing->under_way()[run];
  if (its.state != State::Bringing && (its.state != State::Ending || its.action != ActionId{})) return;
  run_over(world, *healing, step_of(healing->step(), run), its, how,
           its.state == State::Ending ? std::string(kWasEnded) : text);
  go_on(world, *healing);
}

/// Whether the recovery has come that its step awaits.
void Healings::verify(HealingWorld& world, Healing& healing) {
  if (healing.under_way().size() != 1 || healing.under_way().front().state != State::Verifying) return;
  const Step& step = healing.step();
  StepOfHealing work(world, healing, step, healing.under_way().front(), targets_, recoveries_);
  if (std::visit([&](const auto& kind) { return looked_at(kind, work); }, step.what)) go_on(world, healing);
}

/// Where services have come or gone, or nobody has begun to look at them.
void Healings::verify_all(HealingWorld& world) {
  for (const HealingId id : running_.ids())
    if (Healing* const healing = running_.find(id)) verify(world, *healing);
}

}  // namespace healer::engine
