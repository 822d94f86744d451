// SPDX-License-Identifier: MIT
// Foreground processes (`check process NAME with program "..."`): healer's own children. A start is an exec that runs
// as long as the service lives; nothing has to be looked for, since the runner tells of its start, its word that it is
// ready, and its end. What becomes of it then is the state machine of parts/presence.
//
// There is one at most: while any is there, ending too, or anything that it has left, none is started. It outlives the
// daemon: the next one adopts the exec, by its id.
#include <algorithm>
#include <csignal>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr Duration kFormerPause{100};
constexpr Duration kLeastTime{2000};      // of a step that an earlier daemon began: what has come about is seen first
constexpr Duration kSeenDeadGrace{5000};  // after the last stop signal, for SIGKILL to be seen to

/// How long a step of a foreground process may take.
Duration step_time(const ForegroundSpec& spec, Bringing kind, const Limits& limits) {
  if (kind == Bringing::Start) return spec.ready_after + (spec.by_notice ? Duration{0} : limits.start_timeout);
  Duration time = kSeenDeadGrace;
  for (const StopSignal& signal : spec.stop) time += signal.within;
  return time;
}

/// What a look finds where no process runs.
Evidence no_process(const ServiceState& state) {
  const std::string& end = state.child->last_end();
  Evidence seen;
  seen.answer = Answer::Absent;
  auto facts = std::make_shared<Facts>();
  if (const auto status = state.child->last_status())
    facts->metrics.set(Metric::ExitStatus, static_cast<double>(*status));
  seen.facts = std::move(facts);
  seen.output =
      std::make_shared<const std::string>(end.empty() ? "process is not running" : "process is not running: it " + end);
  return seen;
}

}  // namespace

bool Engine::is_up(ServiceId id) const {
  const ServiceState& state = services_[id.index()];
  return graph_->at(id).foreground() ? state.child->is_ready() : state.presence.is_up();
}

// ---- looks --------------------------------------------------------------------------------------------------------

/// Asks the shell for a look or a run. Which process a foreground one is, is known here: where there is none that is
/// the answer, unless a start program of its former rules may have left one; and where its number has not been told
/// yet, or it is ending, the look waits for that.
void Engine::ask(ServiceId id, RunId run, Turn& turn) {
  if (graph_->at(id).is_heard()) return turn.tell(fact::RunAsked{id, run});
  const ServiceState& state = services_[id.index()];
  // What a job asks, or is asked after a death, is whether it is there.
  const Rare<Flight>& flight = state.flight;
  const bool scheduled =
      flight && flight->run == run && (flight->reason == Reason::Schedule || flight->reason == Reason::Asked);
  if (!graph_->at(id).foreground() || (!state.child->exists() && state.starts->left_by != ActionId{})) {
    const KnownProcess* const its = proofs_.known(id);
    const KnownProcess known = its != nullptr ? *its : KnownProcess{};
    // A file that comes to be is read from its beginning.
    const bool was_absent = state.last && state.last->answer == Answer::Absent;
    auto position = position_of(state.memory);
    if (!position && was_absent) position.emplace();
    return turn.sink.emit(effect::Measure{.service = id,
                                          .run = run,
                                          .pid = known.pid,
                                          .start_ticks = known.start_ticks,
                                          .left_by = state.starts->left_by,
                                          .came_by = state.starts->came_by,
                                          .position = position,
                                          .presence_only = !scheduled});
  }
  if (state.child->exists()) {
    if (state.child->is_living())
      turn.sink.emit(effect::Measure{.service = id,
                                     .run = run,
                                     .pid = state.child->about().pid,
                                     .start_ticks = state.child->about().start_ticks,
                                     .presence_only = !scheduled});
    return;
  }
  on(event::measured(id, run, no_process(state)), turn);
}

/// What a look has found that misses a foreground process, for what a failed start has left was looked for: how the
/// process ended is known here. Nothing: there is nothing to be added.
std::optional<Evidence> Engine::with_last_status(ServiceId id, const Evidence& seen) const {
  const Child& child = *services_[id.index()].child;
  if (!graph_->at(id).foreground() || child.exists() || !child.last_status() || seen.answer != Answer::Absent)
    return std::nullopt;
  Evidence more = seen;
  auto facts = seen.facts != nullptr ? std::make_shared<Facts>(*seen.facts) : std::make_shared<Facts>();
  facts->metrics.set(Metric::ExitStatus, static_cast<double>(*child.last_status()));
  more.facts = std::move(facts);
  return more;
}

// ---- jobs ---------------------------------------------------------------------------------------------------------

/// Begins the step of a job, or starts it over when what was in its way has gone.
Engine::Progress Engine::begin_child_step(Job& job, Turn& turn) {
  const ServiceBlock& block = graph_->at(job.step().service);
  const Duration time = step_time(*block.process->foreground, job.step().kind, graph_->settings->limits);
  const RunningAction* const own =
      programs_.find(job.action);  // that an earlier daemon has begun: its time counts from then
  job.deadline = own == nullptr ? turn.now.mono + time : std::max(own->since + time, turn.now.mono + kLeastTime);
  job.extended = {};
  return judge_child_step(job, turn);
}

/// Where the step of a foreground process stands.
Engine::Progress Engine::judge_child_step(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  const ForegroundSpec& spec = *block.process->foreground;
  ServiceState& state = services_[id.index()];
  const bool acting = std::exchange(job.phase, Job::Phase::Acting) == Job::Phase::Acting;
  const auto done = [&](std::string text) {
    if (acting) turn.record(RecordKind::JobStep, Severity::Info, block.name, std::move(text)).subject = job.id.number();
    return StepEnd::Done;
  };
  set_due(job, job.deadline);
  if (job.step().kind == Bringing::Stop) {
    if (!state.child->exists()) return done("stopped");
    job.steps[job.position].acted = true;
    if (state.child->is_former()) return stop_former(job, turn);
    end_program(state.child->about().action, turn);
    return kWaits;
  }
  if (!state.child->exists()) {
    if (job.action == ActionId{}) {
      if (waits_for_needed(job, turn)) return kWaits;
      if (const Progress without = left_out(job, turn)) return without;
      if (!clear_way(job, spec.command, turn)) return kWaits;
      if (state.starts->left_by != ActionId{} && !job.seen) {
        check(job, turn);
        return kWaits;
      }
      if (waits_for_left(job, turn)) return kWaits;
      job.deadline = turn.now.mono + step_time(spec, job.step().kind, graph_->settings->limits);
      job.extended = {};
      set_due(job, job.deadline);
      start_child(job, turn);
      return kWaits;
    }
    set_cause(job, "failed to start: it " + state.child->last_end());
    return StepEnd::Failed;
  }
  Child& child = state.child.edit();
  if (!child.is_living()) return kWaits;                // its end, or its number, is told
  if (child.is_former() && !state.last && !job.seen) {  // only an earlier daemon has seen it
    job.phase = Job::Phase::Checking;
    check(job, turn);
    return kWaits;
  }
  const Duration ready_at = child.about().since + spec.ready_after;
  if (!spec.by_notice && turn.now.mono >= ready_at) child.on(ChildEvent::Lasted);
  if (!child.is_ready()) {
    if (!spec.by_notice) set_due(job, std::min(ready_at, job.deadline));
    return kWaits;
  }
  if (acting) note_start(id, true, turn);
  keep_watch(id, turn);
  return done(fmt::format("started with pid {}", child.about().pid));
}

void Engine::start_child(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  run_program(job, graph_->at(id).process->foreground->command, turn);
  ServiceState& state = services_[id.index()];
  state.child.edit().begin(job.action);
  if (state.starts->left_by == ActionId{}) return;
  state.starts.edit().left_by = {};
  turn.save(id);
}

/// The time of a step is over.
void Engine::child_overdue(Job& job, Turn& turn) {
  const ServiceBlock& block = graph_->at(job.step().service);
  Child& child = services_[job.step().service.index()].child.edit();
  // Its word may have come while no healer was there to hear it.
  if (job.step().kind == Bringing::Start && child.state() == ChildState::Living && child.about().adopted) {
    child.on(ChildEvent::Lasted);
    return go_on(job, judge_child_step(job, turn), turn);
  }
  const RunningAction* const lacking = lacks(job);
  const std::string time = format_duration(
      turn.now.mono -
      (job.deadline - job.extended - step_time(*block.process->foreground, job.step().kind, graph_->settings->limits)));
  if (!job.program_failure.empty())
    set_cause(job, job.program_failure);
  else if (job.step().kind == Bringing::Stop)
    set_cause(
        job, fmt::format("failed to stop within {}: process {} is still there after SIGKILL", time, child.about().pid));
  else if (child.is_living())
    set_cause(job, fmt::format("failed to start: it did not report within {} that it is ready", time));
  else
    set_cause(job,
              fmt::format("failed to start within {}: {}", time,
                          child.is_ending()    ? "its previous process has not ended"
                          : lacking != nullptr ? fmt::format("its program could not be started: {}", lacking->waits)
                                               : "its program never started"));
  if (job.step().kind == Bringing::Start) end_program(child.about().action, turn);
  go_on(job, StepEnd::Failed, turn);
}

/// Something was told of the child of a service: the job that waits for it goes on.
void Engine::child_reported(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!state.job) return;
  Job& job = jobs_.at(state.job->number());
  if (job.step().service == id) go_on(job, judge_child_step(job, turn), turn);
}

// ---- what is told -------------------------------------------------------------------------------------------------

void Engine::child_started(ServiceId id, const event::ActionStarted& event, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const ChildReaction doing = state.child.edit().reported(event.pid, event.start_ticks, turn.now.mono);
  state.presence.on(PresenceEvent::Started);
  keep_watch(id, turn);
  if (state.flight) ask(id, state.flight->run, turn);
  if (doing == ChildReaction::GoOn) child_reported(id, turn);
}

void Engine::on(const event::ActionReady& event, Turn& turn) {
  const RunningAction* const found = programs_.find(event.action);
  if (found == nullptr) return;
  const std::optional<ServiceId> id = child_of(found->exec);
  if (!id) return;
  const ChildReaction doing = services_[id->index()].child.edit().on(ChildEvent::Word);
  keep_watch(*id, turn);
  if (doing == ChildReaction::GoOn) child_reported(*id, turn);
}

/// While it is ready it must tell that it is well, as often as its rules say now.
void Engine::keep_watch(ServiceId id, Turn& turn) {
  const ServiceBlock& block = graph_->at(id);
  const Child& child = *services_[id.index()].child;
  if (!block.foreground() || !child.is_ready() || !child.is_living() || child.is_former()) return;
  const Duration every = block.process->foreground->watchdog;
  if (child.about().watched == every) return;
  turn.sink.emit(effect::Watch{child.about().action, every});
  services_[id.index()].child.edit().watch(every);
}

/// What it asks for its start or stop holds for the step that is under way.
void Engine::on(const event::ActionExtended& event, Turn& turn) {
  const RunningAction* const found = programs_.find(event.action);
  const std::optional<ServiceId> id = found == nullptr ? std::nullopt : child_of(found->exec);
  if (!id || !services_[id->index()].job) return;
  Job& job = jobs_.at(services_[id->index()].job->number());
  if (job.step().service != *id || job.phase != Job::Phase::Acting) return;
  const Duration deadline =
      turn.now.mono + event.by + (job.step().kind == Bringing::Stop ? kSeenDeadGrace : Duration{0});
  if (deadline <= job.deadline) return;
  const bool waits_for_it = job.due == job.deadline;
  job.extended += deadline - std::exchange(job.deadline, deadline);
  if (waits_for_it) set_due(job, deadline);
}

/// It is ended, which counts as its death: its rules say what comes of that.
void Engine::on(const event::ActionSilent& event, Turn& turn) {
  const RunningAction* const found = programs_.find(event.action);
  const std::optional<ServiceId> id = found == nullptr ? std::nullopt : child_of(found->exec);
  if (!id) return;
  const ServiceBlock& block = graph_->at(*id);
  ServiceState& state = services_[id->index()];
  const Settings& settings = *graph_->settings;
  if (!state.child->is_ready() || state.job || block.process->foreground->watchdog == Duration{0}) return;
  const std::string silent = fmt::format("process {} has not sent WATCHDOG=1 for {}", state.child->about().pid,
                                         format_duration(std::chrono::floor<seconds>(event.span)));
  const bool is_held = settings.shadow || settings.dry_run || left_alone(*id, turn.now) ||
                       maintenance_.in_force(*id, turn.now) || healings_.rests(block.target(), turn.now);
  if (!is_held) {
    turn.record(RecordKind::JobStep, Severity::Warning, block.name, silent + ": it is ended").subject =
        event.action.number();
    end_program(event.action, turn);
  } else if (!state.child->about().held) {
    turn.record(RecordKind::JobHeld, Severity::Warning, block.name, silent + ", but is left alone now");
  }
  state.child.edit().fall_silent(!is_held);
}

/// The service whose foreground process this exec is; none: of no service any more.
std::optional<ServiceId> Engine::child_of(const effect::Exec& exec) const {
  if (!exec.foreground) return std::nullopt;
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  return id && services_[id->index()].child->is(exec.action) ? id : std::nullopt;
}

/// A foreground process has ended. Where nobody told it to, that is a death: known at once, with its status, and not
/// anybody else's doing, so there is nothing to settle.
void Engine::child_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn) {
  std::string text = describe_end(event);
  const std::optional<ServiceId> owner = child_of(exec);
  const std::int64_t pid = owner ? services_[owner->index()].child->about().pid : 0;
  if (owner && services_[owner->index()].child->about().silent)
    text += fmt::format("; it had not sent WATCHDOG=1 for {}",
                        format_duration(services_[owner->index()].child->about().watched));
  const bool exits = event.outcome == Outcome::Exited && !event.unseen;
  const bool died = owner && services_[owner->index()].child.edit().ended(
                                 text, exits ? std::optional(event.status) : std::nullopt) == ChildReaction::Death;
  Record& record = turn.record(died ? RecordKind::ProcessDied : RecordKind::ActionEnded,
                               died ? Severity::Warning : Severity::Info, exec.cause->service,
                               pid != 0 ? fmt::format("process {} {}", pid, text)
                                        : fmt::format("program {} {}", exec.command.arguments.front(), text));
  record.subject = exec.action.number();
  record.output = event.output;
  if (!owner) return;
  const ServiceId id = *owner;
  ServiceState& state = services_[id.index()];
  const bool well = event.outcome == Outcome::Exited && event.status == 0 && !event.unseen;
  if (event.left != 0 && well && died && state.starts->quick == 0) {  // not at each try again
    const std::string& name = graph_->at(id).name;
    turn.record(RecordKind::JobStep, Severity::Warning, name,
                fmt::format("it went to the background: process {} left its session, and was ended, as a next one "
                            "must not run beside it; let the program stay in the foreground, or write 'check process "
                            "{} with pidfile ...' with a start program",
                            event.left, name));
  }
  if (state.job) {
    Job& job = jobs_.at(state.job->number());
    if (job.step().service == id) {
      take(id, std::make_shared<const Evidence>(no_process(state)), turn);
      const bool own = job.action == exec.action;
      return go_on(job, own || job.step().kind == Bringing::Stop ? judge_child_step(job, turn) : begin_step(job, turn),
                   turn);
    }
  }
  state.presence.on(PresenceEvent::Died, *no_process(state).output);
  // An unseen end tells nothing of how long it lived.
  if (died && (!event.unseen || event.elapsed > Duration{0})) note_end(id, event.elapsed, turn);
  const bool supervised = !left_alone(id, turn.now) && in_schedule(id, turn.now);
  if (state.flight) {
    if (died && supervised) see_death(id, turn.now);
    turn.sink.emit(effect::CancelRun{id, state.flight->run});  // it has seen the process that is gone now
    return ask(id, state.flight->run, turn);
  }
  if (state.job || !supervised) return;
  check_now(id, died ? Reason::Death : Reason::Again, turn);
}

/// A run that was begun before a death, for whatever reason, is the one that sees it.
void Engine::see_death(ServiceId id, Instant now) {
  Flight& flight = *services_[id.index()].flight;
  flight.reason = Reason::Death;
  if (flight.counted) return;
  timetable_.count(id, flight, now);
  if (flight.counted) timetable_.count_death(id, now);
}

// ---- an earlier daemon, a reload ----------------------------------------------------------------------------------

/// An exec of an earlier daemon: the process is adopted if it lives. Where its service is gone it is ended; of several,
/// which a journal that could not be written has left, the newest is kept. One whose start had failed was being ended.
void Engine::restore_child(const PendingExec& pending, bool may_start, Turn& turn) {
  const effect::Exec& exec = pending.exec;
  const std::optional<ServiceId> id = graph_->find(exec.cause->service);
  programs_.restore(pending, false, turn.now);
  const bool wanted = id && graph_->at(*id).foreground();
  const bool failed = wanted && services_[id->index()].starts->left_by == exec.action;
  if (wanted) {
    Child& child = services_[id->index()].child.edit();
    const ActionId older = child.about().action;
    child.adopt(exec.action);
    end_program(older, turn);
  }
  if (wanted && may_start && !pending.started && !failed)
    turn.sink.emit(exec);
  else
    turn.sink.emit(effect::Adopt{exec.action, exec.service, true, exec.command.identity->uid});
  if (failed) end_program(exec.action, turn);
  if (!wanted && !absent_.contains(exec.cause->service)) end_child(exec.action, exec.cause->service, nullptr, turn);
}

/// A reload has made another service of this one, or none: the process of the former is ended.
void Engine::release_child(ServiceId id, const ServiceBlock& before, Turn& turn) {
  const ActionId action = services_[id.index()].child->about().action;
  if (services_[id.index()].child->exists()) services_[id.index()].child.edit().let_go();
  const bool comes_back = before.row != nullptr && absent_.contains(before.name);
  if (action != ActionId{} && !comes_back) end_child(action, before.name, &*before.process->foreground, turn);
}

/// Healer was asked to run it no longer. Where healer only watches it is left alone.
void Engine::end_child(ActionId action, const std::string& service, const ForegroundSpec* spec, Turn& turn) {
  const Settings& settings = *graph_->settings;
  const bool watching = settings.shadow || settings.dry_run;
  turn.record(RecordKind::JobStep, Severity::Info, service,
              watching ? "its foreground process is left alone: it is no longer in the rules, but healer only watches"
                       : "its foreground process is ended: it is no longer in the rules");
  if (!watching) end_program(action, turn, spec);
}

/// A service that was found by a pid file or pattern is to be healer's own child from now on: while the process runs
/// that was found so, it is the service's, and none is started beside it. It is ended by signal, and its end is found
/// by looks. Where this daemon has not looked yet, it is the one that an earlier daemon has found, if that still runs.
void Engine::keep_former(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!graph_->at(id).foreground()) return;
  const ProcessFacts* process = state.presence.is_up() ? process_of(*state.last) : nullptr;
  const KnownProcess* const known = proofs_.known(id);
  KnownProcess former;
  if (process != nullptr)
    former = {.pid = process->pid, .start_ticks = process->start_ticks};
  else if (!state.last && !state.presence.is_gone() && known != nullptr && known->start_ticks != 0)
    former = {.pid = known->pid, .start_ticks = known->start_ticks};
  if (former.pid == 0) return;
  if (known != nullptr && known->pid == former.pid) former.doubt = known->doubt;
  state.child.edit().keep(former.pid, former.start_ticks, turn.now.mono);
  proofs_.know(id, former);
  turn.record(RecordKind::JobStep, Severity::Warning, graph_->at(id).name,
              fmt::format("process {} of its previous rules {} runs: it is kept until it ends or is restarted",
                          former.pid, process != nullptr ? "still" : "perhaps"));
}

/// A look has found that such a process is gone.
void Engine::forget_former(ServiceId id, Turn& turn) {
  ServiceState& state = services_[id.index()];
  state.child.edit().ended({});
  proofs_.forget(id);
  turn.save(id);
}

/// Such a process is to end: SIGTERM, SIGKILL when the first of the stop signals has had its time.
Engine::Progress Engine::stop_former(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceState& state = services_[id.index()];
  const Child::About& former = state.child->about();
  const auto send = [&](int number) {
    turn.acts.emplace_back(effect::Signal{former.pid, former.start_ticks, number});
    turn.record(RecordKind::JobStep, Severity::Info, graph_->at(id).name,
                fmt::format("{} to process {}", number == SIGTERM ? "SIGTERM" : "SIGKILL", former.pid))
        .subject = job.id.number();
  };
  if (const ProcessFacts* process = state.last ? process_of(*state.last) : nullptr; process != nullptr) {
    if (const std::string why = proofs_.why_spared(id, *process); !why.empty()) {
      set_cause(job, fmt::format("failed to stop: {}: it is not signalled", why));
      return StepEnd::Failed;
    }
  }
  if (!std::exchange(job.signalled, true)) {
    send(SIGTERM);
  } else if (turn.now.mono >= job.deadline - kSeenDeadGrace && !std::exchange(job.killed, true)) {
    send(SIGKILL);
  }
  set_due(job, std::min(turn.now.mono + kFormerPause, job.deadline));
  return kWaits;
}

/// After a reload: a service that was taken out of the rules and put back may find its former process ending.
void Engine::find_child(ServiceId id) {
  if (!graph_->at(id).foreground()) return;
  for (const ActionId action : programs_.of(graph_->at(id).name)) {
    const RunningAction& running = *programs_.find(action);
    if (!running.exec.foreground) continue;
    Child& child = services_[id.index()].child.edit();
    child.adopt(action);
    if (running.pid != 0) child.reported(running.pid, running.start_ticks, running.since);
    if (programs_.is_ending(action)) child.on(ChildEvent::EndAsked);
  }
}

}  // namespace healer::engine
