// SPDX-License-Identifier: MIT
// What becomes of a service that was started: its death, the backoff between starts that do not last, looks beside the
// schedule.
#include <algorithm>
#include <csignal>
#include <memory>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/timing/cron.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"
#include "util/hash.hpp"

namespace healer::engine {
namespace {

constexpr Duration kQuickDeath{10'000};
constexpr Duration kFirstBackoff{1000};
constexpr Duration kBusyPause{100};
constexpr Duration kLeftPause{500};
constexpr Duration kLeftGrace{2000};
constexpr Duration kClearPause{100};
constexpr Duration kLeftoverCheck{5000};
constexpr Duration kLongestWait{200};  // between the looks at another job

/// The wait after `quick` starts in a row that did not last: 1 s, doubling to at most a cycle, with a jitter of a tenth
/// that is the same wherever and whenever it is computed.
Duration backoff(std::string_view name, std::uint32_t quick, Duration cycle) {
  const Duration longest = std::max(cycle, kFirstBackoff);
  const Duration wait = quick > 20 ? longest : std::min(kFirstBackoff * (std::int64_t{1} << (quick - 1)), longest);
  const auto lot = static_cast<std::int64_t>(hash128(fmt::format("{} {}", name, quick)).low % 201);  // 0..200
  return wait + wait * (lot - 100) / 1000;
}

}  // namespace

/// Whether the process of a service is looked after at any time: not outside a schedule of its own.
bool Engine::in_schedule(ServiceId id, Instant now) const {
  const Schedule& schedule = *graph_->at(id).schedule;
  if (schedule.kind == Schedule::Kind::NotCron) return !matches_at(schedule.cron, now.wall, civil_);
  return schedule.kind == Schedule::Kind::Cycles && schedule.cycles == 1;
}

void Engine::on(const event::ProcessDied& event, Turn& turn) {
  const ServiceId id = event.service;
  if (!running_ || id.index() >= services_.size() || !graph_->slots[id.index()]) return;
  ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  if (block.foreground()) return;  // the end of its exec tells of it
  if (block.is_unit()) {           // a look, which counts as that after a death does
    if (state.monitored && in_schedule(id, turn.now)) check_now(id, Reason::Death, turn);
    return;
  }
  const ProcessFacts* known = state.last ? process_of(*state.last) : nullptr;
  if (known == nullptr || known->pid != event.pid || known->start_ticks != event.start_ticks) return;
  std::string how = fmt::format("process {} has died", event.pid);
  if (event.end) how += ": " + describe_exit(event.end->outcome, event.end->status);
  state.presence.on(PresenceEvent::Died, std::move(how));
  if (state.job) {
    Job& job = jobs_.at(state.job->number());
    if (job.step().service == id) return check(job, turn);
  }
  turn.record(RecordKind::ProcessDied, Severity::Warning, block.name, state.presence.how());
  if (!state.monitored || left_alone(id, turn.now) || !in_schedule(id, turn.now) || state.job) return;
  cancel_flight(id, turn);  // it may have looked before
  if (graph_->settings->settle > Duration{0}) return settle(id, nullptr, turn);
  commands_.run_ended(id, true, turn);
  check_now(id, Reason::Death, turn);
}

/// Whether its rules start nothing, whatever becomes of it.
bool Engine::left_alone(ServiceId id, Instant now) const {
  return graph_->at(id).activity == ServiceBlock::Activity::Passive || pauses_.in_force(id, now);
}

/// A death is not acted on yet: where an administrator restarts it by hand, the pid file names another process when the
/// dust has settled. `missed`: it was a look that does not find it any more. Whether it has died nobody knows then: it
/// may live on, and only its pid file be gone.
void Engine::settle(ServiceId id, const Evidence* missed, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (missed != nullptr) {
    const bool seen = state.last != nullptr;
    const std::int64_t pid = seen                           ? process_of(*state.last)->pid
                             : proofs_.known(id) != nullptr ? proofs_.known(id)->pid
                                                            : 0;
    state.presence.on(PresenceEvent::Missed,
                      missed->output && !missed->output->empty() ? *missed->output : describe_existence(*missed));
    turn.record(RecordKind::ProcessDied, Severity::Warning, graph_->at(id).name,
                fmt::format("{} can no longer be found{}: {}",
                            pid != 0 ? fmt::format("process {}", pid) : std::string("its process"),
                            seen ? "" : ", which a previous healerd had seen", state.presence.how()));
  }
  commands_.run_ended(id, true, turn);
  const Duration until = turn.now.mono + graph_->settings->settle;
  state.presence.settle(until);
  timetable_.check_later(id, Reason::Death, until);
}

/// Whether this look is the first to hear of the death of a process: where the kernel could not tell of it, or no
/// healer ran.
bool Engine::newly_missing(ServiceId id, const Evidence& seen, Instant now) const {
  const ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  if (!block.has_process() || block.foreground() || graph_->settings->settle == Duration{0}) return false;
  if (seen.answer != Answer::Absent) return false;
  if (next(state.presence.state(), PresenceEvent::Missed).doing != PresenceReaction::Settle) return false;
  // That it was down already an earlier daemon has said.
  if (!state.last && rules_.any_failed(id)) return false;
  return !left_alone(id, now) && in_schedule(id, now);
}

/// A look has told whether its process is there.
void Engine::observe(ServiceId id, const Evidence& seen, Turn& turn) {
  ServiceState& state = services_[id.index()];
  const StartHistory& starts = *state.starts;
  const bool up = process_of(seen) != nullptr;
  const PresenceReaction doing = state.presence.on(up          ? PresenceEvent::Found
                                                   : state.job ? PresenceEvent::Stopped
                                                               : PresenceEvent::Missing);
  if (doing == PresenceReaction::WakeDependents) wake_dependents(id, turn.now);
  if (doing == PresenceReaction::CountEnd && starts.last && !graph_->at(id).foreground())
    note_end(id, turn.now.wall - *starts.last, turn);
}

/// Its process has ended after `lived`.
void Engine::note_end(ServiceId id, Duration lived, Turn& turn) {
  StartHistory& starts = services_[id.index()].starts.edit();
  if (lived >= kQuickDeath) {
    starts.quick = 0;
    starts.not_before.reset();
  } else {
    ++starts.quick;
    starts.not_before = turn.now.wall + backoff(graph_->at(id).name, starts.quick, graph_->settings->cycle_length());
  }
  turn.save(id);
}

/// How a start of the service went.
void Engine::note_start(ServiceId id, bool good, Turn& turn) {
  StartHistory& starts = services_[id.index()].starts.edit();
  starts.last = turn.now.wall;
  turn.save(id);
  if (good) {
    services_[id.index()].trouble.set(&Trouble::start_failure, {});
    starts.not_before.reset();
    // That it is another process now is its start's doing: no change, as in Monit.
    if (graph_->at(id).has_process())
      for (Baseline& baseline : services_[id.index()].memory.baselines) baseline.value.reset();
    return;
  }
  ++starts.quick;
  const Duration wait = backoff(graph_->at(id).name, starts.quick, graph_->settings->cycle_length());
  starts.not_before = turn.now.wall + wait;
  timetable_.check_later(id, Reason::Again, turn.now.mono + wait);
}

/// A step has brought its service up, as this process.
void Engine::note_started(const Job& job, const ProcessFacts& process, Turn& turn) {
  const JobStep step = job.step();
  note_start(step.service, true, turn);
  if (job.action != ActionId{}) services_[step.service.index()].starts.edit().came_by = job.action;
  turn.record(RecordKind::JobStep, Severity::Info, graph_->at(step.service).name,
              fmt::format("{} with pid {}", step.kind == Bringing::Start ? "started" : "restarted", process.pid))
      .subject = job.id.number();
}

/// Whether a process that a pattern has found is the start program of the step, or a child of it, and that still runs:
/// its command line may hold the name of what it is to start. So may one whose number is not told yet.
bool Engine::is_own_program(const Job& job, const ProcessFacts& process) const {
  if (job.step().kind == Bringing::Stop || graph_->at(job.step().service).process->pattern.empty()) return false;
  const RunningAction* const found = programs_.find(job.action);
  if (found == nullptr) return false;
  const std::int64_t program = found->pid;
  return program == 0 || process.pid == program || process.parent == program;
}

/// Why a service cannot be started now: a process that must be up before it is not; empty: all are.
std::string Engine::missing_requirement(ServiceId id) const {
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    const ServiceState& state = services_[needed.index()];
    const ServiceBlock& block = graph_->at(needed);
    if (!block.has_process() || !state.monitored) continue;
    if (!state.last && !block.foreground())
      return fmt::format("it depends on {}, which has not been checked yet", block.name);
    if (!is_up(needed)) return fmt::format("it depends on {}, which is not running", block.name);
  }
  return {};
}

/// What the step under way depends on, where another job has yet to start, stop or restart it; but not where that job
/// waits for this one.
std::optional<ServiceId> Engine::waits_for_job(const Job& job) const {
  const auto busy_with = [&](ServiceId id) -> const Job* {
    const Rare<JobId>& its = services_[id.index()].job;
    if (!its) return nullptr;
    const Job& other = jobs_.at(its->number());
    const auto ahead = std::span(other.steps).subspan(other.position);
    return std::ranges::find(ahead, id, &JobStep::service) != ahead.end() ? &other : nullptr;
  };
  for (const ServiceId needed : requirements_of(*graph_, job.step().service)) {
    if (services_[needed.index()].job == job.id) continue;
    const Job* last = busy_with(needed);
    if (last == nullptr) continue;
    while (last != nullptr && last->id != job.id) last = last->after ? busy_with(*last->after) : nullptr;
    if (last == nullptr) return needed;
  }
  return std::nullopt;
}

/// A start whose service depends on one that another job is about to bring up waits for that.
bool Engine::waits_for_needed(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const std::optional<ServiceId> before = std::exchange(job.after, waits_for_job(job));
  if (!job.after) return false;
  if (before != job.after)
    turn.record(RecordKind::JobStep, Severity::Info, graph_->at(id).name,
                fmt::format("its start waits for the job of {}, which it depends on", graph_->at(*job.after).name))
        .subject = job.id.number();
  job.phase = Job::Phase::Checking;
  job.deadline = turn.now.mono + timeout_of(graph_->at(id), job.step().kind, graph_->settings->limits);
  set_due(job, turn.now.mono + job.pause);
  job.pause = std::min(job.pause * 2, kLongestWait);
  return true;
}

/// How a start ends that cannot be done, for what it depends on is down and no part of any job, or has died meanwhile:
/// whom the job was not named for is left out, to be started by its own rules when that has come up. Nothing: it can be
/// done.
Engine::Progress Engine::left_out(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const std::string missing = missing_requirement(id);
  if (missing.empty()) return std::nullopt;
  if (job.step().named) {
    set_cause(job, "not started: " + missing);
    return StepEnd::Failed;
  }
  turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name, "not started: " + missing);
  return StepEnd::Done;
}

/// A signal that was recorded when it was decided did not reach a process that lives: whoever waits for its end hears
/// of it.
void Engine::on(const event::NotSignalled& event, Turn& turn) {
  const std::string text = fmt::format("{} was not sent to process {}: {}",
                                       event.number == SIGKILL ? "SIGKILL" : "SIGTERM", event.pid, event.why);
  for (auto& [number, job] : jobs_) {
    const Child& child = *services_[job.step().service.index()].child;
    const bool former =
        child.is_former() && child.about().pid == event.pid && child.about().start_ticks == event.start_ticks;
    const bool own =
        job.signalled && (former || (job.signalled_pid == event.pid && job.signalled_ticks == event.start_ticks));
    if (!own) continue;
    turn.record(RecordKind::JobStep, Severity::Warning, graph_->at(job.step().service).name, text).subject = number;
    set_cause(job, "failed to stop: " + text);
    return go_on(job, StepEnd::Failed, turn);
  }
  turn.note(Severity::Warning, {}, text);
}

/// What an earlier start has left goes first, and its start waits for that. Where none has come up it may yet: a
/// person's start gives it the time of a start, a rule's comes here when it has waited long. What was left by one that
/// has come up goes only where the rules say so; else it is named, and the start goes on. SIGTERM, then SIGKILL: it is
/// proved to come of its program.
bool Engine::waits_for_left(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  ServiceState& state = services_[id.index()];
  const ServiceBlock& block = graph_->at(id);
  const auto tell = [&](std::string text) {
    turn.record(RecordKind::JobStep, Severity::Warning, block.name, std::move(text)).subject = job.id.number();
  };
  std::string why = leftovers_.behind(id);
  const bool may_come = !why.empty();
  if (!may_come) why = leftovers_.over(id);
  if (!may_come && !why.empty() && !block.end_leftovers) {
    const std::int64_t pid = leftovers_.of(id).front().pid;
    if (state.trouble->reported_left != pid)
      tell(why + ", and may stand in the way: 'with leftovers ended' ends it first");
    state.trouble.set(&Trouble::reported_left, pid);
    why.clear();
  }
  if (why.empty()) {
    job.left_by = {};
    job.left_reported.clear();
    job.held_until.reset();
    job.program_failure.clear();
    return false;
  }
  const std::vector<LeftProcess>& left = leftovers_.of(id);
  const Duration patience = is_rule(job.by) || block.foreground() || block.end_leftovers
                                ? Duration{0}
                                : timeout_of(block, Bringing::Start, graph_->settings->limits);
  const LeftProcess& eldest = left.front();
  const bool another = job.left_pid != eldest.pid || job.left_ticks != eldest.start_ticks;
  const bool others = job.left_by != state.last->facts->further->left_by || (may_come && another);
  job.left_pid = eldest.pid;
  job.left_ticks = eldest.start_ticks;
  job.left_reported = describe_left(left);
  if (others) {
    job.left_by = state.last->facts->further->left_by;
    job.left_since = turn.now.mono;
    job.left_signal = 0;
    if (!job.held_until) job.held_until = turn.now.mono + patience + 2 * kLeftGrace;
    tell("its start waits: " + why);
  }
  const Duration waited = turn.now.mono - job.left_since;
  const int signal = waited >= patience + kLeftGrace ? SIGKILL : waited >= patience ? SIGTERM : 0;
  if (std::exchange(job.left_signal, signal) != signal) {
    // Who leads the others ends them as it should; what has no leader any more is ended one and all.
    const auto signalled = std::span(left).first(may_come ? 1 : left.size());
    for (const LeftProcess& one : signalled) turn.acts.emplace_back(effect::Signal{one.pid, one.start_ticks, signal});
    tell(fmt::format("{} to {}, which its start program has left", signal == SIGTERM ? "SIGTERM" : "SIGKILL",
                     describe_left(signalled)));
  }
  hold_step(job, "failed to start: " + why, may_come ? kLeftPause : kClearPause, turn);
  return true;
}

/// The step waits for something that must go first, at most as long as it may take itself.
void Engine::hold_step(Job& job, std::string failure, Duration pause, Turn& turn) {
  if (!job.held_until) job.held_until = job.deadline;
  job.program_failure = std::move(failure);
  job.phase = Job::Phase::Checking;
  job.deadline = *job.held_until;
  set_due(job, std::min(turn.now.mono + pause, job.deadline));
}

/// Whether nothing that an earlier job has left is in the way of `command`: a start program that has not brought the
/// service up, or the same program once more. Such a one is ended first: two would be one too many.
bool Engine::clear_way(Job& job, const Command& command, Turn& turn) {
  ActionId one;
  for (const ActionId id : programs_.of(graph_->at(job.step().service).name)) {
    const effect::Exec& exec = programs_.find(id)->exec;
    if (exec.job == JobId{} || id == job.action) continue;
    if (job.step().kind == Bringing::Stop && exec.command.arguments != command.arguments) continue;
    one = id;
    end_program(id, turn);
  }
  if (one == ActionId{}) {
    if (job.step().kind == Bringing::Stop) {
      job.held_until.reset();
      job.program_failure.clear();
    }
    return true;
  }
  hold_step(job,
            fmt::format("its previous program {} does not end", programs_.find(one)->exec.command.arguments.front()),
            kClearPause, turn);
  return false;
}

// ---- looks beside the schedule ------------------------------------------------------------------------------------

/// What a start of the service waits for is looked at again: a process that it needs, which may be looked at rarely; or
/// itself, where an earlier start has left something.
void Engine::check_needed(ServiceId id, Instant now) {
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    const ServiceState& state = services_[needed.index()];
    const bool lately = state.checked && now.mono - *state.checked <= times(id).period;
    if (graph_->at(needed).has_process() && !is_up(needed) && !lately && !state.flight)
      timetable_.check_later(needed, Reason::Again, now.mono);
  }
  // On a grid: one look, however many ask for it.
  if (!leftovers_.behind(id).empty())
    timetable_.check_later(id, Reason::Again, (now.mono / kLeftoverCheck + 1) * kLeftoverCheck);
}

void Engine::check_now(ServiceId id, Reason reason, Turn& turn) {
  ServiceState& state = services_[id.index()];
  if (!running_ || !graph_->slots[id.index()] || !state.monitored || state.job) return;
  if (state.presence.is_settling(turn.now.mono)) return;  // a look comes at the end of that
  if (state.flight) {                                     // begun before: it may not have seen what happened since
    return timetable_.check_later(id, reason, turn.now.mono + kBusyPause);
  }
  // A death is the first of N. So is what is tried again, where a job has kept a whole cycle from counting. The next
  // run that counts comes at least a cycle later.
  const bool missed = reason == Reason::Again && in_schedule(id, turn.now) && times(id).missed_count(turn.now);
  const bool counted = (reason == Reason::Death || missed) && !times(id).counted_death(turn.now);
  if (counted) timetable_.count_death(id, turn.now);
  start_run(id, counted, reason, turn);
}

/// How long its rules do not start it yet; none: they may. A time further off than any backoff is one of a clock that
/// was wrong.
std::optional<Duration> Engine::backing_off(ServiceId id, Instant now) const {
  const std::optional<WallTime>& until = services_[id.index()].starts->not_before;
  const Duration longest = std::max(graph_->settings->cycle_length(), kFirstBackoff) * 11 / 10;
  if (!until || *until <= now.wall || *until - now.wall > longest) return std::nullopt;
  return *until - now.wall;
}

void Engine::wake_checks(Turn& turn) {
  while (const auto check = timetable_.take_check(turn.now.mono))
    if (check->service.index() < services_.size()) check_now(check->service, check->reason, turn);
}

/// A service has come up: what waits for it is looked at again.
void Engine::wake_dependents(ServiceId id, Instant now) {
  if (graph_->dependents[id.index()].empty()) return;
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (!services_[dependent.index()].trouble->waits.empty())
      timetable_.check_later(dependent, Reason::Again, now.mono);
}

/// A job of these services has ended: so is what waited for that.
void Engine::wake_waiting(const std::vector<ServiceId>& ended, Instant now) {
  for (const auto& around : {with_dependents(*graph_, ended), with_requirements(*graph_, ended)})
    for (const ServiceId id : around)
      if (!services_[id.index()].trouble->waits.empty()) timetable_.check_later(id, Reason::Again, now.mono);
}

}  // namespace healer::engine
