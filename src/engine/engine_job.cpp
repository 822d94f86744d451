// SPDX-License-Identifier: MIT
// Starts, stops and restarts: how a job goes from step to step (the model is in job.hpp).
#include <algorithm>
#include <csignal>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr Duration kFirstPause{20};  // between the looks of a job; doubles
constexpr Duration kLongestCheckPause{500};
constexpr Duration kKillGrace{2000};
constexpr Duration kLeastLeft{2000};  // of a step that an earlier daemon began: what has come about is seen first
constexpr std::size_t kMostListed = 20;

}  // namespace

// ---- begin and end ------------------------------------------------------------------------------------------------

/// A rule wants its service started, stopped or restarted: now, if nothing is in the way; else this is recorded, and
/// tried again when that has gone (`again`; actions on a recovery or a change come once).
void Engine::want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, bool again,
                      Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (state.job) return;
  std::string why = in_the_way(id, kind);
  if (why.empty() && kind != ActionKind::Stop && state.last) why = left_to_systemd(*state.last);
  // What waits for another service is neither restarted nor held back for what it did itself.
  if (why.empty() && kind != ActionKind::Stop) {
    state.starts.edit().restarted = true;
    turn.save(id);
    // A unit that is to be started once more has not lasted: that counts as the death of a process does.
    const StartHistory& starts = *state.starts;
    if (graph_->at(id).is_unit() && starts.last && (!starts.not_before || *starts.not_before <= *starts.last))
      note_end(id, turn.now.wall - *starts.last, turn);
    why = own_obstacle(id, turn.now);
  }
  if (why.empty()) return begin_job({.kind = kind, .services = {id}, .by = ByRule{}, .cause = std::move(cause)}, turn);
  if (kind != ActionKind::Stop) check_needed(id, turn.now);
  if (!again) {
    turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name,
                fmt::format("{} not done: {}", to_string(kind), why));
    return;
  }
  if (const auto wait = backing_off(id, turn.now); wait && kind != ActionKind::Stop)
    timetable_.check_later(id, Reason::Again, turn.now.mono + *wait);
  if (state.trouble->waits == why) return;
  turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name,
              fmt::format("{} waits: {}", to_string(kind), why));
  state.trouble.set(&Trouble::waits, std::move(why));
}

/// Which other service keeps a rule's start, stop or restart of this one from beginning now; empty: none.
std::string Engine::in_the_way(ServiceId id, ActionKind kind) const {
  const auto busy = [this](ServiceId other) {
    const Job& job = jobs_.at(services_[other.index()].job->number());
    return fmt::format("the {} of {} is under way", to_string(job.kind), graph_->at(job.service).name);
  };
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (kind != ActionKind::Start && services_[dependent.index()].job) return busy(dependent);
  if (kind == ActionKind::Stop) return {};
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    if (services_[needed.index()].job) return busy(needed);
    // Nobody knows how it is. As in Monit, a rule does not start what needs it.
    if (!services_[needed.index()].monitored)
      return fmt::format("it depends on {}, which is not monitored", graph_->at(needed).name);
  }
  return missing_requirement(id);
}

/// What of its own keeps a rule's start or restart of a service from beginning now; empty: nothing.
std::string Engine::own_obstacle(ServiceId id, Instant now) const {
  if (!graph_->at(id).can_start() || starts_nothing(*graph_, id)) return "it has no start program";
  const bool ended = graph_->at(id).foreground() || graph_->at(id).end_leftovers;  // it is not to come up any more
  const std::string left = ended ? std::string{} : leftovers_.behind(id);
  if (!left.empty() && !leftovers_.are_old(id, now)) return left;
  const StartHistory& starts = *services_[id.index()].starts;
  if (backing_off(id, now))
    return starts.quick == 1 ? std::string("the last start failed")
                             : fmt::format("the last {} starts failed", starts.quick);
  return {};
}

void Engine::begin_job(JobOrder order, Turn& turn) {
  std::vector<JobStep> steps = plan_steps(*graph_, order.kind, order.services, [&](ServiceId id) {
    // What could not be started again is not stopped because of another; nor is, by a rule or a healing, what a person
    // paused, or what is passive.
    const bool by_rule = is_rule(order.by) || is_healing(order.by);
    const bool held = pauses_.in_force(id, turn.now);
    if (order.kind == ActionKind::Stop) return !by_rule || !held;
    const bool passive = graph_->at(id).activity == ServiceBlock::Activity::Passive;
    return services_[id.index()].monitored && !held && !(by_rule && passive) && graph_->at(id).can_start();
  });
  // What it depends on is up, or a rule would not start it; what is no process is not started because of others
  // as long as it is monitored; and what a rule's job brings up already is waited for.
  std::erase_if(steps, [&](const JobStep& step) {
    if (order.kind != ActionKind::Start || step.named) return false;
    if (!is_rule(order.by) && is_brought_up(step.service)) {
      monitor(step.service, order.by, turn);
      return true;
    }
    return is_rule(order.by) || (!graph_->at(step.service).has_process() && services_[step.service.index()].monitored);
  });
  if (order.kind == ActionKind::Restart && !is_rule(order.by)) start_needed_first(order, steps, turn);

  const JobId id = ids_.job();
  Job& job = jobs_[id.number()];
  job = {.id = id,
         .kind = order.kind,
         .service = order.services.front(),
         .steps = std::move(steps),
         .begun = turn.now.mono,
         .unmonitor = order.kind == ActionKind::Stop,
         .by = std::move(order.by),
         .cause = std::move(order.cause)};
  if (order.asked_by) job.asked_by.push_back(*order.asked_by);
  std::vector<std::string> listed;
  for (const JobStep& step : job.steps) {
    ServiceState& state = services_[step.service.index()];
    state.job = id;
    state.trouble.set(&Trouble::waits, {});
    cancel_flight(step.service, turn);
    commands_.run_ended(step.service, true, turn);  // what is being started or stopped is not in order
    if (order.kind == ActionKind::Start && !is_rule(job.by)) monitor(step.service, job.by, turn);
    if (listed.size() < kMostListed) listed.push_back(describe_step(*graph_, step));
  }
  if (listed.size() < job.steps.size()) listed.emplace_back("...");
  turn.record(RecordKind::JobStarted, Severity::Info, graph_->at(job.service).name,
              fmt::format("{} by {}: {}", to_string(job.kind), words_of(job.by), fmt::join(listed, ", ")))
      .subject = id.number();
  turn.save(job.id);
  if (job.unmonitor && is_person(job.by)) {
    std::set<ServiceId> stopped;
    for (const JobStep& step : job.steps) stopped.insert(step.service);
    const std::vector<std::string> ended =
        take_from_healings(stopped, fmt::format("stopped by {}", words_of(job.by)), turn);
    for (const CommandId command : job.asked_by) commands_.note_ended(command, ended);
  }
  go_on(job, begin_step(job, turn), turn);
}

/// From step to step, as far as nothing has to be waited for. Where it waits is saved: a step that is done is not done
/// again by the next daemon.
void Engine::go_on(Job& job, Progress progress, Turn& turn) {
  const std::uint32_t before = job.position;
  while (progress == StepEnd::Done) {
    if (++job.position >= job.steps.size()) return end_job(job, StepEnd::Done, turn);
    progress = begin_step(job, turn);
  }
  if (progress) return end_job(job, *progress, turn);
  if (job.position != before) turn.save_move(job.id);
}

void Engine::end_job(Job& living, StepEnd how, Turn& turn) {
  const bool good = how == StepEnd::Done;
  set_due(living, std::nullopt);
  Job job = std::move(living);
  jobs_.erase(job.id.number());
  if (job.check) turn.sink.emit(effect::CancelRun{job.step().service, *job.check});
  turn.commit.ended_jobs.push_back(job.id);
  std::vector<ServiceId> ended;
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const ServiceId id = job.steps[i].service;
    services_[id.index()].job.reset();
    // What has recovered is known at once, not a cycle later; nor is a death meanwhile, nor what was left down.
    if (services_[id.index()].presence.is_gone())
      timetable_.check_later(id, Reason::Death, turn.now.mono);
    else if (good || job.cancelled ? i < job.position && job.steps[i].kind != Bringing::Stop : id != job.step().service)
      timetable_.check_later(id, Reason::Again, turn.now.mono);
    ended.push_back(id);
    turn.save(id);
  }
  wake_waiting(ended, turn.now);
  reevaluate_healings(turn);
  const ServiceBlock& block = graph_->at(job.service);
  const Duration took = turn.now.mono - job.begun;
  // After a completed job the count of the rules that asked for it begins again; not where its work was undone before
  // it had ended.
  if ((good && !services_[job.service.index()].presence.is_gone()) || job.cancelled) rules_.job_done(job.service);
  if (good) {
    turn.record(RecordKind::JobEnded, Severity::Info, block.name,
                fmt::format("{} done after {}", to_string(job.kind), format_duration(took)))
        .subject = job.id.number();
    if (job.unmonitor)
      for (const JobStep& step : job.steps)
        unmonitor_one(step.service,
                      is_rule(job.by) ? taken_out_by(*job.cause, turn.now)
                                      : TakenOut{.by = job.by, .service = {}, .rule = {}, .since = turn.now.wall},
                      turn);
  } else {
    const JobStep& failed = job.step();
    if (failed.kind != Bringing::Stop && !job.cancelled) {
      const std::string left = leftovers_.over(failed.service);
      if (!left.empty() && job.failure.find(left) == std::string::npos) job.failure += "; " + left;
      note_start(failed.service, false, turn);
      services_[failed.service.index()].trouble.set(&Trouble::start_failure, job.failure);
    }
    if (failed.kind != Bringing::Stop && job.action != ActionId{}) {
      StartHistory& starts = services_[failed.service.index()].starts.edit();
      starts.left_by = job.action;
      starts.last = turn.now.wall;
    }
    turn.record(RecordKind::JobFailed, Severity::Error, block.name,
                fmt::format("{} failed: {}", to_string(job.kind), job.failure))
        .subject = job.id.number();
    const std::string blocker = failed.service == job.service ? block.name + " " : "";
    for (const JobStep& step : std::span(job.steps).subspan(job.position + 1))
      if (step.kind != Bringing::Stop)
        turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(step.service).name,
                    fmt::format("not {}ed: {}{}", verb(step.kind), blocker, job.failure));
  }
  note_outcome(job, good, turn);
  report_end(job, good, turn);
  commands_.note_touched(job, good);
  for (const CommandId command : job.asked_by)
    commands_.job_ended(command, job.service, good ? std::string{} : fmt::format("{}: {}", block.name, job.failure),
                        turn);
}

// ---- steps --------------------------------------------------------------------------------------------------------

Engine::Progress Engine::begin_step(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  job.phase = Job::Phase::Checking;
  job.action = {};
  job.action_ended = job.signalled = job.killed = job.replaced = job.seen = false;
  job.held_until.reset();
  job.after.reset();
  job.program_failure.clear();
  job.pause = kFirstPause;
  if (block.foreground()) return begin_child_step(job, turn);
  job.deadline = turn.now.mono + timeout_of(block, job.step().kind, graph_->settings->limits);
  if (!block.has_process()) return act(job, nullptr, turn);
  const ServiceState& state = services_[id.index()];
  if (state.checked == turn.now.mono && state.last && !state.presence.is_gone()) {
    job.seen = true;
    return judge_step(job, process_of(*state.last), turn);
  }
  check(job, turn);
  return kWaits;
}

void Engine::check(Job& job, Turn& turn) {
  if (job.check) return;
  job.check = timetable_.new_run();
  set_due(job, job.deadline);  // a look may hang as well
  const ServiceId id = job.step().service;
  ask(id, *job.check, turn);
}

void Engine::checked(Job& job, const Evidence& seen, Turn& turn) {
  job.check.reset();
  if (seen.answer == Answer::Unknown) return set_due(job, std::min(turn.now.mono + kLongestCheckPause, job.deadline));
  job.seen = true;
  go_on(job,
        graph_->at(job.step().service).foreground() ? judge_child_step(job, turn)
                                                    : judge_step(job, process_of(seen), turn),
        turn);
}

/// Where the step of a process service stands, by the process that was just seen (null: there is none).
Engine::Progress Engine::judge_step(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  // What `matching` finds may be the program that is to start it.
  const bool up = process != nullptr && !is_own_program(job, *process);
  const bool acting = job.phase == Job::Phase::Acting;
  if (step.kind == Bringing::Restart ? acting && up && job.action_ended && job.program_failure.empty()
                                     : up == (step.kind == Bringing::Start)) {
    // A stop program may still clear up, for instance the pid file that the next start is about to write.
    if (acting && step.kind == Bringing::Stop && job.action.number() != 0 && !job.action_ended) {
      set_due(job, job.deadline);
      return kWaits;
    }
    if (acting && up) note_started(job, *process, turn);
    if (acting && !up)
      turn.record(RecordKind::JobStep, Severity::Info, graph_->at(step.service).name, "stopped").subject =
          job.id.number();
    return StepEnd::Done;
  }
  // Where another process has taken the place of the one that was signalled, that one is asked kindly, too.
  const bool other = job.signalled && process != nullptr &&
                     (process->pid != job.signalled_pid || process->start_ticks != job.signalled_ticks);
  if (!acting || other) return act(job, process, turn);
  if (!job.program_failure.empty() && step.kind != Bringing::Stop) {
    set_cause(job, job.program_failure);
    return StepEnd::Failed;
  }
  set_due(job, std::min(turn.now.mono + job.pause, job.deadline));
  job.pause = std::min(job.pause * 2, kLongestCheckPause);
  return kWaits;
}

/// The step under way has failed: why, and whose it was where that is not the job's own service.
void Engine::set_cause(Job& job, const std::string& why) const {
  const ServiceId id = job.step().service;
  job.failure = id == job.service ? why : fmt::format("{} {}", graph_->at(id).name, why);
}

/// Does what the step is there for.
Engine::Progress Engine::act(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  if (step.kind != Bringing::Stop) {
    if (waits_for_needed(job, turn)) return kWaits;
    if (const Progress without = left_out(job, turn)) return without;
  }
  job.phase = Job::Phase::Acting;
  // Who takes the place of one that was signalled has what is left of its time: they may come for ever.
  job.replaced = job.signalled;
  if (!job.replaced) job.deadline = turn.now.mono + timeout_of(block, step.kind, graph_->settings->limits);
  if (const Rare<Command>& program = program_of(block, step.kind)) {
    if (!clear_way(job, *program, turn)) return kWaits;
    if (step.kind != Bringing::Stop && waits_for_left(job, turn)) return kWaits;
    run_program(job, *program, turn);
    set_due(job, block.has_process() ? std::min(turn.now.mono + job.pause, job.deadline) : job.deadline);
    return kWaits;
  }
  // A dependent without a stop program is left alone, as Monit does; what was named is stopped by signal. What a person
  // names, and nothing could start again, is only monitored or not, as in Monit.
  if (!block.has_process()) return StepEnd::Done;
  if (step.named ? !is_rule(job.by) && !block.can_start() : step.kind == Bringing::Stop) return StepEnd::Done;
  if (step.kind != Bringing::Stop) {  // a reload may have taken it away
    set_cause(job, fmt::format("failed to {0}: it has no {0} program", verb(step.kind)));
    return StepEnd::Failed;
  }
  if (const std::string why = proofs_.why_spared(step.service, *process); !why.empty()) {
    set_cause(job, fmt::format("failed to stop: it has no stop program, and {}: it is not signalled{}", why,
                               process->spared ? std::string()
                                               : fmt::format(" before `healerctl accept {} --pid`", block.name)));
    return StepEnd::Failed;
  }
  job.signalled = job.steps[job.position].acted = true;
  job.signalled_pid = process->pid;
  job.signalled_ticks = process->start_ticks;
  turn.acts.emplace_back(effect::Signal{process->pid, process->start_ticks, SIGTERM});
  turn.record(RecordKind::JobStep, Severity::Info, block.name,
              fmt::format("it has no stop program: SIGTERM to process {}", process->pid))
      .subject = job.id.number();
  set_due(job, std::min(turn.now.mono + job.pause, job.deadline));
  return kWaits;
}

void Engine::run_program(Job& job, const Command& command, Turn& turn) {
  const ServiceId id = job.step().service;
  auto cause = std::make_shared<effect::Cause>(*job.cause);
  cause->service = graph_->at(id).name;
  cause->when = turn.now.wall;  // its time counts from now, also over a restart of healer
  // The job may be for another service.
  const auto& known = services_[id.index()].last;
  const Evidence last = known ? *known : Evidence{};
  cause->process = graph_->at(id).has_process() ? std::optional(figures_of(last)) : std::nullopt;
  cause->program_status = graph_->at(id).is_run() ? std::optional(last.status) : std::nullopt;
  effect::Exec exec{.action = ids_.action(),
                    .service = id,
                    .rule = {},
                    .recovery = false,
                    .command = command,
                    .cause = std::move(cause),
                    .job = job.id,
                    .foreground = graph_->at(id).foreground()};
  exec.command.timeout = Duration{0};  // the step's own deadline counts: what was started may be the program itself
  job.action = exec.action;
  job.steps[job.position].acted = true;
  turn.save_move(job.id);
  turn.commit.pending.emplace_back(exec);
  programs_.add(exec, turn.now);
  turn.acts.emplace_back(std::move(exec));
}

void Engine::job_program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn) {
  const auto found = jobs_.find(exec.job.number());
  if (found == jobs_.end()) return note_last_words(exec, end, turn);
  if (found->second.action != exec.action || found->second.action_ended) return;
  Job& job = found->second;
  const ServiceBlock& block = graph_->at(job.step().service);
  job.action_ended = true;
  if (!end.unseen && (end.outcome != Outcome::Exited || end.status != 0))
    job.program_failure = describe_not_done(verb(job.step().kind), exec.command, end.outcome, end.status, end.output);
  if (block.has_process()) return check(job, turn);
  if (job.program_failure.empty() && job.step().kind != Bringing::Stop) note_start(job.step().service, true, turn);
  if (!job.program_failure.empty() && job.step().kind != Bringing::Stop) {
    set_cause(job, job.program_failure);
    return go_on(job, StepEnd::Failed, turn);
  }
  if (!job.program_failure.empty() && block.is_unit()) {  // whose end systemd itself tells
    set_cause(job, job.program_failure);
    return go_on(job, StepEnd::Failed, turn);
  }
  // There is nothing by which one could see whether it has stopped. As to Monit, it has.
  if (!job.program_failure.empty())
    turn.record(RecordKind::JobStep, Severity::Warning, block.name, job.program_failure).subject = job.id.number();
  go_on(job, StepEnd::Done, turn);
}

const RunningAction* Engine::lacks(const Job& job) const {
  const RunningAction* const found = programs_.find(job.action);
  return found == nullptr || found->waits.empty() ? nullptr : found;
}

/// The step's time is over.
void Engine::overdue(Job& job, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  if (block.foreground()) return child_overdue(job, turn);
  if (job.check) turn.sink.emit(effect::CancelRun{step.service, *std::exchange(job.check, std::nullopt)});
  const ServiceState& state = services_[step.service.index()];
  const ProcessFacts* process = state.last ? process_of(*state.last) : nullptr;
  if (job.signalled && !job.killed && !job.replaced && process != nullptr && process->pid == job.signalled_pid &&
      process->start_ticks == job.signalled_ticks) {
    job.killed = true;
    turn.acts.emplace_back(effect::Signal{process->pid, process->start_ticks, SIGKILL});
    turn.record(RecordKind::JobStep, Severity::Warning, block.name,
                fmt::format("it did not stop: SIGKILL to process {}", process->pid))
        .subject = job.id.number();
    job.deadline = turn.now.mono + kKillGrace;
    job.pause = kFirstPause;
    return set_due(job, turn.now.mono + job.pause);
  }
  // A start program that stays, and is still all that its pattern finds, is the service.
  if (process != nullptr && !state.presence.is_gone() && step.kind != Bringing::Stop && is_own_program(job, *process)) {
    note_started(job, *process, turn);
    return go_on(job, StepEnd::Done, turn);
  }
  if (!job.action_ended) end_program(job.action, turn);
  if (block.has_process() && !job.seen) {
    set_cause(job, fmt::format("failed to {}: it could not be checked", verb(step.kind)));
    return go_on(job, StepEnd::Failed, turn);
  }
  if (step.kind == Bringing::Stop && block.has_process() && process == nullptr)
    return go_on(job, StepEnd::Done, turn);  // only its stop program hung
  const Rare<Command>& program = program_of(block, step.kind);
  if (!job.program_failure.empty()) {
    set_cause(job, job.program_failure);
    return go_on(job, StepEnd::Failed, turn);
  }
  std::string why = fmt::format("failed to {} within {}", verb(step.kind),
                                format_duration(timeout_of(block, step.kind, graph_->settings->limits)));
  if (const RunningAction* const lacking = lacks(job); lacking != nullptr && !lacking->started)
    why += fmt::format(": its program could not be started: {}", lacking->waits);
  else if (program && !job.action_ended)
    why = describe_not_done(verb(step.kind), *program, Outcome::TimedOut, 0, {});
  if (job.replaced)
    why += fmt::format(": process {} has taken the place of the one that was to end", job.signalled_pid);
  set_cause(job, why);
  go_on(job, StepEnd::Failed, turn);
}

// ---- time, state --------------------------------------------------------------------------------------------------

void Engine::set_due(Job& job, std::optional<Duration> due) {
  if (job.due) job_due_.erase({*job.due, job.id.number()});
  job.due = due;
  if (due) job_due_.emplace(*due, job.id.number());
}

void Engine::wake_jobs(Turn& turn) {
  while (!job_due_.empty() && job_due_.begin()->first <= turn.now.mono) {
    Job& job = jobs_.at(job_due_.begin()->second);
    set_due(job, std::nullopt);
    if (turn.now.mono >= job.deadline)
      overdue(job, turn);
    else if (const ServiceId id = job.step().service; graph_->at(id).foreground() &&
                                                      !services_[id.index()].child->is_former() &&
                                                      services_[id.index()].starts->left_by == ActionId{})
      go_on(job, judge_child_step(job, turn), turn);
    else if (graph_->at(job.step().service).has_process())
      check(job, turn);
    else if (job.action == ActionId{})  // it waits for an earlier program to end
      go_on(job, act(job, nullptr, turn), turn);
    else
      set_due(job, job.deadline);
  }
}

effect::SavedJob Engine::save(const Job& job, Instant now) const {
  effect::SavedJob saved{.job = job.id,
                         .kind = job.kind,
                         .service = graph_->at(job.service).name,
                         .steps = {},
                         .position = job.position,
                         .action = job.action,
                         .unmonitor = job.unmonitor,
                         .by = job.by,
                         .cause = job.cause,
                         .begun = job.begun_at(now)};
  saved.steps.reserve(job.steps.size());
  for (const JobStep& step : job.steps) saved.steps.push_back({graph_->at(step.service).name, step.kind, step.named});
  return saved;
}

/// Jobs of an earlier daemon go on where they were: at the program of their step where that is known, else by a look.
void Engine::restore_jobs(Turn& turn) {
  for (effect::SavedJob& saved : found_.jobs) {
    Job job{.id = saved.job,
            .kind = saved.kind,
            .service = graph_->find(saved.service).value_or(ServiceId{}),
            .action = saved.action,
            .unmonitor = saved.unmonitor,
            .by = saved.by,
            .cause = saved.cause};
    for (const effect::SavedStep& step : saved.steps) {
      const auto id = graph_->find(step.service);
      if (id) job.steps.push_back({*id, step.kind, step.named});
    }
    const bool whole = taken_up(saved) && std::ranges::none_of(job.steps, [this](const JobStep& step) {
                         return services_[step.service.index()].job.has_value();
                       });
    if (!whole) {
      turn.commit.ended_jobs.push_back(saved.job);
      turn.record(
          RecordKind::JobFailed, Severity::Warning, saved.service,
          fmt::format("{} is not resumed: its services are gone, or healer only watches", to_string(saved.kind)));
      continue;
    }
    job.position = saved.position;
    job.begun = turn.now.mono - std::max(turn.now.wall - saved.begun, Duration{0});
    for (const JobStep& step : job.steps) services_[step.service.index()].job = job.id;
    Job& living = jobs_[saved.job.number()] = std::move(job);
    turn.record(RecordKind::JobStarted, Severity::Info, saved.service,
                fmt::format("{} goes on: {}", to_string(living.kind), describe_step(*graph_, living.step())))
        .subject = living.id.number();
    // No program outlives a reboot: its step starts over.
    if (found_.boot != 0 && found_.boot != turn.now.boot) living.action = {};
    if (graph_->at(living.step().service).foreground()) {
      Child& child = services_[living.step().service.index()].child.edit();
      if (child.is(living.action)) child.on(ChildEvent::Resumed);
      if (!child.exists() && living.action != ActionId{}) {  // of its former rules
        services_[living.step().service.index()].starts.edit().left_by = std::exchange(living.action, ActionId{});
        turn.save(living.step().service);
      }
    }
    if (living.action == ActionId{}) {
      go_on(living, begin_step(living, turn), turn);
      continue;
    }
    // Its program runs, or has ended while nobody looked: what it was to bring about is waited for.
    const ServiceBlock& block = graph_->at(living.step().service);
    living.phase = Job::Phase::Acting;
    if (block.foreground()) {
      go_on(living, begin_child_step(living, turn), turn);
      continue;
    }
    living.pause = kFirstPause;
    const RunningAction* const own = programs_.find(living.action);
    living.action_ended = own == nullptr;
    const Duration begun = !living.action_ended ? own->since : living.position == 0 ? living.begun : turn.now.mono;
    living.deadline =
        std::max(begun + timeout_of(block, living.step().kind, graph_->settings->limits), turn.now.mono + kLeastLeft);
    if (block.has_process())
      set_due(living, turn.now.mono + living.pause);
    else if (living.action_ended)
      go_on(living, StepEnd::Done, turn);
    else
      set_due(living, living.deadline);
  }
}

// ---- ends ---------------------------------------------------------------------------------------------------------

/// Ends a job where it is, with the program that it waits for.
void Engine::fail_job(JobId id, const std::string& why, Turn& turn) {
  const auto found = jobs_.find(id.number());
  if (found == jobs_.end()) return;
  Job& job = found->second;
  if (!job.action_ended) end_program(job.action, turn);
  job.failure = why;
  job.end_requested = true;
  go_on(job, StepEnd::Failed, turn);
}

/// Tells a program to end, once and after what was committed before: it may not have begun yet.
/// `spec`: of a foreground process whose service is gone.
void Engine::end_program(ActionId action, Turn& turn, const ForegroundSpec* spec) {
  const RunningAction* const running = programs_.find(action);
  if (running == nullptr || programs_.is_ending(action)) return;
  if (const std::optional<ServiceId> id = child_of(running->exec)) {
    services_[id->index()].child.edit().on(ChildEvent::EndAsked);
    spec = &*graph_->at(*id).process->foreground;
  }
  std::vector<StopSignal> signals;
  if (running->exec.foreground) signals = spec != nullptr ? spec->stop : std::vector<StopSignal>(1);
  programs_.end(action, std::move(signals), turn);
}

}  // namespace healer::engine
