// SPDX-License-Identifier: MIT
// The commands of people that become jobs: start, stop, restart, and the cancelling of one; what people hear of jobs.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "engine/rules/settings.hpp"
#include "engine/turn.hpp"

namespace healer::engine {
namespace {

constexpr std::size_t kMostNamed = 20;

ActionKind kind_of(event::Command::Kind kind) {
  using Kind = event::Command::Kind;
  return kind == Kind::Start ? ActionKind::Start : kind == Kind::Stop ? ActionKind::Stop : ActionKind::Restart;
}

bool anyone(ServiceId) { return true; }

/// Whether both are the same healing, in whichever run of a step.
bool same_healing(const Origin& a, const Origin& b) {
  const auto* const healing = std::get_if<ByHealing>(&a);
  return healing != nullptr && is_healing(b, healing->id);
}

}  // namespace

/// start, stop, restart: services that depend on each other go as one job, the others side by side.
void Engine::command_jobs(const event::Command& command, Turn& turn) {
  const ActionKind kind = kind_of(command.kind);
  if (graph_->settings->shadow || graph_->settings->dry_run) {
    turn.replies.push_back({command.id, false,
                            graph_->settings->shadow ? "healer only watches (shadow): nothing is started or stopped"
                                                     : "this is a dry run: nothing is started or stopped"});
    return;
  }
  // The job of a healing's step has outlived a restart of healer: the step waits for its end.
  for (auto& [id, job] : jobs_) {
    if (!of_healing(command.id) || !same_healing(job.by, command.by) || job.kind != kind ||
        std::ranges::find(command.services, job.service) == command.services.end())
      continue;
    commands_.begin({.command = command, .outstanding = 1});
    job.asked_by.push_back(command.id);
    return;
  }
  // Among several, what is no process and has no program is left as it is, as by Monit.
  const bool nothing = command.services.size() == 1 && command.services.front().index() < services_.size() &&
                       graph_->slots[command.services.front().index()] &&
                       starts_nothing(*graph_, command.services.front());
  if (nothing && kind == ActionKind::Restart) {
    turn.replies.push_back(
        {command.id, false, fmt::format("{}: it has no start program", graph_->at(command.services.front()).name)});
    return;
  }
  const std::vector<std::uint32_t> clusters = clusters_of(*graph_);
  std::map<std::uint32_t, std::vector<ServiceId>> orders;
  for (const ServiceId id : command.services) {
    if (id.index() >= services_.size() || !graph_->slots[id.index()]) continue;
    // Among several, a process that nothing could start again is left running, too.
    if (kind == ActionKind::Restart && command.services.size() > 1 &&
        (!graph_->at(id).can_start() || starts_nothing(*graph_, id)))
      monitor(id, command.by, turn);
    else
      orders[clusters[id.index()]].push_back(id);
  }
  PendingCommand pending{.command = command};
  pending.outstanding = static_cast<std::uint32_t>(orders.size());
  if (orders.empty()) {
    return commands_.answer_idle(pending, turn);
  }
  commands_.begin(std::move(pending));
  for (auto& [cluster, services] : orders) {
    commands_.await_jobs(command.id, join(kind, services, command, turn));
    if (services.empty()) {
      commands_.await_jobs(command.id, -1);
      continue;
    }
    if (const std::string why = busy_with(kind, services); !why.empty()) {
      commands_.job_ended(command.id, services.front(), fmt::format("{}: {}", graph_->at(services.front()).name, why),
                          turn);
      continue;
    }
    end_rule_jobs(kind, services, command.by, turn);
    for (const ServiceId id : services) {
      Sparse<StartHistory>& starts = services_[id.index()].starts;
      starts = StartHistory{.left_by = starts->left_by};  // a person's word begins afresh
      turn.save(id);
      if (kind == ActionKind::Restart) monitor(id, command.by, turn);
    }
    auto cause = std::make_shared<effect::Cause>();
    cause->service = graph_->at(services.front()).name;
    cause->event = EventKind::Action;
    cause->state = effect::Cause::State::Succeeded;
    cause->event_text = kind == ActionKind::Stop ? "Stopped" : kind == ActionKind::Start ? "Started" : "Restarted";
    cause->action_text = to_string(kind);
    cause->description = fmt::format("{} by {}", cause->event_text, words_of(command.by));
    cause->when = turn.now.wall;
    begin_job({.kind = kind,
               .services = std::move(services),
               .by = command.by,
               .cause = std::move(cause),
               .asked_by = command.id},
              turn);
  }
}

/// Where rules start these services already, a person who asks for the same waits for that. So does one who wants
/// restarts, where one job has them all, and they are not running any more, or are yet to be stopped. Those are taken
/// out of `services`; how many jobs are waited for.
std::uint32_t Engine::join(ActionKind kind, std::vector<ServiceId>& services, const event::Command& command,
                           Turn& turn) {
  if (kind == ActionKind::Stop) return 0;
  const Rare<JobId>& first = services_[services.front().index()].job;
  const bool restarted =
      kind == ActionKind::Restart && std::ranges::all_of(services, [&](ServiceId id) {
        return is_brought_up(id) && services_[id.index()].job == first && restarts_yet(jobs_.at(first->number()), id);
      });
  std::vector<JobId> joined;
  std::erase_if(services, [&](ServiceId id) {
    if (!restarted && (kind == ActionKind::Restart || !is_brought_up(id))) return false;
    Job& known = jobs_.at(services_[id.index()].job->number());
    if (std::ranges::find(joined, known.id) == joined.end()) {
      joined.push_back(known.id);
      known.asked_by.push_back(command.id);
    }
    monitor(id, command.by, turn);  // it may have been taken out meanwhile
    if (kind == ActionKind::Start) return true;
    for (JobStep& step : known.steps) step.named = step.named || step.service == id;
    turn.save(known.id);
    return true;
  });
  return static_cast<std::uint32_t>(joined.size());
}

/// Whether a rule's job has brought the service up, or has yet to; not where it has died after its step.
bool Engine::is_brought_up(ServiceId id) const {
  const Rare<JobId>& job = services_[id.index()].job;
  if (!job) return false;
  const Job& known = jobs_.at(job->number());
  if (!is_rule(known.by) || known.kind == ActionKind::Stop) return false;
  if (is_up(id) || !graph_->at(id).has_process()) return true;
  const auto ahead = std::span(known.steps).subspan(known.position);
  return std::ranges::any_of(ahead,
                             [id](const JobStep& step) { return step.service == id && step.kind != Bringing::Stop; });
}

/// Whether what is left of a job restarts a service: it is started after now, by a program that has not begun yet.
bool Engine::restarts_yet(const Job& job, ServiceId id) const {
  const auto ahead = std::span(job.steps).subspan(job.position + 1);
  const auto yet = [&](Bringing kind) {
    return std::ranges::any_of(ahead, [&](const JobStep& step) { return step.service == id && step.kind == kind; });
  };
  const bool stops = yet(Bringing::Stop) || (job.step().service == id && job.step().kind == Bringing::Stop);
  return yet(Bringing::Restart) || (yet(Bringing::Start) && (stops || !is_up(id)));
}

/// A person's word goes before a rule's: its jobs that are in the way are ended, or go on without what the person
/// wants, where that takes part because of another and is not under way.
void Engine::end_rule_jobs(ActionKind kind, const std::vector<ServiceId>& services, const Origin& by, Turn& turn) {
  const std::vector<JobStep> steps = plan_steps(*graph_, kind, services, anyone);
  std::vector<bool> wanted(services_.size());
  for (const JobStep& step : steps) wanted[step.service.index()] = true;
  for (const JobStep& step : steps) {
    const Rare<JobId>& id = services_[step.service.index()].job;
    if (!id || !is_rule(jobs_.at(id->number()).by)) continue;
    if (kind == ActionKind::Start && is_brought_up(step.service)) continue;
    Job& job = jobs_.at(id->number());
    const std::string why = fmt::format("ended for the {} by {}", to_string(kind), words_of(by));
    if (!wanted[job.service.index()] && !wanted[job.step().service.index()]) {
      cut_job(job, wanted, why, turn);
      continue;
    }
    job.cancelled = true;
    fail_job(*id, why, turn);
  }
}

/// Takes these services, by slot, out of a job of which they are neither the reason nor the step under way.
void Engine::cut_job(Job& job, const std::vector<bool>& out, const std::string& why, Turn& turn) {
  const auto goes = [&](ServiceId id) { return out[id.index()]; };
  std::vector<CommandId> waiting;
  for (const CommandId command : std::exchange(job.asked_by, {})) {
    const PendingCommand* const found = commands_.find(command);
    if (found == nullptr) continue;
    const std::vector<ServiceId>& asked = found->command.services;
    if (const auto gone = std::ranges::find_if(asked, goes); gone == asked.end())
      waiting.push_back(command);
    else
      commands_.job_ended(command, *gone, fmt::format("{}: {}", graph_->at(*gone).name, why), turn);
  }
  job.asked_by = std::move(waiting);
  const auto done = job.steps.begin() + job.position;
  const auto before = std::count_if(job.steps.begin(), done, [&](const JobStep& step) { return goes(step.service); });
  std::vector<std::string> names;
  for (const JobStep& step : job.steps) {
    Rare<JobId>& its = services_[step.service.index()].job;
    if (!goes(step.service) || !its) continue;
    its.reset();
    if (names.size() < kMostNamed) names.push_back(graph_->at(step.service).name);
  }
  turn.record(RecordKind::JobStep, Severity::Info, graph_->at(job.service).name,
              fmt::format("its {} goes on without {}: {}", to_string(job.kind), fmt::join(names, ", "), why))
      .subject = job.id.number();
  std::erase_if(job.steps, [&](const JobStep& step) { return goes(step.service); });
  job.position -= static_cast<std::uint32_t>(before);
  turn.save(job.id);
}

/// What is to be restarted for a person needs other services: these are monitored again, as in Monit, and those that
/// are not known to run are started before anything is stopped.
void Engine::start_needed_first(const JobOrder& order, std::vector<JobStep>& steps, Turn& turn) {
  std::vector<bool> restarted(services_.size());
  for (const JobStep& step : steps) restarted[step.service.index()] = true;
  std::vector<JobStep> needed;
  for (const ServiceId id : with_requirements(*graph_, order.services)) {
    if (restarted[id.index()]) continue;
    const ServiceState& state = services_[id.index()];
    const bool runs = state.monitored && (!graph_->at(id).has_process() || is_up(id));
    if (!runs && !state.job && graph_->at(id).can_start()) needed.push_back({id, Bringing::Start});
    monitor(id, order.by, turn);
  }
  steps.insert(steps.begin(), needed.begin(), needed.end());
}

/// Why a person's job for these services cannot begin; empty: it can, when the jobs of rules in its way are ended.
std::string Engine::busy_with(ActionKind kind, const std::vector<ServiceId>& services) const {
  if (kind == ActionKind::Restart)
    for (const ServiceId id : services)
      if (!graph_->at(id).can_start()) return "it has no start program";
  for (const JobStep& step : plan_steps(*graph_, kind, services, anyone))
    if (const auto& job = services_[step.service.index()].job; job && !is_rule(jobs_.at(job->number()).by))
      return fmt::format("the {} of {} is under way (job {})", to_string(jobs_.at(job->number()).kind),
                         graph_->at(jobs_.at(job->number()).service).name, job->number());
  return {};
}

/// Mails how a job ended. The failure is that of the service of its step, told once until that was started (or stopped,
/// where that was wanted), as by Monit.
void Engine::report_end(const Job& job, bool good, Turn& turn) {
  using State = effect::Cause::State;
  if (job.end_requested) return;
  const bool stops = job.kind == ActionKind::Stop;
  for (const JobStep& step : std::span(job.steps).first(job.position)) {
    const bool started = !graph_->at(step.service).has_process() || is_up(step.service);
    if (stops ? step.kind != Bringing::Stop : step.kind == Bringing::Stop || !started) continue;
    if (alerts_.turns_well(step.service))
      alerts_.send(step.service, *job.cause, EventKind::Exec, State::Succeeded, stops ? "stopped" : "started", turn);
  }
  if (!good && alerts_.turns_failed(job.step().service))
    alerts_.send(job.step().service, *job.cause, EventKind::Exec, State::Failed, job.failure, turn);
  if (good && !is_rule(job.by))
    alerts_.send(job.service, *job.cause, EventKind::Action, State::Succeeded,
                 fmt::format("{} action done", to_string(job.kind)), turn);
}

void Engine::cancel_job(const event::Command& command, Turn& turn) {
  const auto found = jobs_.find(command.job.number());
  if (found == jobs_.end() && cancel_healing(command, turn)) return;
  if (found == jobs_.end()) return programs_.cancel(command, turn);
  found->second.cancelled = true;
  fail_job(command.job, fmt::format("cancelled by {}", words_of(command.by)), turn);
  turn.replies.push_back({command.id, true, fmt::format("job {} cancelled", command.job.number())});
}

}  // namespace healer::engine
