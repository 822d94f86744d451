// SPDX-License-Identifier: MIT
// How jobs begin and end, and what is seen of them.
#include "engine/parts/bringing/jobs.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/parts/bringing/children.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/commands.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/programs.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostListed = 20;

bool anyone(ServiceId) { return true; }

/// Whether both are the same healing, in whichever run of a step.
bool same_healing(const Origin& a, const Origin& b) {
  const auto* const healing = std::get_if<ByHealing>(&a);
  return healing != nullptr && is_healing(b, healing->id);
}

}  // namespace

// ---- view ---------------------------------------------------------------------------------------------------------

const Job* Jobs::find(JobId id) const {
  const auto found = jobs_.find(id.number());
  return found == jobs_.end() ? nullptr : &found->second;
}

const Job* Jobs::of(ServiceId id) const {
  const Rare<JobId>& job = services_[id.index()].job;
  return job ? &jobs_.at(job->number()) : nullptr;
}

bool Jobs::is_at(ServiceId id) const {
  const Job* const job = of(id);
  return job != nullptr && job->step().service == id;
}

std::optional<Duration> Jobs::next() const { return due_.empty() ? std::nullopt : std::optional(due_.begin()->first); }

std::string Jobs::in_the_way(ServiceId id, ActionKind kind) const {
  const auto busy = [this](ServiceId other) {
    const Job& job = *of(other);
    return fmt::format("the {} of {} is under way", to_string(job.kind), graph_->at(job.service).name);
  };
  for (const ServiceId dependent : dependents_of(*graph_, id))
    if (kind != ActionKind::Start && of(dependent) != nullptr) return busy(dependent);
  if (kind == ActionKind::Stop) return {};
  for (const ServiceId needed : requirements_of(*graph_, id)) {
    if (of(needed) != nullptr) return busy(needed);
    // Nobody knows how it is. As in Monit, a rule does not start what needs it.
    if (!services_[needed.index()].monitored)
      return fmt::format("it depends on {}, which is not monitored", graph_->at(needed).name);
  }
  return starts_.missing_requirement(id);
}

std::string Jobs::busy_with(ActionKind kind, const std::vector<ServiceId>& services) const {
  if (kind == ActionKind::Restart)
    for (const ServiceId id : services)
      if (!graph_->at(id).can_start()) return "it has no start program";
  for (const JobStep& step : plan_steps(*graph_, kind, services, anyone))
    if (const Job* const job = of(step.service); job != nullptr && !is_rule(job->by))
      return fmt::format("the {} of {} is under way (job {})", to_string(job->kind), graph_->at(job->service).name,
                         job->id.number());
  return {};
}

Jobs::Plan Jobs::plan(const JobOrder& order, Instant now) const {
  Plan plan;
  plan.steps = plan_steps(*graph_, order.kind, order.services, [&](ServiceId id) {
    // What could not be started again is not stopped because of another; nor is, by a rule or a healing, what a person
    // paused, or what is passive.
    const bool by_rule = is_rule(order.by) || is_healing(order.by);
    const bool held = pauses_.in_force(id, now);
    if (order.kind == ActionKind::Stop) return !by_rule || !held;
    const bool passive = graph_->at(id).activity == ServiceBlock::Activity::Passive;
    return services_[id.index()].monitored && !held && !(by_rule && passive) && graph_->at(id).can_start();
  });
  // What it depends on is up, or a rule would not start it; what is no process is not started because of others
  // as long as it is monitored; and what a rule's job brings up already is waited for.
  std::erase_if(plan.steps, [&](const JobStep& step) {
    if (order.kind != ActionKind::Start || step.named) return false;
    if (!is_rule(order.by) && is_brought_up(step.service)) {
      plan.monitored.push_back(step.service);
      return true;
    }
    return is_rule(order.by) || (!graph_->at(step.service).has_process() && services_[step.service.index()].monitored);
  });
  if (order.kind == ActionKind::Restart && !is_rule(order.by)) {
    const std::vector<JobStep> needed = needed_first(order, plan);
    plan.steps.insert(plan.steps.begin(), needed.begin(), needed.end());
  }
  return plan;
}

/// What is to be restarted for a person needs other services: these are monitored again, as in Monit, and those that
/// are not known to run are started before anything is stopped.
std::vector<JobStep> Jobs::needed_first(const JobOrder& order, Plan& plan) const {
  std::vector<bool> restarted(services_.size());
  for (const JobStep& step : plan.steps) restarted[step.service.index()] = true;
  std::vector<JobStep> needed;
  for (const ServiceId id : with_requirements(*graph_, order.services)) {
    if (restarted[id.index()]) continue;
    const ServiceState& state = services_[id.index()];
    const bool runs = state.monitored && (!graph_->at(id).has_process() || starts_.is_up(id));
    if (!runs && !state.job && graph_->at(id).can_start()) needed.push_back({id, Bringing::Start});
    plan.monitored.push_back(id);
  }
  return needed;
}

bool Jobs::is_taken_up(const effect::SavedJob& job) const {
  const Settings& settings = *graph_->settings;
  return !settings.shadow && !settings.dry_run && job.cause != nullptr && job.position < job.steps.size() &&
         graph_->find(job.service) && std::ranges::all_of(job.steps, [this](const effect::SavedStep& step) {
           return graph_->find(step.service).has_value();
         });
}

effect::SavedJob Jobs::saved(const Job& job, Instant now) const {
  effect::SavedJob out{.job = job.id,
                       .kind = job.kind,
                       .service = graph_->at(job.service).name,
                       .steps = {},
                       .position = job.position,
                       .action = job.run.action(),
                       .unmonitor = job.unmonitor,
                       .by = job.by,
                       .cause = job.cause,
                       .begun = job.begun_at(now)};
  out.steps.reserve(job.steps.size());
  for (const JobStep& step : job.steps) out.steps.push_back({graph_->at(step.service).name, step.kind, step.named});
  return out;
}

void Jobs::save(Turn& turn) const {
  std::ranges::sort(turn.changed_jobs);
  const auto twice = std::ranges::unique(turn.changed_jobs);
  turn.changed_jobs.erase(twice.begin(), twice.end());
  for (const JobId id : turn.changed_jobs)
    if (const Job* const job = find(id)) turn.commit().jobs.push_back(saved(*job, turn.now));
  std::ranges::sort(turn.moved_jobs);
  const auto again = std::ranges::unique(turn.moved_jobs);
  turn.moved_jobs.erase(again.begin(), again.end());
  for (const JobId id : turn.moved_jobs)
    if (const Job* const job = find(id); job != nullptr && !std::ranges::binary_search(turn.changed_jobs, id))
      turn.commit().moved_jobs.push_back(
          {.job = id, .position = job->position, .action = job->run.action(), .begun = job->begun_at(turn.now)});
}

// ---- begin --------------------------------------------------------------------------------------------------------

JobId Jobs::begin(JobOrder order, std::vector<JobStep> steps, Turn& turn) {
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
    services_[step.service.index()].job = id;
    if (listed.size() < kMostListed) listed.push_back(describe_step(*graph_, step));
  }
  if (listed.size() < job.steps.size()) listed.emplace_back("...");
  turn.record(RecordKind::JobStarted, Severity::Info, graph_->at(job.service).name,
              fmt::format("{} by {}: {}", to_string(job.kind), words_of(job.by), fmt::join(listed, ", ")))
      .subject = id.number();
  turn.save(id);
  return id;
}

void Jobs::go(JobId id, Turn& turn) {
  const auto found = jobs_.find(id.number());
  if (found != jobs_.end()) go_on(found->second, begin_step(found->second, turn), turn);
}

bool Jobs::join_healing(const BringOrder& order) {
  for (auto& [id, job] : jobs_) {
    if (!same_healing(job.by, order.by) || job.kind != order.kind ||
        std::ranges::find(order.services, job.service) == order.services.end())
      continue;
    job.asked_by.push_back(order.requester);
    return true;
  }
  return false;
}

Jobs::Joined Jobs::join(ActionKind kind, std::vector<ServiceId>& services, const Requester& requester, Turn& turn) {
  Joined out;
  if (kind == ActionKind::Stop) return out;
  const Job* const first = of(services.front());
  const bool restarted = kind == ActionKind::Restart && std::ranges::all_of(services, [&](ServiceId id) {
                           return is_brought_up(id) && of(id) == first && restarts_yet(*first, id);
                         });
  std::vector<JobId> joined;
  std::erase_if(services, [&](ServiceId id) {
    if (!restarted && (kind == ActionKind::Restart || !is_brought_up(id))) return false;
    Job& known = jobs_.at(services_[id.index()].job->number());
    if (std::ranges::find(joined, known.id) == joined.end()) {
      joined.push_back(known.id);
      known.asked_by.push_back(requester);
    }
    out.services.push_back(id);
    if (kind == ActionKind::Start) return true;
    for (JobStep& step : known.steps) step.named = step.named || step.service == id;
    turn.save(known.id);
    return true;
  });
  out.jobs = static_cast<std::uint32_t>(joined.size());
  return out;
}

/// Whether a rule's job has brought the service up, or has yet to; not where it has died after its step.
bool Jobs::is_brought_up(ServiceId id) const {
  const Job* const known = of(id);
  if (known == nullptr || !is_rule(known->by) || known->kind == ActionKind::Stop) return false;
  if (starts_.is_up(id) || !graph_->at(id).has_process()) return true;
  const auto ahead = std::span(known->steps).subspan(known->position);
  return std::ranges::any_of(ahead,
                             [id](const JobStep& step) { return step.service == id && step.kind != Bringing::Stop; });
}

/// Whether what is left of a job restarts a service: it is started after now, by a program that has not begun yet.
bool Jobs::restarts_yet(const Job& job, ServiceId id) const {
  const auto ahead = std::span(job.steps).subspan(job.position + 1);
  const auto yet = [&](Bringing kind) {
    return std::ranges::any_of(ahead, [&](const JobStep& step) { return step.service == id && step.kind == kind; });
  };
  const bool stops = yet(Bringing::Stop) || (job.step().service == id && job.step().kind == Bringing::Stop);
  return yet(Bringing::Restart) || (yet(Bringing::Start) && (stops || !starts_.is_up(id)));
}

// ---- ends ---------------------------------------------------------------------------------------------------------

void Jobs::end(Job& living, StepEnd how, Turn& turn) {
  const bool good = how == StepEnd::Done;
  set_due(living, std::nullopt);
  const auto ended = std::make_shared<Job>(std::move(living));
  Job& job = *ended;
  jobs_.erase(job.id.number());
  if (job.run.check) turn.sink.emit(effect::CancelRun{job.step().service, *job.run.check});
  turn.commit().ended_jobs.push_back(job.id);
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const ServiceId id = job.steps[i].service;
    services_[id.index()].job.reset();
    // What has recovered is known at once, not a cycle later; nor is a death meanwhile, nor what was left down.
    if (services_[id.index()].presence.is_gone())
      turn.tell(fact::LookWanted{id, Reason::Death, turn.now.mono});
    else if (good || job.cancelled ? i < job.position && job.steps[i].kind != Bringing::Stop : id != job.step().service)
      turn.tell(fact::LookWanted{id, Reason::Again, turn.now.mono});
    turn.save(id);
  }
  if (good) {
    turn.record(RecordKind::JobEnded, Severity::Info, graph_->at(job.service).name,
                fmt::format("{} done after {}", to_string(job.kind), format_duration(turn.now.mono - job.begun)))
        .subject = job.id.number();
  } else {
    const JobStep& failed = job.step();
    if (failed.kind != Bringing::Stop && !job.cancelled) {
      const std::string left = leftovers_.over(failed.service);
      if (!left.empty() && job.failure.find(left) == std::string::npos) job.failure += "; " + left;
    }
    record_failure(job, turn);
  }
  turn.tell(fact::JobEnded{ended, good});
}

void Jobs::record_failure(const Job& job, Turn& turn) const {
  const std::string& name = graph_->at(job.service).name;
  turn.record(RecordKind::JobFailed, Severity::Error, name,
              fmt::format("{} failed: {}", to_string(job.kind), job.failure))
      .subject = job.id.number();
  const std::string blocker = job.step().service == job.service ? name + " " : "";
  for (const JobStep& step : std::span(job.steps).subspan(job.position + 1))
    if (step.kind != Bringing::Stop)
      turn.record(RecordKind::JobHeld, Severity::Warning, graph_->at(step.service).name,
                  fmt::format("not {}ed: {}{}", verb(step.kind), blocker, job.failure));
}

void Jobs::fail(JobId id, const std::string& why, bool cancelled, Turn& turn) {
  const auto found = jobs_.find(id.number());
  if (found == jobs_.end()) return;
  Job& job = found->second;
  job.cancelled = job.cancelled || cancelled;
  if (const ActionId program = job.run.running(); program != ActionId{}) turn.tell(fact::EndWanted{program});
  job.failure = why;
  job.end_requested = true;
  go_on(job, StepEnd::Failed, turn);
}

void Jobs::end_of_rules(ActionKind kind, const std::vector<ServiceId>& services, const Origin& by, Turn& turn) {
  const std::vector<JobStep> steps = plan_steps(*graph_, kind, services, anyone);
  std::vector<bool> wanted(services_.size());
  for (const JobStep& step : steps) wanted[step.service.index()] = true;
  for (const JobStep& step : steps) {
    const Rare<JobId>& id = services_[step.service.index()].job;
    if (!id || !is_rule(jobs_.at(id->number()).by)) continue;
    if (kind == ActionKind::Start && is_brought_up(step.service)) continue;
    Job& job = jobs_.at(id->number());
    const std::string why = fmt::format("ended for the {} by {}", to_string(kind), words_of(by));
    if (!wanted[job.service.index()] && !wanted[job.step().service.index()])
      cut(job, wanted, why, turn);
    else
      fail(job.id, why, true, turn);
  }
}

/// Takes these services, by slot, out of a job of which they are neither the reason nor the step under way.
void Jobs::cut(Job& job, const std::vector<bool>& out, const std::string& why, Turn& turn) {
  const auto goes = [&](ServiceId id) { return out[id.index()]; };
  std::vector<Requester> waiting;
  for (const Requester& requester : std::exchange(job.asked_by, {})) {
    const PendingCommand* const found = commands_.find(requester);
    if (found == nullptr) continue;
    const std::vector<ServiceId>& asked = found->order.services;
    if (const auto gone = std::ranges::find_if(asked, goes); gone == asked.end())
      waiting.push_back(requester);
    else
      turn.tell(fact::OrderFailed{requester, *gone, fmt::format("{}: {}", graph_->at(*gone).name, why)});
  }
  job.asked_by = std::move(waiting);
  const auto done = job.steps.begin() + job.position;
  const auto before = std::count_if(job.steps.begin(), done, [&](const JobStep& step) { return goes(step.service); });
  std::vector<std::string> names;
  for (const JobStep& step : job.steps) {
    Rare<JobId>& its = services_[step.service.index()].job;
    if (!goes(step.service) || !its) continue;
    its.reset();
    if (names.size() < kMostListed) names.push_back(graph_->at(step.service).name);
  }
  turn.record(RecordKind::JobStep, Severity::Info, graph_->at(job.service).name,
              fmt::format("its {} goes on without {}: {}", to_string(job.kind), fmt::join(names, ", "), why))
      .subject = job.id.number();
  std::erase_if(job.steps, [&](const JobStep& step) { return goes(step.service); });
  job.position -= static_cast<std::uint32_t>(before);
  turn.save(job.id);
}

// ---- life ---------------------------------------------------------------------------------------------------------

std::optional<JobId> Jobs::restore(const effect::SavedJob& saved, Turn& turn) {
  Job job{.id = saved.job,
          .kind = saved.kind,
          .service = graph_->find(saved.service).value_or(ServiceId{}),
          .unmonitor = saved.unmonitor,
          .by = saved.by,
          .cause = saved.cause};
  for (const effect::SavedStep& step : saved.steps) {
    const auto id = graph_->find(step.service);
    if (id) job.steps.push_back({*id, step.kind, step.named});
  }
  const bool whole = is_taken_up(saved) && std::ranges::none_of(job.steps, [this](const JobStep& step) {
                       return services_[step.service.index()].job.has_value();
                     });
  if (!whole) {
    turn.commit().ended_jobs.push_back(saved.job);
    turn.record(RecordKind::JobFailed, Severity::Warning, saved.service,
                fmt::format("{} is not resumed: its services are gone, or healer only watches", to_string(saved.kind)));
    return std::nullopt;
  }
  job.position = saved.position;
  if (saved.action != ActionId{}) job.run.run(saved.action);
  job.begun = turn.now.mono - std::max(turn.now.wall - saved.begun, Duration{0});
  for (const JobStep& step : job.steps) services_[step.service.index()].job = job.id;
  Job& living = jobs_[saved.job.number()] = std::move(job);
  turn.record(RecordKind::JobStarted, Severity::Info, saved.service,
              fmt::format("{} goes on: {}", to_string(living.kind), describe_step(*graph_, living.step())))
      .subject = living.id.number();
  return living.id;
}

void Jobs::forget_waits(const std::set<ServiceId>& changed) {
  for (auto& [number, job] : jobs_)
    if (const std::optional<ServiceId> other = job.run.awaited(); other && changed.contains(*other))
      job.run.await_no_more();
}

}  // namespace healer::engine
