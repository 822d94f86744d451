// SPDX-License-Identifier: MIT
// How a healing goes: guard, tries, steps, and its end.
#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/healing/healings.hpp"
#include "engine/healing/request.hpp"
#include "engine/healing/step_runs.hpp"
#include "engine/healing/variables.hpp"
#include "engine/job.hpp"
#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {
namespace {

using Stage = Healing::Stage;
using State = StepRun::State;

/// The longest that a try is remembered: as far back as a limit may look.
constexpr Duration kLongestLimit = days{31};
constexpr std::size_t kMostTries = 10'000;
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

/// Of a step that was ended because another one has failed, or by a person.
constexpr std::string_view kWasEnded = "was ended";

bool verifies_itself(const std::vector<Step>& steps) {
  return std::ranges::any_of(steps,
                             [](const Step& step) { return std::holds_alternative<step::Recovered>(step.what); });
}

}  // namespace

Variables Healings::variables(const HealingWorld& world, const Healing& healing, std::string_view step) const {
  Variables all = healing.saved;
  for (const auto& [name, value] : healing.row) all.insert_or_assign(name, value);
  for (const auto& [name, value] : healing.cause->fields) all.insert_or_assign(name, value);
  const Hash128 id = name_of(healing);
  all.insert_or_assign("SERVICE", healing.service);
  all.insert_or_assign("TARGET", healing.target);
  all.insert_or_assign("EVENT", healing.cause->event_text);
  all.insert_or_assign("REASON", healing.stage == Stage::Failing ? healing.failure : healing.cause->description);
  all.insert_or_assign("DATE", format_iso(healing.cause->when));
  all.insert_or_assign("HOST", world.host());
  all.insert_or_assign("HEALING", uuid_of(id));
  all.insert_or_assign(
      "STEP", uuid_of(hash128(fmt::format("{} {} {} {}", to_string(id), healing.plan->name, healing.round, step))));
  return all;
}

bool Healings::complete(const HealingWorld& world, effect::Exec& exec) const {
  for (const auto& [id, healing] : healings_) {
    for (std::size_t i = 0; i < healing.under_way.size(); ++i) {
      if (healing.under_way[i].action != exec.action) continue;
      exec.healing = id;
      const bool is_guard = healing.stage == Stage::Guarding;
      const Step* const step = is_guard ? nullptr : &step_of(healing.steps()[healing.position], i);
      const auto* const program = is_guard ? &healing.plan->guard->program : std::get_if<step::Program>(&step->what);
      if (program == nullptr) return true;
      const Variables values = variables(world, healing, is_guard ? "guard" : step->name);
      const FilledProgram filled = fill(*program, values, secrets(healing));
      exec.place = place_of(filled.program, values, secrets(healing));
      return filled.missing.empty() && filled.refused.empty();
    }
  }
  return true;
}

std::vector<Saving> Healings::savings_of(const HealingWorld& world, ActionId action) const {
  std::vector<Saving> saves;
  for (const auto& [id, healing] : healings_)
    for (std::size_t i = 0; i < healing.under_way.size(); ++i) {
      if (healing.under_way[i].action != action || healing.stage == Stage::Guarding) continue;
      const Step& step = step_of(healing.steps()[healing.position], i);
      const auto* const program = std::get_if<step::Program>(&step.what);
      if (program == nullptr) return saves;
      const Variables values = variables(world, healing, step.name);
      for (const Saving& saving : program->saves) saves.push_back(bind(saving, values, secrets(healing)));
      return saves;
    }
  return saves;
}

// ---- guard and try ------------------------------------------------------------------------------------------------

void Healings::begin_guard(HealingWorld& world, Healing& healing, std::uint32_t doubts) {
  healing.stage = Stage::Guarding;
  const Guard& guard = *healing.plan->guard;
  const Variables values = variables(world, healing, "guard");
  const FilledProgram filled = fill(guard.program, values, secrets(healing));
  healing.under_way = {StepRun{.state = State::Running, .doubts = doubts, .begun = world.now().wall}};
  if (std::string why = why_not_filled(filled.missing, filled.refused); !why.empty()) {
    world.save(healing);
    return guard_ended(world, healing, {.text = std::move(why), .output = {}});
  }
  healing.under_way.front().action =
      world.run(healing, filled.program, guard.timeout, place_of(filled.program, values, secrets(healing)), "guard");
  world.save(healing);
}

/// Refused: it uses no try, and is asked again after the cooldown while the condition stands.
void Healings::guard_ended(HealingWorld& world, Healing& healing, const ProgramEnd& end_of_guard) {
  StepRun run = healing.under_way.empty() ? StepRun{} : healing.under_way.front();
  healing.under_way.clear();
  if (healing.is_abandoned()) return end_abandoned(world, healing);
  if (!healing.cancelled_by.empty()) {
    if (healing.round > 0) return undo(world, healing);  // an earlier try has done something
    return end(world, healing, HealingEnd::Cancelled, "cancelled by " + healing.cancelled_by);
  }
  if (end_of_guard.end == StepEnd::Done) {
    // While it was asked, or healer was away, a person may have paused it, or the target may be well again.
    forget_counts();
    std::optional<BrakeVerdict> brake;
    if (!condition_stands(world, healing))
      brake = {.brake = Brake::Check, .lets = false, .text = "its target no longer fails"};
    // Places and shares were taken before the guard was asked: to ask for them again could hold up all for ever.
    for (const BrakeVerdict& verdict : verdicts(world, healing))
      if (!brake && !verdict.lets &&
          (verdict.brake == Brake::Pause || verdict.brake == Brake::Doubt || verdict.brake == Brake::Names ||
           verdict.brake == Brake::List))
        brake = verdict;
    if (!brake) return begin_try(world, healing);
    if (!wait_again(world, healing)) return;
    note_held(world, healing, *brake);
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
  healing.not_before = Deadline::in(healing.plan->cooldown, world.now());
  healing.wait_for("again: " + healing.failure, Brake::Again);
  world.save(healing);
  reevaluate(world);
}

void Healings::begin_try(HealingWorld& world, Healing& healing) {
  WorkflowMemory& memory = workflow_memory(healing.plan->name);
  const Instant now = world.now();
  if (!healing.plan->only_alerts()) {
    memory.tries.push_back({.when = now.wall, .target = to_lower(healing.target), .rehearsed = healing.rehearses()});
    std::erase_if(memory.tries, [&](const WorkflowMemory::Try& one) { return one.when < now.wall - kLongestLimit; });
    if (memory.tries.size() > kMostTries) memory.tries.erase(memory.tries.begin());
  }
  if (!healing.rehearses() && healing.round == 0) ++memory.counts.ran;
  world.save(memory);
  ++healing.round;
  if (healing.rehearses()) return end(world, healing, HealingEnd::WouldRun, "dry run");
  healing.stage = Stage::Stepping;
  healing.position = 0;
  healing.under_way.clear();
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
  healing.under_way.clear();
  healing.detour.reset();
  stop_verifying(healing);
  if (healing.stage == Stage::Failing) return end(world, healing, HealingEnd::Failed, healing.failure);
  if (healing.stage == Stage::Cancelling)
    return end(world, healing, HealingEnd::Cancelled, fmt::format("cancelled by {}", healing.cancelled_by));
  if (healing.round < healing.plan->tries) {
    healing.stage = Stage::Between;
    healing.not_before = Deadline::in(healing.plan->cooldown, world.now());
    healing.wait_for(fmt::format("again: try {} failed", healing.round), Brake::Again);
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
  healing.wait_for({});
  healing.not_before.reset();
  const std::string text = fmt::format("{} failed: {}", describe(healing), healing.failure);
  world.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
  healing.stage = Stage::Failing;
  healing.position = 0;
  world.save(healing);
  go_on(world, healing);
}

// ---- steps --------------------------------------------------------------------------------------------------------

/// As far as it goes by itself.
void Healings::go_on(HealingWorld& world, Healing& healing) {
  const HealingId id = healing.id;
  while (Healing* const known = find(id)) {
    Healing& now = *known;
    if (now.stage != Stage::Stepping && now.stage != Stage::Failing && now.stage != Stage::Cancelling) return;
    if (now.is_abandoned()) {
      if (!std::ranges::all_of(now.under_way, &StepRun::over)) return plan_wake(world);
      return end_abandoned(world, now);
    }
    const bool cancelled = !now.cancelled_by.empty() && now.stage != Stage::Cancelling;
    if (now.under_way.empty()) {
      if (cancelled) {
        if (now.plan->on_cancel.empty())
          return end(world, now, HealingEnd::Cancelled, fmt::format("cancelled by {}", now.cancelled_by));
        now.stage = Stage::Cancelling;
        now.position = 0;
        world.save(now);
        continue;
      }
      if (now.position >= now.steps().size()) {
        if (now.stage == Stage::Failing)
          return end(world, now, HealingEnd::Failed, now.failure + "; its 'on failure' is done");
        if (now.stage == Stage::Cancelling)
          return end(world, now, HealingEnd::Cancelled, fmt::format("cancelled by {}", now.cancelled_by));
        return end(world, now,
                   verifies_itself(now.plan->steps)           ? HealingEnd::Verified
                   : now.escalated && now.plan->only_alerts() ? HealingEnd::Called
                                                              : HealingEnd::Done,
                   {});
      }
      now.under_way.resize(runs_of(now.steps()[now.position]));
      world.save(now);
    }
    const std::uint32_t position = now.position;
    const bool away = now.detour.has_value();
    const Step& step = now.steps()[position];
    bool turned = false;  // to a step whose secret was lost
    for (std::size_t i = 0; i < now.under_way.size(); ++i) {
      StepRun& run = now.under_way[i];
      const Step& its = step_of(step, i);
      if (stopping_) continue;
      if (run.due && run.due->over(world.now()))
        if (const auto ended = run.deadline())
          run_over(world, now, its, run, *ended,
                   *ended == StepEnd::Done ? fmt::format("waited {}", format_duration(run.due->length))
                                           : fmt::format("not recovered within {}", format_duration(run.due->length)));
      if (run.state == State::Polling)
        poll(world, now, its, i);
      else if (run.state == State::Fresh)
        begin_step(world, now, its, run);
      else
        continue;
      const Healing* const still = find(id);
      turned = still != nullptr && (still->position != position || still->detour.has_value() != away);
      if (still == nullptr || still->under_way.empty() || turned) break;
    }
    Healing* const still = find(id);
    if (still == nullptr || still->under_way.empty() || turned) continue;  // gone, or another's step or plan now
    if (std::ranges::any_of(still->under_way, [](const StepRun& run) { return run.state == State::Failed; }))
      end_others(world, *still);
    if (!std::ranges::all_of(still->under_way, &StepRun::over)) return plan_wake(world);
    auto failed = std::ranges::find(still->under_way, State::Failed, &StepRun::state);
    if (failed != still->under_way.end()) {
      // Of `parallel` not one that was ended is to blame, but the one for which it was.
      const auto guilty = std::find_if(failed, still->under_way.end(), [](const StepRun& run) {
        return run.state == State::Failed && run.failure != kWasEnded;
      });
      if (guilty != still->under_way.end()) failed = guilty;
      if (cancelled) {
        still->under_way.clear();
        still->detour.reset();
        continue;
      }
      const auto run = static_cast<std::size_t>(failed - still->under_way.begin());
      const std::string why = fmt::format("step \"{}\" {}", step_of(step, run).name, failed->failure);
      still->failure = still->stage == Stage::Failing ? fmt::format("{}; on failure: {}", still->failure, why) : why;
      try_failed(world, *still);
      continue;
    }
    if (still->detour) {
      come_back(*still);
    } else {
      still->under_way.clear();
      ++still->position;
    }
    world.save(*still);
  }
}

void Healings::begin_step(HealingWorld& world, Healing& healing, const Step& step, StepRun& run) {
  run.begun = world.now().wall;
  run.due.reset();
  const Variables values = variables(world, healing, step.name);
  const auto fails = [&](const std::string& text) { run_over(world, healing, step, run, StepEnd::Failed, text); };
  if (const auto* const program = std::get_if<step::Program>(&step.what)) {
    const FilledProgram filled = fill(*program, values, secrets(healing));
    if (!filled.missing.empty() && save_again(world, healing, filled.missing)) return;
    if (const std::string why = why_not_filled(filled.missing, filled.refused); !why.empty())
      return run_over(world, healing, step, run, StepEnd::Failed, why, kNeverAgain);
    run.begin(State::Running);
    Variables all = values;
    all.insert(secrets(healing).begin(), secrets(healing).end());
    run.action =
        world.run(healing, filled.program, step.timeout, place_of(filled.program, all, secrets(healing)), step.name);
  } else if (std::holds_alternative<step::Http>(step.what)) {
    begin_request(world, healing, step, run);
    return;
  } else if (const auto* const wait = std::get_if<step::Wait>(&step.what)) {
    run.begin(State::Waiting);
    run.due = Deadline::in(wait->length, world.now());
  } else if (const auto* const tell = std::get_if<step::Tell>(&step.what)) {
    const std::string text = fill(tell->text, values).text;
    world.tell(healing, "Healing", effect::Cause::State::Changed, text);
    run_over(world, healing, step, run, StepEnd::Done, "told: " + text);
  } else if (const auto* const recovered = std::get_if<step::Recovered>(&step.what)) {
    run.begin(State::Verifying);
    run.due = Deadline::in(recovered->within, world.now());
    for (const ServiceId service : services_of(world.graph(), healing.target))
      for (const ServiceId member : world.seen_by(service))
        verifying_[member] = {.healing = healing.id, .since = world.now().mono, .checked = world.now().mono};
    bool checks = false;
    for (const auto& [service, progress] : verifying_) {
      if (progress.healing != healing.id) continue;
      checks = true;
      world.check(service);
    }
    if (!checks && recovered->or_gone && is_gone(world, healing))
      return run_over(world, healing, step, run, StepEnd::Done, "gone");
    const std::vector<ServiceId> its = services_of(world.graph(), healing.target);
    if (!checks && healing.cause->occurrence != 0 &&
        std::ranges::all_of(its, [&](ServiceId one) { return world.graph().at(one).is_event(); }))
      return fails(fmt::format("not recovered: no rule watches {}, so nobody can say that it is well ('until' can)",
                               healing.target));
  } else if (const auto* const bring = std::get_if<step::Bring>(&step.what)) {
    const std::string name = fill(bring->service, values).text;
    const std::optional<ServiceId> service = world.graph().find(name);
    if (!service) return fails(fmt::format("there is no service {} any more", name));
    // A pause of the target has let the healing begin, or has come since: it holds no step back.
    const std::vector<ServiceId> own = concerned(world, healing);
    const bool of_target = std::ranges::find(own, *service) != own.end();
    const std::string why = world.left_alone(healing, bring->what, *service, of_target, stopped_by(world, healing));
    if (!why.empty()) return fails("not done: " + why);
    run.begin(State::Bringing);
    world.bring(healing, index_of(healing, run), bring->what, *service);
  } else if (const auto* const other = std::get_if<step::Escalate>(&step.what)) {
    const std::shared_ptr<const Workflow> plan = world.graph().workflow(other->workflow);
    if (plan == nullptr) return fails(fmt::format("there is no workflow {} any more", other->workflow));
    const std::string text = fmt::format("{} goes on with {}: {}", describe(healing), plan->name, healing.failure);
    world.record(RecordKind::HealingStep, Severity::Error, healing.service, text).subject = healing.id.number();
    world.tell(healing, "Healing escalated", effect::Cause::State::Failed,
               fmt::format("{} failed: {}\nIt goes on with {}. {}", describe(healing), healing.failure, plan->name,
                           what_comes(*plan)));
    healing.held_since.reset();
    healing.notified_long = false;
    failed(world, healing);
    auto cause = std::make_shared<effect::Cause>(*healing.cause);
    cause->description = fmt::format("{} failed: {}", healing.plan->name, healing.failure);
    healing.cause = std::move(cause);
    healing.plan = plan;
    healing.escalated = true;
    healing.in_probation = false;
    healing.approved_by.clear();
    healing.stage = Stage::Between;
    healing.round = 0;
    healing.position = 0;
    healing.under_way.clear();
    healing.wait_for("brakes of " + plan->name);
    ++workflow_memory(plan->name).counts.proposed;
    world.save(workflow_memory(plan->name));
    world.save(healing);
    return reevaluate(world);
  }
  world.save(healing);
}

/// What its steps have stopped, with all that depends on that.
std::set<ServiceId> Healings::stopped_by(const HealingWorld& world, const Healing& healing) const {
  std::set<ServiceId> stopped;
  const auto add = [&](const Step& step) {
    const auto* const bring = std::get_if<step::Bring>(&step.what);
    if (bring == nullptr || bring->what != Bringing::Stop) return;
    if (std::ranges::none_of(healing.outcomes,
                             [&](const StepOutcome& one) { return one.good && one.name == step.name; }))
      return;
    const auto service = world.graph().find(fill(bring->service, variables(world, healing, step.name)).text);
    if (!service) return;
    for (const ServiceId one : with_dependents(world.graph(), {*service})) stopped.insert(one);
  };
  // After an escalation the steps before it are those of another plan.
  for (const auto& plan : {healing.plan, world.graph().workflow(healing.workflow)}) {
    if (plan == nullptr) continue;
    for (const auto* const steps : {&plan->steps, &plan->on_failure, &plan->on_cancel})
      for (const Step& step : *steps)
        for (std::size_t i = 0; i < runs_of(step); ++i) add(step_of(step, i));
  }
  return stopped;
}

void Healings::run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
                        const std::string& text, StepTerms terms, std::optional<Duration> ran) {
  const Instant now = world.now();
  run.event(how, healing.cancelled_by.empty() && !healing.is_abandoned() ? terms : kNeverAgain);
  const bool good = run.state == State::Done;
  const bool again = run.state == State::Pausing;
  if (again) run.due = Deadline::in(step.pause, now);
  if (!good) run.failure = text;
  const Duration took = ran.value_or(std::max(now.wall - run.begun, Duration{0}));
  healing.outcomes.push_back({healing.round, step.name, good, took, text});
  // The text of a request, a wait or a timeout says how long it took; to tell takes no time.
  const bool is_timed = text.starts_with("timed out after ") || text.starts_with("not recovered within ") ||
                        std::holds_alternative<step::Http>(step.what) ||
                        std::holds_alternative<step::Tell>(step.what) ||
                        (good && std::holds_alternative<step::Wait>(step.what));
  Record& record =
      world.record(RecordKind::HealingStep, good ? Severity::Info : Severity::Warning, healing.service,
                   fmt::format("{}, step \"{}\": {}{}{}", describe(healing), step.name, text,
                               is_timed ? "" : fmt::format(" after {}", format_duration(took)),
                               again ? fmt::format("; tried again in {}", format_duration(step.pause)) : ""));
  record.subject = healing.id.number();
  world.save(healing);
}

/// The first failure ends the others, and so does a person.
void Healings::end_others(HealingWorld& world, Healing& healing) {
  bool leaves = false;
  for (StepRun& run : healing.under_way) {
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
    if (run.state == State::Polling) stop_polling(world, healing, index_of(healing, run));
    if (run.state != State::Ending && !run.over()) {
      run.event(StepEnd::Failed, kNeverAgain);
      run.failure = kWasEnded;
    }
  }
  if (leaves) world.leave(healing);
  stop_verifying(healing);
}

void Healings::program_ended(HealingWorld& world, ActionId action, const ProgramEnd& end_of_program) {
  Healing* const healing = of_action(action);
  if (healing == nullptr) return;
  if (healing->stage == Stage::Guarding) return guard_ended(world, *healing, end_of_program);
  const Step& all = healing->steps()[healing->position];
  for (std::size_t i = 0; i < healing->under_way.size(); ++i) {
    StepRun& run = healing->under_way[i];
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
      const std::string why = save_values(*healing, std::get<step::Program>(step.what).saves, end_of_program.saved);
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

void Healings::brought(HealingWorld& world, HealingId id, std::size_t run, StepEnd how, const std::string& text) {
  Healing* const healing = find(id);
  if (healing == nullptr || run >= healing->under_way.size()) return;
  StepRun& its = healing->under_way[run];
  if (its.state != State::Bringing && (its.state != State::Ending || its.action != ActionId{})) return;
  run_over(world, *healing, step_of(healing->steps()[healing->position], run), its, how,
           its.state == State::Ending ? std::string(kWasEnded) : text);
  go_on(world, *healing);
}

/// Whether the target has left the rules, and not only for now.
bool Healings::is_gone(const HealingWorld& world, const Healing& healing) const {
  return services_of(world.graph(), healing.target).empty() && world.left_out(healing).empty();
}

/// Whether every monitored service of the target has come back: each had runs, begun after the step, in which no test
/// held, as many as the recovery of its rules asks for.
void Healings::verify(HealingWorld& world, Healing& healing) {
  if (healing.under_way.size() != 1 || healing.under_way.front().state != State::Verifying) return;
  const Step& step = healing.steps()[healing.position];
  const auto& wanted = std::get<step::Recovered>(step.what);
  std::vector<ServiceId> seen;
  for (const ServiceId service : services_of(world.graph(), healing.target))
    for (const ServiceId member : world.seen_by(service)) seen.push_back(member);
  if (seen.empty()) {
    if (wanted.or_gone && is_gone(world, healing)) {
      run_over(world, healing, step, healing.under_way.front(), StepEnd::Done, "gone");
      go_on(world, healing);
    }
    return;
  }
  bool newcomer = false;  // it has come while this went on, or this daemon has
  for (const ServiceId service : seen) {
    if (const auto known = verifying_.find(service); known != verifying_.end() && known->second.healing == healing.id)
      continue;
    verifying_[service] = {.healing = healing.id, .since = world.now().mono, .checked = world.now().mono};
    world.check(service);
    newcomer = true;
  }
  if (newcomer) return;
  for (const ServiceId service : seen) {
    std::uint32_t runs = 1;
    Duration held{0};
    for (const Rule& rule : world.graph().at(service).rules)
      if (rule->mode == Mode::Latched && world.stands(service, rule.key, healing.target)) {
        runs = std::max<std::uint32_t>(runs, rule->recovery->tolerance.count);
        held = std::max(held, rule->recovery->tolerance.held);
      }
    const Progress& now = verifying_.at(service);
    if (now.clear < runs || !now.clear_since || world.now().mono - *now.clear_since < held) return;
  }
  run_over(world, healing, step, healing.under_way.front(), StepEnd::Done, "recovered");
  stop_verifying(healing);
  go_on(world, healing);
}

/// Where services have come or gone, or nobody has begun to look at them.
void Healings::verify_all(HealingWorld& world) {
  for (const HealingId id : ids())
    if (Healing* const healing = find(id)) verify(world, *healing);
}

void Healings::stop_verifying(const Healing& healing) {
  std::erase_if(verifying_, [&](const auto& entry) { return entry.second.healing == healing.id; });
}

}  // namespace healer::engine
