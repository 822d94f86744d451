// SPDX-License-Identifier: MIT
// The steps of jobs: looking, acting, and how each comes to its end.
#include <algorithm>
#include <csignal>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/proofs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLongestCheckPause{500};  // between the looks of a job
constexpr Duration kKillGrace{2000};
constexpr Duration kLeastLeft{2000};  // of a step that an earlier daemon began: what has come about is seen first

bool is_same(const JobStepRun::Signalled& sent, const ProcessFacts& process) {
  return process.pid == sent.pid && process.start_ticks == sent.start_ticks;
}

}  // namespace

/// From step to step, as far as nothing has to be waited for. Where it waits is saved: a step that is done is not done
/// again by the next daemon.
void Jobs::go_on(Job& job, Progress progress, Turn& turn) {
  const std::uint32_t before = job.position;
  while (progress == StepEnd::Done) {
    if (++job.position >= job.steps.size()) return end(job, StepEnd::Done, turn);
    if (!turn.facts.empty()) {
      turn.save_move(job.id);
      return turn.tell(fact::StepDue{job.id});
    }
    progress = begin_step(job, turn);
  }
  if (progress) return end(job, *progress, turn);
  if (job.position != before) turn.save_move(job.id);
}

Jobs::Progress Jobs::begin_step(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  job.run = job.run.anew();
  if (block.foreground()) return begin_child_step(job, turn);
  job.run.deadline = turn.now.mono + timeout_of(block, job.step().kind, graph_->settings->limits);
  if (!block.has_process()) return act(job, nullptr, turn);
  const ServiceState& state = services_[id.index()];
  if (state.checked == turn.now.mono && state.last && !state.presence.is_gone()) {
    job.run.seen = true;
    return judge_step(job, process_of(*state.last), turn);
  }
  check(job, turn);
  return kWaits;
}

void Jobs::check(Job& job, Turn& turn) {
  if (job.run.check) return;
  set_due(job, job.run.deadline);  // a look may hang as well
  turn.tell(fact::CheckWanted{job.id, job.step().service});
}

void Jobs::check(ServiceId id, Turn& turn) { check(jobs_.at(services_[id.index()].job->number()), turn); }

void Jobs::checks(JobId id, RunId run) { jobs_.at(id.number()).run.check = run; }

void Jobs::checked(ServiceId id, const Evidence& seen, Turn& turn) {
  Job& job = jobs_.at(services_[id.index()].job->number());
  job.run.check.reset();
  if (seen.answer == Answer::Unknown)
    return set_due(job, std::min(turn.now.mono + kLongestCheckPause, job.run.deadline));
  job.run.seen = true;
  go_on(job, graph_->at(id).foreground() ? judge_child_step(job, turn) : judge_step(job, process_of(seen), turn), turn);
}

/// Where the step of a process service stands, by the process that was just seen (null: there is none).
Jobs::Progress Jobs::judge_step(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  // What `matching` finds may be the program that is to start it.
  const bool up = process != nullptr && !is_own_program(job, *process);
  const bool acting = job.run.acting();
  if (step.kind == Bringing::Restart ? up && job.run.ran_well() : up == (step.kind == Bringing::Start)) {
    // A stop program may still clear up, for instance the pid file that the next start is about to write.
    if (step.kind == Bringing::Stop && job.run.running() != ActionId{}) {
      set_due(job, job.run.deadline);
      return kWaits;
    }
    if (acting && up) tell_started(job, *process, turn);
    if (acting && !up)
      turn.record(RecordKind::JobStep, Severity::Info, graph_->at(step.service).name, "stopped").subject =
          job.id.number();
    return StepEnd::Done;
  }
  // Where another process has taken the place of the one that was signalled, that one is asked kindly, too.
  const JobStepRun::Signalled* const sent = job.run.signalled();
  const bool other = sent != nullptr && process != nullptr && !is_same(*sent, *process);
  if (!acting || other) return act(job, process, turn);
  if (const std::string why = job.run.failure(); !why.empty() && step.kind != Bringing::Stop) {
    set_cause(job, why);
    return StepEnd::Failed;
  }
  set_due(job, std::min(turn.now.mono + job.run.pause, job.run.deadline));
  job.run.pause = std::min(job.run.pause * 2, kLongestCheckPause);
  return kWaits;
}

/// A step has brought its service up, as this process.
void Jobs::tell_started(const Job& job, const ProcessFacts& process, Turn& turn) const {
  const JobStep step = job.step();
  turn.tell(fact::ServiceStarted{step.service, job.run.action()});
  turn.record(RecordKind::JobStep, Severity::Info, graph_->at(step.service).name,
              fmt::format("{} with pid {}", step.kind == Bringing::Start ? "started" : "restarted", process.pid))
      .subject = job.id.number();
}

/// The step under way has failed: why, and whose it was where that is not the job's own service.
void Jobs::set_cause(Job& job, const std::string& why) const {
  const ServiceId id = job.step().service;
  job.failure = id == job.service ? why : fmt::format("{} {}", graph_->at(id).name, why);
}

/// Does what the step is there for.
Jobs::Progress Jobs::act(Job& job, const ProcessFacts* process, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  if (step.kind != Bringing::Stop) {
    if (waits_for_needed(job, turn)) return kWaits;
    if (const Progress without = left_out(job, turn)) return without;
  }
  // Who takes the place of one that was signalled has what is left of its time: they may come for ever.
  if (job.run.signalled() == nullptr)
    job.run.deadline = turn.now.mono + timeout_of(block, step.kind, graph_->settings->limits);
  if (const Rare<Command>& program = program_of(block, step.kind)) {
    if (!clear_way(job, *program, turn)) return kWaits;
    if (step.kind != Bringing::Stop && waits_for_left(job, turn)) return kWaits;
    run_program(job, *program, turn);
    const Duration deadline = job.run.deadline;
    set_due(job, block.has_process() ? std::min(turn.now.mono + job.run.pause, deadline) : deadline);
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
  return stop_by_signal(job, *process, turn);
}

Jobs::Progress Jobs::stop_by_signal(Job& job, const ProcessFacts& process, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  if (const std::string why = proofs_.why_spared(id, process); !why.empty()) {
    set_cause(job, fmt::format("failed to stop: it has no stop program, and {}: it is not signalled{}", why,
                               process.spared ? std::string()
                                              : fmt::format(" before `healerctl accept {} --pid`", block.name)));
    return StepEnd::Failed;
  }
  job.steps[job.position].acted = true;
  job.run.signal(process.pid, process.start_ticks);
  turn.acts.emplace_back(effect::Signal{process.pid, process.start_ticks, SIGTERM});
  turn.record(RecordKind::JobStep, Severity::Info, block.name,
              fmt::format("it has no stop program: SIGTERM to process {}", process.pid))
      .subject = job.id.number();
  set_due(job, std::min(turn.now.mono + job.run.pause, job.run.deadline));
  return kWaits;
}

void Jobs::run_program(Job& job, const Command& command, Turn& turn) {
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
  job.run.run(exec.action);
  job.steps[job.position].acted = true;
  turn.save_move(job.id);
  turn.commit().pending.emplace_back(exec);
  turn.programs.add(exec, turn.now);
  turn.acts.emplace_back(std::move(exec));
}

bool Jobs::program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn) {
  const auto found = jobs_.find(exec.job.number());
  if (found == jobs_.end()) return false;
  if (found->second.run.running() != exec.action) return true;
  Job& job = found->second;
  const ServiceBlock& block = graph_->at(job.step().service);
  const bool failed = !end.unseen && (end.outcome != Outcome::Exited || end.status != 0);
  const std::string failure =
      failed ? describe_not_done(verb(job.step().kind), exec.command, end.outcome, end.status, end.output) : "";
  job.run.ended(failure);
  if (block.has_process()) {
    check(job, turn);
    return true;
  }
  if (failure.empty() && job.step().kind != Bringing::Stop) turn.tell(fact::ServiceStarted{job.step().service, {}});
  if (!failure.empty() && job.step().kind != Bringing::Stop) {
    set_cause(job, failure);
    go_on(job, StepEnd::Failed, turn);
    return true;
  }
  if (!failure.empty() && block.is_unit()) {  // whose end systemd itself tells
    set_cause(job, failure);
    go_on(job, StepEnd::Failed, turn);
    return true;
  }
  // There is nothing by which one could see whether it has stopped. As to Monit, it has.
  if (!failure.empty())
    turn.record(RecordKind::JobStep, Severity::Warning, block.name, failure).subject = job.id.number();
  go_on(job, StepEnd::Done, turn);
  return true;
}

/// The step's time is over.
void Jobs::overdue(Job& job, Turn& turn) {
  const JobStep step = job.step();
  const ServiceBlock& block = graph_->at(step.service);
  if (block.foreground()) return child_overdue(job, turn);
  if (job.run.check) turn.sink.emit(effect::CancelRun{step.service, *std::exchange(job.run.check, std::nullopt)});
  const ServiceState& state = services_[step.service.index()];
  const ProcessFacts* process = state.last ? process_of(*state.last) : nullptr;
  const JobStepRun::Signalled* const sent = job.run.signalled();
  if (sent != nullptr && !sent->killed && !sent->replaced && process != nullptr && is_same(*sent, *process)) {
    job.run.kill();
    turn.acts.emplace_back(effect::Signal{process->pid, process->start_ticks, SIGKILL});
    turn.record(RecordKind::JobStep, Severity::Warning, block.name,
                fmt::format("it did not stop: SIGKILL to process {}", process->pid))
        .subject = job.id.number();
    job.run.deadline = turn.now.mono + kKillGrace;
    job.run.pause = JobStepRun::kFirstPause;
    return set_due(job, turn.now.mono + job.run.pause);
  }
  // A start program that stays, and is still all that its pattern finds, is the service.
  if (process != nullptr && !state.presence.is_gone() && step.kind != Bringing::Stop && is_own_program(job, *process)) {
    tell_started(job, *process, turn);
    return go_on(job, StepEnd::Done, turn);
  }
  turn.programs.end(job.run.running(), {}, turn);  // before what may begin now
  if (block.has_process() && !job.run.seen) {
    set_cause(job, fmt::format("failed to {}: it could not be checked", verb(step.kind)));
    return go_on(job, StepEnd::Failed, turn);
  }
  if (step.kind == Bringing::Stop && block.has_process() && process == nullptr)
    return go_on(job, StepEnd::Done, turn);  // only its stop program hung
  const std::string known = job.run.failure();
  set_cause(job, known.empty() ? why_overdue(job) : known);
  go_on(job, StepEnd::Failed, turn);
}

std::string Jobs::why_overdue(const Job& job) const {
  const Bringing kind = job.step().kind;
  const ServiceBlock& block = graph_->at(job.step().service);
  const Rare<Command>& program = program_of(block, kind);
  std::string why = fmt::format("failed to {} within {}", verb(kind),
                                format_duration(timeout_of(block, kind, graph_->settings->limits)));
  if (const RunningAction* const lacking = programs_.lacking(job.run.action()); lacking != nullptr && !lacking->started)
    why += fmt::format(": its program could not be started: {}", lacking->waits);
  else if (program && !std::holds_alternative<JobStepRun::Ran>(job.run.state))
    why = describe_not_done(verb(kind), *program, Outcome::TimedOut, 0, {});
  if (const JobStepRun::Signalled* const sent = job.run.signalled(); sent != nullptr && sent->replaced)
    why += fmt::format(": process {} has taken the place of the one that was to end", sent->pid);
  return why;
}

void Jobs::not_signalled(const event::NotSignalled& event, Turn& turn) {
  const std::string text = fmt::format("{} was not sent to process {}: {}",
                                       event.number == SIGKILL ? "SIGKILL" : "SIGTERM", event.pid, event.why);
  for (auto& [number, job] : jobs_) {
    const JobStepRun::Signalled* const sent = job.run.signalled();
    if (sent == nullptr || sent->pid != event.pid || sent->start_ticks != event.start_ticks) continue;
    turn.record(RecordKind::JobStep, Severity::Warning, graph_->at(job.step().service).name, text).subject = number;
    set_cause(job, "failed to stop: " + text);
    return go_on(job, StepEnd::Failed, turn);
  }
  turn.note(Severity::Warning, {}, text);
}

// ---- time, an earlier daemon --------------------------------------------------------------------------------------

void Jobs::set_due(Job& job, std::optional<Duration> due) {
  if (job.run.due) due_.erase({*job.run.due, job.id.number()});
  job.run.due = due;
  if (due) due_.emplace(*due, job.id.number());
}

bool Jobs::wake_one(Turn& turn) {
  if (due_.empty() || due_.begin()->first > turn.now.mono) return false;
  Job& job = jobs_.at(due_.begin()->second);
  set_due(job, std::nullopt);
  if (turn.now.mono >= job.run.deadline)
    overdue(job, turn);
  else if (const ServiceId id = job.step().service; graph_->at(id).foreground() &&
                                                    !services_[id.index()].child->is_former() &&
                                                    services_[id.index()].starts->left_by == ActionId{})
    go_on(job, judge_child_step(job, turn), turn);
  else if (graph_->at(job.step().service).has_process())
    check(job, turn);
  else if (job.run.action() == ActionId{})  // it waits for an earlier program to end
    go_on(job, act(job, nullptr, turn), turn);
  else
    set_due(job, job.run.deadline);
  return true;
}

void Jobs::go_on_restored(JobId id, bool anew, Turn& turn) {
  Job& living = jobs_.at(id.number());
  if (anew) living.run = {};
  if (living.run.action() == ActionId{}) return go_on(living, begin_step(living, turn), turn);
  // Its program runs, or has ended while nobody looked: what it was to bring about is waited for.
  const ServiceBlock& block = graph_->at(living.step().service);
  if (block.foreground()) return go_on(living, begin_child_step(living, turn), turn);
  const RunningAction* const own = programs_.find(living.run.action());
  if (own == nullptr) living.run.ended({});
  const Duration begun = own != nullptr ? own->since : living.position == 0 ? living.begun : turn.now.mono;
  living.run.deadline =
      std::max(begun + timeout_of(block, living.step().kind, graph_->settings->limits), turn.now.mono + kLeastLeft);
  if (block.has_process())
    set_due(living, turn.now.mono + living.run.pause);
  else if (own == nullptr)
    go_on(living, StepEnd::Done, turn);
  else
    set_due(living, living.run.deadline);
}

}  // namespace healer::engine
