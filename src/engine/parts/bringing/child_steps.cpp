// SPDX-License-Identifier: MIT
// The steps of jobs for foreground processes.
#include <algorithm>
#include <csignal>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/proofs.hpp"
#include "engine/rules/graph.hpp"
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

}  // namespace

/// Begins the step of a job, or starts it over when what was in its way has gone.
Jobs::Progress Jobs::begin_child_step(Job& job, Turn& turn) {
  const ServiceBlock& block = graph_->at(job.step().service);
  const Duration time = step_time(*block.process->foreground, job.step().kind, graph_->settings->limits);
  const RunningAction* const own =
      programs_.find(job.run.action());  // that an earlier daemon has begun: its time counts from then
  job.run.deadline = own == nullptr ? turn.now.mono + time : std::max(own->since + time, turn.now.mono + kLeastTime);
  job.run.extended = {};
  return judge_child_step(job, turn);
}

/// Where the step of a foreground process stands.
Jobs::Progress Jobs::judge_child_step(Job& job, Turn& turn, bool lasted) {
  const ServiceId id = job.step().service;
  const ServiceBlock& block = graph_->at(id);
  const ForegroundSpec& spec = *block.process->foreground;
  const ServiceState& state = services_[id.index()];
  const Child& child = *state.child;
  const bool acting = job.run.acting();
  const auto done = [&](std::string text) {
    if (acting) turn.record(RecordKind::JobStep, Severity::Info, block.name, std::move(text)).subject = job.id.number();
    return StepEnd::Done;
  };
  set_due(job, job.run.deadline);
  if (job.step().kind == Bringing::Stop) return child.exists() ? stop_child(job, turn) : done("stopped");
  if (!child.exists()) {
    if (job.run.action() == ActionId{}) return start_child(job, turn);
    set_cause(job, "failed to start: it " + child.last_end());
    return StepEnd::Failed;
  }
  if (child.is_former() && !state.last && !job.run.seen) {  // only an earlier daemon has seen it
    check(job, turn);
    return kWaits;
  }
  job.run.follow();
  if (!child.is_living()) return kWaits;  // its end, or its number, is told
  const Duration ready_at = child.about().since + spec.ready_after;
  if (!spec.by_notice && turn.now.mono >= ready_at) lasted = true;
  if (lasted) turn.tell(fact::ChildLasted{id});
  if (!child.is_ready() && !lasted) {
    if (!spec.by_notice) set_due(job, std::min(ready_at, job.run.deadline));
    return kWaits;
  }
  if (acting) turn.tell(fact::ServiceStarted{id, {}});
  turn.tell(fact::ChildServes{id});
  return done(fmt::format("started with pid {}", child.about().pid));
}

Jobs::Progress Jobs::stop_child(Job& job, Turn& turn) {
  const Child& child = *services_[job.step().service.index()].child;
  job.steps[job.position].acted = true;
  if (child.is_former()) return stop_former(job, turn);
  job.run.follow();
  turn.tell(fact::EndWanted{child.about().action});
  return kWaits;
}

Jobs::Progress Jobs::start_child(Job& job, Turn& turn) {
  const ServiceId id = job.step().service;
  const ForegroundSpec& spec = *graph_->at(id).process->foreground;
  if (waits_for_needed(job, turn)) return kWaits;
  if (const Progress without = left_out(job, turn)) return without;
  if (!clear_way(job, spec.command, turn)) return kWaits;
  if (services_[id.index()].starts->left_by != ActionId{} && !job.run.seen) {
    job.run.follow();
    check(job, turn);
    return kWaits;
  }
  if (waits_for_left(job, turn)) return kWaits;
  job.run.deadline = turn.now.mono + step_time(spec, job.step().kind, graph_->settings->limits);
  job.run.extended = {};
  set_due(job, job.run.deadline);
  run_program(job, spec.command, turn);
  turn.tell(fact::ChildBegun{id, job.run.action()});
  turn.tell(fact::LeftGone{id});
  return kWaits;
}

/// A process of former rules is to end: SIGTERM, SIGKILL when the first of the stop signals has had its time.
Jobs::Progress Jobs::stop_former(Job& job, Turn& turn) {
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
  if (const JobStepRun::Signalled* const sent = job.run.signalled(); sent == nullptr) {
    job.run.signal(former.pid, former.start_ticks);
    send(SIGTERM);
  } else if (turn.now.mono >= job.run.deadline - kSeenDeadGrace && !sent->killed) {
    job.run.kill();
    send(SIGKILL);
  }
  set_due(job, std::min(turn.now.mono + kFormerPause, job.run.deadline));
  return kWaits;
}

/// The time of a step is over.
void Jobs::child_overdue(Job& job, Turn& turn) {
  const ServiceBlock& block = graph_->at(job.step().service);
  const Child& child = *services_[job.step().service.index()].child;
  // Its word may have come while no healer was there to hear it.
  if (job.step().kind == Bringing::Start && child.state() == ChildState::Living && child.about().adopted)
    return go_on(job, judge_child_step(job, turn, true), turn);
  const RunningAction* const lacking = programs_.lacking(job.run.action());
  const Duration begun = job.run.deadline - job.run.extended -
                         step_time(*block.process->foreground, job.step().kind, graph_->settings->limits);
  const std::string time = format_duration(turn.now.mono - begun);
  if (const std::string known = job.run.failure(); !known.empty())
    set_cause(job, known);
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
  if (job.step().kind == Bringing::Start) turn.tell(fact::EndWanted{child.about().action});
  go_on(job, StepEnd::Failed, turn);
}

// ---- what is told -------------------------------------------------------------------------------------------------

void Jobs::child_reported(ServiceId id, Turn& turn) {
  if (!is_at(id)) return;
  Job& job = jobs_.at(services_[id.index()].job->number());
  go_on(job, judge_child_step(job, turn), turn);
}

void Jobs::child_ended(ServiceId id, ActionId action, Turn& turn) {
  Job& job = jobs_.at(services_[id.index()].job->number());
  const bool own = job.run.action() == action || job.step().kind == Bringing::Stop;
  go_on(job, own ? judge_child_step(job, turn) : begin_step(job, turn), turn);
}

void Jobs::child_extended(ServiceId id, Duration by, Instant now) {
  if (!is_at(id)) return;
  Job& job = jobs_.at(services_[id.index()].job->number());
  if (!job.run.acting()) return;
  const Duration deadline = now.mono + by + (job.step().kind == Bringing::Stop ? kSeenDeadGrace : Duration{0});
  if (deadline <= job.run.deadline) return;
  const bool waits_for_it = job.run.due == job.run.deadline;
  job.run.extended += deadline - std::exchange(job.run.deadline, deadline);
  if (waits_for_it) set_due(job, deadline);
}

}  // namespace healer::engine
