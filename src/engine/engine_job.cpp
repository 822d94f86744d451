// SPDX-License-Identifier: MIT
// Starts, stops and restarts: what rules, people and healings want of them, and what comes of their end. How a job goes
// from step to step is parts/bringing/jobs'.
#include <algorithm>
#include <map>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"
#include "engine/words/cause.hpp"

namespace healer::engine {
namespace {

/// Of a job that a person, or a healing, asks for.
std::shared_ptr<const effect::Cause> cause_of(ActionKind kind, const std::string& service, const Origin& by,
                                              Instant now) {
  auto cause = std::make_shared<effect::Cause>();
  cause->service = service;
  cause->event = EventKind::Action;
  cause->state = effect::Cause::State::Succeeded;
  cause->event_text = kind == ActionKind::Stop ? "Stopped" : kind == ActionKind::Start ? "Started" : "Restarted";
  cause->action_text = to_string(kind);
  cause->description = fmt::format("{} by {}", cause->event_text, words_of(by));
  cause->when = now.wall;
  return cause;
}

}  // namespace

// ---- begin --------------------------------------------------------------------------------------------------------

/// A rule wants its service started, stopped or restarted: now, if nothing is in the way; else this is recorded, and
/// tried again when that has gone (`again`; actions on a recovery or a change come once).
void Engine::want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, bool again,
                      Turn& turn) {
  if (jobs_.of(id) != nullptr) return;
  std::string why = jobs_.in_the_way(id, kind);
  const auto& last = services_[id.index()].last;
  if (why.empty() && kind != ActionKind::Stop && last) why = left_to_systemd(*last);
  // What waits for another service is neither restarted nor held back for what it did itself.
  if (why.empty() && kind != ActionKind::Stop) {
    starts_.want(id, turn);
    why = starts_.own_obstacle(id, turn.now);
  }
  if (why.empty()) return begin_job({.kind = kind, .services = {id}, .by = ByRule{}, .cause = std::move(cause)}, turn);
  if (kind != ActionKind::Stop) starts_.check_needed(id, turn);
  if (!again) {
    turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name,
                fmt::format("{} not done: {}", to_string(kind), why));
    return;
  }
  if (const auto wait = starts_.backing_off(id, turn.now); wait && kind != ActionKind::Stop)
    timetable_.check_later(id, Reason::Again, turn.now.mono + *wait);
  if (starts_.wait(id, why))
    turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(id).name,
                fmt::format("{} waits: {}", to_string(kind), why));
}

void Engine::begin_job(JobOrder order, Turn& turn) {
  Jobs::Plan plan = jobs_.plan(order, turn.now);
  for (const ServiceId id : plan.monitored) monitor(id, order.by, turn);
  const bool monitors = order.kind == ActionKind::Start && !is_rule(order.by);
  for (const JobStep& step : plan.steps) {
    starts_.wait_no_more(step.service);
    cancel_flight(step.service, turn);
    commands_.run_ended(step.service, true, turn);  // what is being started or stopped is not in order
    if (monitors) monitor(step.service, order.by, turn);
  }
  std::set<ServiceId> stopped;
  if (order.kind == ActionKind::Stop && is_person(order.by))
    for (const JobStep& step : plan.steps) stopped.insert(step.service);
  const std::string by = words_of(order.by);
  const std::optional<Requester> requester = order.asked_by;
  const JobId job = jobs_.begin(std::move(order), std::move(plan.steps), turn);
  if (!stopped.empty()) {
    const std::vector<std::string> ended = healing_.take_away(stopped, fmt::format("stopped by {}", by), turn);
    if (requester) commands_.note_ended(*requester, ended);
    drain(turn);
  }
  jobs_.go(job, turn);
  drain(turn);
}

/// start, stop, restart: services that depend on each other go as one job, the others side by side.
void Engine::command_jobs(BringOrder order, Turn& turn) {
  if (graph_->settings->shadow || graph_->settings->dry_run) {
    return turn.answer(order.requester, false,
                       graph_->settings->shadow ? "healer only watches (shadow): nothing is started or stopped"
                                                : "this is a dry run: nothing is started or stopped");
  }
  // The job of a healing's step has outlived a restart of healer: the step waits for its end.
  if (std::holds_alternative<HealingRun>(order.requester) && jobs_.join_healing(order))
    return commands_.begin({.order = std::move(order), .outstanding = 1});
  // Among several, what is no process and has no program is left as it is, as by Monit.
  const bool nothing = order.services.size() == 1 && graph_->block(order.services.front()) != nullptr &&
                       starts_nothing(*graph_, order.services.front());
  if (nothing && order.kind == ActionKind::Restart)
    return turn.answer(order.requester, false,
                       fmt::format("{}: it has no start program", graph_->at(order.services.front()).name));
  const std::vector<std::uint32_t> clusters = clusters_of(*graph_);
  std::map<std::uint32_t, std::vector<ServiceId>> by_cluster;
  for (const ServiceId id : order.services) {
    if (graph_->block(id) == nullptr) continue;
    // Among several, a process that nothing could start again is left running, too.
    if (order.kind == ActionKind::Restart && order.services.size() > 1 &&
        (!graph_->at(id).can_start() || starts_nothing(*graph_, id)))
      monitor(id, order.by, turn);
    else
      by_cluster[clusters[id.index()]].push_back(id);
  }
  PendingCommand pending{.order = order};
  pending.outstanding = static_cast<std::uint32_t>(by_cluster.size());
  if (by_cluster.empty()) return commands_.answer_idle(pending, turn);
  commands_.begin(std::move(pending));
  for (auto& [cluster, services] : by_cluster) command_cluster(order, std::move(services), turn);
}

/// Of services that depend on each other.
void Engine::command_cluster(const BringOrder& order, std::vector<ServiceId> services, Turn& turn) {
  const ActionKind kind = order.kind;
  const Jobs::Joined joined = jobs_.join(kind, services, order.requester, turn);
  for (const ServiceId id : joined.services) monitor(id, order.by, turn);  // it may have been taken out meanwhile
  commands_.await_jobs(order.requester, joined.jobs);
  if (services.empty()) return commands_.await_jobs(order.requester, -1);
  if (const std::string why = jobs_.busy_with(kind, services); !why.empty())
    return commands_.job_ended(order.requester, services.front(),
                               fmt::format("{}: {}", graph_->at(services.front()).name, why), turn);
  jobs_.end_of_rules(kind, services, order.by, turn);
  drain(turn);
  for (const ServiceId id : services) {
    starts_.begin_afresh(id, turn);
    if (kind == ActionKind::Restart) monitor(id, order.by, turn);
  }
  auto cause = cause_of(kind, graph_->at(services.front()).name, order.by, turn.now);
  begin_job({.kind = kind,
             .services = std::move(services),
             .by = order.by,
             .cause = std::move(cause),
             .asked_by = order.requester},
            turn);
}

void Engine::cancel_job(const event::Command& command, Turn& turn) {
  const bool known = jobs_.find(command.job) != nullptr;
  if (!known && healing_.cancel(command, turn)) return;
  if (!known) return programs_.cancel(command, turn);
  jobs_.fail(command.job, fmt::format("cancelled by {}", words_of(command.by)), true, turn);
  drain(turn);
  turn.replies.push_back({command.id, true, fmt::format("job {} cancelled", command.job.number())});
}

/// Jobs of an earlier daemon go on where they were: at the program of their step where that is known, else by a look.
void Engine::restore_jobs(Turn& turn) {
  const bool rebooted = life_.found.boot != 0 && life_.found.boot != turn.now.boot;
  for (const effect::SavedJob& saved : life_.found.jobs) {
    const std::optional<JobId> id = jobs_.restore(saved, turn);
    if (!id) continue;
    bool anew = rebooted;  // no program outlives that
    const ActionId action = rebooted ? ActionId{} : saved.action;
    if (const ServiceId service = jobs_.find(*id)->step().service; graph_->at(service).foreground()) {
      if (children_.of(service).is(action)) children_.resume(service);
      if (!children_.of(service).exists() && action != ActionId{}) {  // of its former rules
        starts_.note_left(service, action, turn);
        anew = true;
      }
    }
    jobs_.go_on_restored(*id, anew, turn);
    drain(turn);
  }
}

// ---- what jobs tell -----------------------------------------------------------------------------------------------

void Engine::on(const fact::CheckWanted& fact, Turn& turn) {
  const Job* const job = jobs_.find(fact.job);
  if (job == nullptr || job->step().service != fact.service) return;
  const RunId run = timetable_.new_run();
  jobs_.checks(fact.job, run);
  ask(fact.service, run, turn);
}

void Engine::on(const fact::JobEnded& fact, Turn& turn) {
  const Job& job = *fact.job;
  std::vector<ServiceId> ended;
  for (const JobStep& step : job.steps) ended.push_back(step.service);
  starts_.wake_waiting(ended, turn);
  healing_.reevaluate(turn);
  // After a completed job the count of the rules that asked for it begins again; not where its work was undone before
  // it had ended.
  if ((fact.good && !services_[job.service.index()].presence.is_gone()) || job.cancelled) rules_.job_done(job.service);
  if (fact.good && job.unmonitor) {
    const TakenOut how = is_rule(job.by) ? Monitoring::by_rule(*job.cause, turn.now)
                                         : TakenOut{.by = job.by, .service = {}, .rule = {}, .since = turn.now.wall};
    for (const JobStep& step : job.steps) unmonitor_one(step.service, how, turn);
  }
  if (!fact.good && job.step().kind != Bringing::Stop) {
    if (!job.cancelled) starts_.note_failed(job.step().service, job.failure, turn);
    if (const ActionId program = job.run.action(); program != ActionId{})
      starts_.note_left(job.step().service, program, turn.now);
  }
  failures_.note(job, fact.good, turn);
  alerts_.report_end(job, fact.good, starts_, turn);
  commands_.note_touched(job, fact.good);
  for (const Requester& requester : job.asked_by)
    commands_.job_ended(requester, job.service,
                        fact.good ? std::string{} : fmt::format("{}: {}", graph_->at(job.service).name, job.failure),
                        turn);
}

}  // namespace healer::engine
