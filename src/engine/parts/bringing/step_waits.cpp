// SPDX-License-Identifier: MIT
// What the step of a job waits for before it acts: other jobs, programs and processes that must go first.
#include <algorithm>
#include <csignal>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/parts/programs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

constexpr Duration kLeftPause{500};
constexpr Duration kLeftGrace{2000};
constexpr Duration kClearPause{100};
constexpr Duration kLongestWait{200};  // between the looks at another job

/// A step is held by these processes, which `by` has left. Whether they are others than those that it waited for: the
/// time that they are given begins then. `may_come`: where another is the eldest of them, it is that which comes up.
bool note_left(JobStepRun::Held& held, const std::vector<LeftProcess>& left, ActionId by, bool may_come,
               Duration mono) {
  const LeftProcess& eldest = left.front();
  const bool another = !held.left || held.left->pid != eldest.pid || held.left->start_ticks != eldest.start_ticks;
  const bool others = !held.left || held.left->by != by || (may_come && another);
  if (others) held.left = LeftBehind{.by = by, .since = mono};
  held.left->pid = eldest.pid;
  held.left->start_ticks = eldest.start_ticks;
  held.left->processes = describe_left(left);
  return others;
}

}  // namespace

/// Whether a process that a pattern has found is the start program of the step, or a child of it, and that still runs:
/// its command line may hold the name of what it is to start. So may one whose number is not told yet.
bool Jobs::is_own_program(const Job& job, const ProcessFacts& process) const {
  if (job.step().kind == Bringing::Stop || graph_->at(job.step().service).process->pattern.empty()) return false;
  const RunningAction* const found = programs_.find(job.run.action());
  if (found == nullptr) return false;
  const std::int64_t program = found->pid;
  return program == 0 || process.pid == program || process.parent == program;
}

/// What the step under way depends on, where another job has yet to start, stop or restart it; but not where that job
/// waits for this one.
std::optional<ServiceId> Jobs::waits_for_job(const Job& job) const {
  const auto busy_with = [&](ServiceId id) -> const Job* {
    const Job* const other = of(id);
    if (other == nullptr) return nullptr;
    const auto ahead = std::span(other->steps).subspan(other->position);
    return std::ranges::find(ahead, id, &JobStep::service) != ahead.end() ? other : nullptr;
  };
  for (const ServiceId needed : requirements_of(*graph_, job.step().service)) {
    if (services_[needed.index()].job == job.id) continue;
    const Job* last = busy_with(needed);
    if (last == nullptr) continue;
    while (last != nullptr && last->id != job.id) {
      const std::optional<ServiceId> next = last->run.awaited();
      last = next ? busy_with(*next) : nullptr;
    }
    if (last == nullptr) return needed;
  }
  return std::nullopt;
}

/// A start whose service depends on one that another job is about to bring up waits for that.
bool Jobs::waits_for_needed(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const std::optional<ServiceId> other = waits_for_job(job);
  if (!other) {
    job.run.await_no_more();
    return false;
  }
  if (job.run.awaited() != other)
    turn.record(RecordKind::JobStep, Severity::Info, graph_->at(id).name,
                fmt::format("its start waits for the job of {}, which it depends on", graph_->at(*other).name))
        .subject = job.id.number();
  job.run.await(*other);
  job.run.deadline = turn.now.mono + timeout_of(graph_->at(id), job.step().kind, graph_->settings->limits);
  set_due(job, turn.now.mono + job.run.pause);
  job.run.pause = std::min(job.run.pause * 2, kLongestWait);
  return true;
}

/// How a start ends that cannot be done, for what it depends on is down and no part of any job, or has died meanwhile:
/// whom the job was not named for is left out, to be started by its own rules when that has come up. Nothing: it can be
/// done.
Jobs::Progress Jobs::left_out(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const std::string missing = starts_.missing_requirement(id);
  if (missing.empty()) return std::nullopt;
  if (job.step().named) {
    set_cause(job, "not started: " + missing);
    return StepEnd::Failed;
  }
  turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name, "not started: " + missing);
  return StepEnd::Done;
}

/// What an earlier start has left goes first, and its start waits for that. Where none has come up it may yet: a
/// person's start gives it the time of a start, a rule's comes here when it has waited long. What was left by one that
/// has come up goes only where the rules say so; else it is named, and the start goes on. SIGTERM, then SIGKILL: it is
/// proved to come of its program.
bool Jobs::waits_for_left(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ServiceState& state = services_[id.index()];
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
    turn.tell(fact::LeftReported{id, pid});
    why.clear();
  }
  if (why.empty()) return false;
  const std::vector<LeftProcess>& left = leftovers_.of(id);
  const Duration patience = is_rule(job.by) || block.foreground() || block.end_leftovers
                                ? Duration{0}
                                : timeout_of(block, Bringing::Start, graph_->settings->limits);
  JobStepRun::Held& held = job.run.hold(turn.now.mono + patience + 2 * kLeftGrace);
  if (note_left(held, left, state.last->facts->further->left_by, may_come, turn.now.mono))
    tell("its start waits: " + why);
  const Duration waited = turn.now.mono - held.left->since;
  const int signal = waited >= patience + kLeftGrace ? SIGKILL : waited >= patience ? SIGTERM : 0;
  if (std::exchange(held.left->signal, signal) != signal) {
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
void Jobs::hold_step(Job& job, std::string failure, Duration pause, Turn& turn) {
  JobStepRun::Held& held = job.run.hold(job.run.deadline);
  held.failure = std::move(failure);
  job.run.deadline = held.until;
  set_due(job, std::min(turn.now.mono + pause, held.until));
}

/// Whether nothing that an earlier job has left is in the way of `command`: a start program that has not brought the
/// service up, or the same program once more. Such a one is ended first: two would be one too many.
bool Jobs::clear_way(Job& job, const Command& command, Turn& turn) {
  ActionId one;
  for (const ActionId id : programs_.of(graph_->at(job.step().service).name)) {
    const effect::Exec& exec = programs_.find(id)->exec;
    if (exec.job == JobId{} || id == job.run.action()) continue;
    if (job.step().kind == Bringing::Stop && exec.command.arguments != command.arguments) continue;
    one = id;
    turn.tell(fact::EndWanted{id});
  }
  if (one == ActionId{}) return true;
  hold_step(job,
            fmt::format("its previous program {} does not end", programs_.find(one)->exec.command.arguments.front()),
            kClearPause, turn);
  return false;
}

}  // namespace healer::engine
