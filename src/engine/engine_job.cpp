// SPDX-License-Identifier: MIT
// Starts, stops and restarts: how a job goes from step to step (the model is in job.hpp), and the commands of people
// for them.
#include <algorithm>
#include <csignal>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/cause.hpp"
#include "engine/evaluate.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

using StepKind = effect::SavedStep::Kind;

constexpr Duration kFirstPause{20};  // between the looks of a job; doubles
constexpr Duration kLongestPause{500};
constexpr Duration kKillGrace{2000};
constexpr std::size_t kMostTold = 20;
constexpr std::string_view kRule = "rule";

const std::optional<Command>& program_of(const ServiceBlock& block, StepKind kind) {
  switch (kind) {
    case StepKind::Stop: return block.stop;
    case StepKind::Start: return block.start;
    case StepKind::Restart: break;
  }
  return block.restart;
}

Duration timeout_of(const ServiceBlock& block, StepKind kind, const Limits& limits) {
  const std::optional<Command>& program = program_of(block, kind);
  if (program && program->timeout > Duration{0}) return program->timeout;
  return kind == StepKind::Stop    ? limits.stop_timeout
         : kind == StepKind::Start ? limits.start_timeout
                                   : limits.restart_timeout;
}

std::string_view verb(StepKind kind) {
  return kind == StepKind::Stop ? "stop" : kind == StepKind::Start ? "start" : "restart";
}

ActionKind kind_of(event::Command::Kind kind) {
  using Kind = event::Command::Kind;
  return kind == Kind::Start ? ActionKind::Start : kind == Kind::Stop ? ActionKind::Stop : ActionKind::Restart;
}

std::string_view done(ActionKind kind) {
  return kind == ActionKind::Stop ? "stopped" : kind == ActionKind::Start ? "started" : "restarted";
}

}  // namespace

// ---- begin and end ------------------------------------------------------------------------------------------------

/// A rule wants its service started, stopped or restarted: now, if nothing is in the way; else this is recorded, and
/// tried again when that has gone.
void Engine::want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (state.job) return;
  if (kind != ActionKind::Stop) {
    state.starts.restarted = true;
    turn.save(id);
  }
  std::string why = obstacle(id, kind, turn.now);
  if (why.empty())
    return begin_job({.kind = kind, .services = {id}, .by = std::string(kRule), .cause = std::move(cause)}, turn);
  if (kind != ActionKind::Stop && state.starts.not_before && *state.starts.not_before > turn.now.wall)
    look_later(id, Reason::Again, turn.now.mono + (*state.starts.not_before - turn.now.wall));
  if (why == state.waits) return;
  turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name,
              fmt::format("{} waits: {}", to_string(kind), why));
  state.waits = std::move(why);
}

/// Why a rule's start, stop or restart of a service cannot begin now; empty: it can.
std::string Engine::obstacle(ServiceId id, ActionKind kind, Instant now) const {
  const auto busy = [this](ServiceId other) {
    const Job& job = jobs_.at(services_[other.index()].job->number());
    return fmt::format("the {} of {} is under way", to_string(job.kind), graph_->at(job.service).name);
  };
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (kind != ActionKind::Start && services_[dependent.index()].job) return busy(dependent);
  if (kind == ActionKind::Stop) return {};
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    const ServiceState& state = services_[needed.index()];
    const ServiceBlock& block = graph_->at(needed);
    if (state.job) return busy(needed);
    if (block.kind != ServiceKind::Process || !state.monitored) continue;
    if (!state.last) return fmt::format("it depends on {}, which has not been looked at yet", block.name);
    if (process_of(*state.last) == nullptr) return fmt::format("it depends on {}, which is not running", block.name);
  }
  const StartHistory& starts = services_[id.index()].starts;
  if (starts.not_before && *starts.not_before > now.wall)
    return fmt::format("{} start{} in a row did not last", starts.quick, starts.quick == 1 ? "" : "s");
  return {};
}

void Engine::begin_job(Order order, Turn& turn) {
  std::vector<bool> takes_part(services_.size());
  for (std::size_t i = 0; i < services_.size(); ++i)
    takes_part[i] = order.kind == ActionKind::Stop || services_[i].monitored;
  std::vector<JobStep> steps = plan_steps(*graph_, order.kind, order.services, takes_part);
  // What it depends on is up, or a rule would not start it; what is no process is not started for the sake of others
  // as long as it is monitored.
  std::erase_if(steps, [&](const JobStep& step) {
    if (order.kind != ActionKind::Start || std::ranges::find(order.services, step.service) != order.services.end())
      return false;
    return order.by == kRule ||
           (graph_->at(step.service).kind != ServiceKind::Process && services_[step.service.index()].monitored);
  });

  const JobId id{next_id_++};
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
  std::vector<std::string> told;
  for (const JobStep& step : job.steps) {
    ServiceState& state = services_[step.service.index()];
    state.job = id;
    state.waits.clear();
    cancel_flight(step.service, turn);
    finish_validate(step.service, false, turn);
    if (order.kind == ActionKind::Start && job.by != kRule) monitor(step.service, job.by, turn);
    if (told.size() < kMostTold) told.push_back(describe_step(*graph_, step));
  }
  if (told.size() < job.steps.size()) told.emplace_back("...");
  turn.record(RecordKind::JobStarted, Severity::Info, graph_->at(job.service).name,
              fmt::format("{} by {}: {}", to_string(job.kind), job.by, fmt::join(told, ", ")))
      .subject = id.number();
  save_job(job, turn);
  go_on(job, begin_step(job, turn), turn);
}

/// From step to step, as far as nothing has to be waited for.
void Engine::go_on(Job& job, Progress progress, Turn& turn) {
  while (progress == Progress::Done) {
    if (++job.position >= job.steps.size()) return end_job(job, true, turn);
    progress = begin_step(job, turn);
  }
  if (progress == Progress::Failed) end_job(job, false, turn);
}

void Engine::end_job(Job& living, bool good, Turn& turn) {
  set_due(living, std::nullopt);
  const Job job = std::move(living);
  jobs_.erase(job.id.number());
  if (job.look) turn.sink.emit(effect::CancelRun{job.step().service, *job.look});
  turn.commit.ended_jobs.push_back(job.id);
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const ServiceId id = job.steps[i].service;
    services_[id.index()].job.reset();
    if (i < job.position && job.steps[i].kind != StepKind::Stop) {
      note_start(id, true, turn.now);
      look_later(id, Reason::Again, turn.now.mono);  // what has recovered is known at once, not a cycle later
    }
    turn.save(id);
  }
  const ServiceBlock& block = graph_->at(job.service);
  const Duration took = turn.now.mono - job.begun;
  if (good) {
    // After a completed job the count of the rules that asked for it begins again.
    ServiceState& state = services_[job.service.index()];
    for (std::uint32_t i = 0; i < state.rule_count; ++i) {
      if (!block.rules[i].action.is_job()) continue;
      rule_states_[state.first_rule + i].again = {};
      rule_states_[state.first_rule + i].failing_since.reset();
    }
    turn.record(RecordKind::JobEnded, Severity::Info, block.name,
                fmt::format("{} done after {}", to_string(job.kind), format_duration(took)))
        .subject = job.id.number();
    if (job.unmonitor)
      for (const JobStep& step : job.steps) unmonitor(step.service, job.by, turn);
    if (job.by != kRule)
      tell_job(job, EventKind::Action, effect::Cause::State::Succeeded,
               fmt::format("{} action done", to_string(job.kind)), turn);
  } else {
    const JobStep& failed = job.step();
    if (failed.kind != StepKind::Stop) note_start(failed.service, false, turn.now);
    turn.record(RecordKind::JobFailed, Severity::Error, block.name,
                fmt::format("{} failed: {}", to_string(job.kind), job.failure))
        .subject = job.id.number();
    for (std::size_t i = job.position + 1; i < job.steps.size(); ++i)
      if (job.steps[i].kind == StepKind::Start)
        turn.record(
            RecordKind::JobHeld, Severity::Warning, graph_->at(job.steps[i].service).name,
            fmt::format("not started: {}{}", failed.service == job.service ? block.name + " " : "", job.failure));
    tell_job(job, EventKind::Exec, effect::Cause::State::Failed, job.failure, turn);
  }
  for (const CommandId command : job.asked_by)
    finish_command(command, job.service, good ? std::string{} : fmt::format("{}: {}", block.name, job.failure), turn);
}

// ---- steps --------------------------------------------------------------------------------------------------------

Engine::Progress Engine::begin_step(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  job.phase = Job::Phase::Looking;
  job.action = {};
  job.action_ended = job.signalled = job.killed = false;
  job.program_failure.clear();
  job.pause = kFirstPause;
  job.deadline = turn.now.mono + timeout_of(block, job.step().kind, graph_->settings.limits);
  if (block.kind != ServiceKind::Process) return act(job, nullptr, turn);
  const ServiceState& state = services_[id.index()];
  if (state.looked == turn.now.mono && state.last) return judge_step(job, process_of(*state.last), turn);
  look(job, turn);
  return Progress::Waiting;
}

void Engine::look(Job& job, Turn& turn) {
  if (job.look) return;
  job.look = RunId{next_run_++};
  set_due(job, job.deadline);  // a look may hang as well
  turn.sink.emit(effect::StartRun{job.step().service, *job.look});
}

void Engine::looked(Job& job, const Observation& seen, Turn& turn) {
  job.look.reset();
  if (seen.outcome == Outcome::TimedOut) return set_due(job, std::min(turn.now.mono + kLongestPause, job.deadline));
  go_on(job, judge_step(job, process_of(seen), turn), turn);
}

/// Where the step of a process service stands, by the process that was just seen (null: there is none).
Engine::Progress Engine::judge_step(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  const bool up = process != nullptr;
  const bool acting = job.phase == Job::Phase::Acting;
  if (step.kind == StepKind::Restart ? acting && up && job.action_ended && job.program_failure.empty()
                                     : up == (step.kind == StepKind::Start)) {
    // A stop program may still clear up, for instance the pid file that the next start is about to write.
    if (acting && step.kind == StepKind::Stop && job.action.number() != 0 && !job.action_ended) {
      set_due(job, job.deadline);
      return Progress::Waiting;
    }
    if (acting)
      turn.record(RecordKind::JobStep, Severity::Info, graph_->at(step.service).name,
                  up ? fmt::format("{}ed with pid {}", verb(step.kind), process->pid) : std::string("stopped"))
          .subject = job.id.number();
    return Progress::Done;
  }
  if (!acting) return act(job, process, turn);
  if (!job.program_failure.empty() && step.kind != StepKind::Stop) {
    blame(job, job.program_failure);
    return Progress::Failed;
  }
  set_due(job, std::min(turn.now.mono + job.pause, job.deadline));
  job.pause = std::min(job.pause * 2, kLongestPause);
  return Progress::Waiting;
}

/// The step under way has failed: why, and whose it was where that is not the job's own service.
void Engine::blame(Job& job, const std::string& why) const {
  const ServiceId id = job.step().service;
  job.failure = id == job.service ? why : fmt::format("{} {}", graph_->at(id).name, why);
}

/// Does what the step is there for.
Engine::Progress Engine::act(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  job.phase = Job::Phase::Acting;
  job.deadline = turn.now.mono + timeout_of(block, step.kind, graph_->settings.limits);
  if (const std::optional<Command>& program = program_of(block, step.kind)) {
    run_program(job, *program, turn);
    set_due(job, block.kind == ServiceKind::Process ? std::min(turn.now.mono + job.pause, job.deadline) : job.deadline);
    return Progress::Waiting;
  }
  // A dependent without a stop program is left alone, as Monit does; what was named is stopped by signal.
  if (block.kind != ServiceKind::Process) return Progress::Done;
  if (step.kind == StepKind::Stop && step.service != job.service) return Progress::Done;
  if (step.kind == StepKind::Start) {
    blame(job, "failed to start: it has no start program");
    return Progress::Failed;
  }
  job.signalled = true;
  turn.acts.emplace_back(effect::Signal{process->pid, process->start_ticks, SIGTERM});
  turn.record(RecordKind::JobStep, Severity::Info, block.name,
              fmt::format("it has no stop program: SIGTERM to process {}", process->pid))
      .subject = job.id.number();
  set_due(job, std::min(turn.now.mono + job.pause, job.deadline));
  save_job(job, turn);
  return Progress::Waiting;
}

void Engine::run_program(Job& job, const Command& command, Turn& turn) {
  const ServiceId id = job.step().service;
  // What an earlier start has left running has not brought the service up: two of them would be one too many.
  if (const auto left = actions_of_.find(graph_->at(id).name);
      left != actions_of_.end() && job.step().kind == StepKind::Start)
    for (const ActionId action : left->second)
      if (actions_.at(action.number()).exec.job != JobId{}) turn.sink.emit(effect::EndAction{action});
  auto cause = std::make_shared<effect::Cause>(*job.cause);
  cause->service = graph_->at(id).name;
  if (graph_->at(id).kind == ServiceKind::Process && services_[id.index()].last)
    cause->process = figures_of(*services_[id.index()].last);
  effect::Exec exec{.action = ActionId{next_id_++},
                    .service = id,
                    .rule = {},
                    .recovery = false,
                    .command = command,
                    .cause = std::move(cause),
                    .job = job.id};
  exec.command.timeout = Duration{0};  // the step's own deadline counts: what was started may be the program itself
  job.action = exec.action;
  save_job(job, turn);
  turn.commit.pending.emplace_back(exec);
  add_action(exec, turn.now);
  turn.acts.emplace_back(std::move(exec));
}

void Engine::job_program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn) {
  const auto found = jobs_.find(exec.job.number());
  if (found == jobs_.end() || found->second.action != exec.action || found->second.action_ended) return;
  Job& job = found->second;
  const ServiceBlock& block = graph_->at(job.step().service);
  job.action_ended = true;
  if (!end.unseen && (end.outcome != Outcome::Exited || end.status != 0))
    job.program_failure = describe_not_done(verb(job.step().kind), exec.command, end.outcome, end.status, end.output);
  if (block.kind == ServiceKind::Process) return look(job, turn);
  if (!job.program_failure.empty()) {
    blame(job, job.program_failure);
    return go_on(job, Progress::Failed, turn);
  }
  go_on(job, Progress::Done, turn);
}

/// The step's time is over.
void Engine::overdue(Job& job, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  if (job.look) turn.sink.emit(effect::CancelRun{step.service, *std::exchange(job.look, std::nullopt)});
  const ServiceState& state = services_[step.service.index()];
  const ProcessFacts* process = state.last ? process_of(*state.last) : nullptr;
  if (job.signalled && !job.killed && process != nullptr) {
    job.killed = true;
    turn.acts.emplace_back(effect::Signal{process->pid, process->start_ticks, SIGKILL});
    turn.record(RecordKind::JobStep, Severity::Warning, block.name,
                fmt::format("it did not stop: SIGKILL to process {}", process->pid))
        .subject = job.id.number();
    job.deadline = turn.now.mono + kKillGrace;
    job.pause = kFirstPause;
    return set_due(job, turn.now.mono + job.pause);
  }
  if (job.action.number() != 0 && !job.action_ended) turn.sink.emit(effect::EndAction{job.action});
  if (step.kind == StepKind::Stop && block.kind == ServiceKind::Process && process == nullptr)
    return go_on(job, Progress::Done, turn);  // only its stop program hung
  const std::optional<Command>& program = program_of(block, step.kind);
  blame(job, program && !job.action_ended
                 ? describe_not_done(verb(step.kind), *program, Outcome::TimedOut, 0, {})
                 : fmt::format("failed to {} within {}", verb(step.kind),
                               format_duration(timeout_of(block, step.kind, graph_->settings.limits))));
  go_on(job, Progress::Failed, turn);
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
    else
      look(job, turn);
  }
}

void Engine::save_job(const Job& job, Turn& turn) {
  effect::SavedJob saved{.job = job.id,
                         .kind = job.kind,
                         .service = graph_->at(job.service).name,
                         .steps = {},
                         .position = job.position,
                         .action = job.action,
                         .unmonitor = job.unmonitor,
                         .by = job.by,
                         .cause = job.cause,
                         .begun = turn.now.wall - (turn.now.mono - job.begun)};
  for (const JobStep& step : job.steps) saved.steps.push_back({graph_->at(step.service).name, step.kind});
  std::erase_if(turn.commit.jobs, [&](const effect::SavedJob& other) { return other.job == job.id; });
  turn.commit.jobs.push_back(std::move(saved));
}

/// Jobs of an earlier daemon go on where they were: at the program of their step where that is known, else by a look.
void Engine::restore_jobs(Turn& turn) {
  for (effect::SavedJob& saved : found_.jobs) {
    Job job{.id = saved.job,
            .kind = saved.kind,
            .service = graph_->find(saved.service).value_or(ServiceId{}),
            .action = saved.action,
            .unmonitor = saved.unmonitor,
            .by = std::move(saved.by),
            .cause = std::move(saved.cause)};
    bool whole = graph_->find(saved.service).has_value() && !graph_->settings.shadow && job.cause != nullptr &&
                 saved.position < saved.steps.size();
    for (const effect::SavedStep& step : saved.steps) {
      const auto id = graph_->find(step.service);
      whole = whole && id && !services_[id->index()].job;
      if (id) job.steps.push_back({*id, step.kind});
    }
    if (!whole) {
      turn.commit.ended_jobs.push_back(saved.job);
      turn.record(RecordKind::JobFailed, Severity::Warning, saved.service,
                  fmt::format("{} is not taken up again: its services are gone, or healer only watches",
                              to_string(saved.kind)));
      continue;
    }
    job.position = saved.position;
    job.begun = turn.now.mono - std::max(turn.now.wall - saved.begun, Duration{0});
    for (const JobStep& step : job.steps) services_[step.service.index()].job = job.id;
    Job& living = jobs_[saved.job.number()] = std::move(job);
    turn.record(RecordKind::JobStarted, Severity::Info, saved.service,
                fmt::format("{} goes on: {}", to_string(living.kind), describe_step(*graph_, living.step())))
        .subject = living.id.number();
    if (actions_.contains(living.action.number())) {
      const ServiceBlock& block = graph_->at(living.step().service);
      living.phase = Job::Phase::Acting;
      living.pause = kFirstPause;
      living.deadline = turn.now.mono + timeout_of(block, living.step().kind, graph_->settings.limits);
      set_due(living, block.kind == ServiceKind::Process ? turn.now.mono + living.pause : living.deadline);
    } else {
      go_on(living, begin_step(living, turn), turn);
    }
  }
}

// ---- people -------------------------------------------------------------------------------------------------------

/// start, stop, restart: services that depend on each other go as one job, the others side by side.
void Engine::command_jobs(const event::Command& command, Turn& turn) {
  const ActionKind kind = kind_of(command.kind);
  if (graph_->settings.shadow || graph_->settings.dry_run) {
    turn.replies.push_back({command.id, false,
                            graph_->settings.shadow ? "healer only watches (shadow): nothing is started or stopped"
                                                    : "this is a dry run: nothing is started or stopped"});
    return;
  }
  const std::vector<std::uint32_t> clusters = clusters_of(*graph_);
  std::map<std::uint32_t, std::vector<ServiceId>> orders;
  for (const ServiceId id : command.services)
    if (id.index() < services_.size() && graph_->slots[id.index()]) orders[clusters[id.index()]].push_back(id);
  PendingCommand pending{.command = command};
  pending.outstanding = static_cast<std::uint32_t>(orders.size());
  if (orders.empty()) {
    turn.replies.push_back({command.id, true, fmt::format("no service {}", done(kind))});
    return;
  }
  commands_.emplace(command.id.number(), std::move(pending));
  for (auto& [cluster, services] : orders) {
    if (const std::string why = busy_with(kind, services); !why.empty()) {
      finish_command(command.id, services.front(), why, turn);
      continue;
    }
    for (const ServiceId id : services) {
      services_[id.index()].starts = {};  // a person's word begins afresh
      if (kind == ActionKind::Restart) monitor(id, command.by, turn);
    }
    auto cause = std::make_shared<effect::Cause>();
    cause->service = graph_->at(services.front()).name;
    cause->event = EventKind::Action;
    cause->state = effect::Cause::State::Succeeded;
    cause->event_text = kind == ActionKind::Stop ? "Stopped" : kind == ActionKind::Start ? "Started" : "Restarted";
    cause->action_text = to_string(kind);
    cause->description = fmt::format("{} by {}", cause->event_text, command.by);
    cause->when = turn.now.wall;
    begin_job({.kind = kind,
               .services = std::move(services),
               .by = command.by,
               .cause = std::move(cause),
               .asked_by = command.id},
              turn);
  }
}

/// Why a person's job for these services cannot begin; empty: it can.
std::string Engine::busy_with(ActionKind kind, const std::vector<ServiceId>& services) const {
  for (const JobStep& step : plan_steps(*graph_, kind, services, std::vector<bool>(services_.size(), true)))
    if (const auto& job = services_[step.service.index()].job)
      return fmt::format("{}: the {} of {} is under way (job {})", graph_->at(step.service).name,
                         to_string(jobs_.at(job->number()).kind), graph_->at(jobs_.at(job->number()).service).name,
                         job->number());
  return {};
}

/// One of a command's jobs has ended, or could not begin: `failure` says why, or is empty.
void Engine::finish_command(CommandId id, ServiceId service, const std::string& failure, Turn& turn) {
  const auto found = commands_.find(id.number());
  if (found == commands_.end()) return;
  PendingCommand& pending = found->second;
  if (!failure.empty()) pending.failed.emplace(service, failure);
  if (--pending.outstanding > 0) return;
  std::string text;
  if (pending.failed.empty()) {
    const std::size_t count = pending.command.services.size();
    text = fmt::format("{} {} {}", count, count == 1 ? "service" : "services", done(kind_of(pending.command.kind)));
  } else {
    std::size_t left = kMostTold;
    for (const auto& [failed, why] : pending.failed) {
      if (left-- == 0) break;
      text += (text.empty() ? "" : "\n") + why;
    }
    if (pending.failed.size() > kMostTold) text += fmt::format("\nand {} more", pending.failed.size() - kMostTold);
  }
  turn.replies.push_back({id, pending.failed.empty(), text});
  commands_.erase(found);
}

void Engine::cancel_job(const event::Command& command, Turn& turn) {
  const auto found = jobs_.find(command.job.number());
  if (found == jobs_.end()) {
    turn.replies.push_back({command.id, false, fmt::format("there is no job {} (any more)", command.job.number())});
    return;
  }
  Job& job = found->second;
  if (job.action.number() != 0 && !job.action_ended) turn.sink.emit(effect::EndAction{job.action});
  job.failure = fmt::format("cancelled by {}", command.by);
  go_on(job, Progress::Failed, turn);
  turn.replies.push_back({command.id, true, fmt::format("job {} cancelled", command.job.number())});
}

/// A reload has taken the service away.
void Engine::drop_jobs(ServiceId id, Turn& turn) {
  const auto job = services_[id.index()].job;
  if (!job) return;
  Job& living = jobs_.at(job->number());
  living.failure = "a service of it is gone from the rules";
  go_on(living, Progress::Failed, turn);
}

// ---- alerts -------------------------------------------------------------------------------------------------------

void Engine::tell_job(const Job& job, EventKind event, effect::Cause::State state, const std::string& text,
                      Turn& turn) {
  const ServiceBlock& block = graph_->at(job.service);
  if (graph_->settings.shadow) return;
  std::vector<Recipient> recipients;
  for (const Recipient& recipient : block.recipients)
    if (recipient.events.test(static_cast<std::size_t>(event)) && (recipient.listed || event != EventKind::Exec))
      recipients.push_back(recipient);
  auto cause = std::make_shared<effect::Cause>(*job.cause);
  cause->service = block.name;
  cause->event = event;
  cause->state = state;
  cause->event_text = event_text(event, state);
  cause->action_text = "alert";
  cause->description = text;
  cause->when = turn.now.wall;
  alert(std::move(recipients), std::move(cause), turn);
}

}  // namespace healer::engine
