// SPDX-License-Identifier: MIT
#include "engine/effect.hpp"

#include <algorithm>

#include "engine/service.hpp"

namespace healer::engine {

void keep(SavedState& state, const effect::Commit& commit) {
  state.last_sequence = commit.sequence;
  for (const auto& name : commit.forgotten) state.services.erase(name);
  for (const auto& [name, service] : commit.services) state.services[name] = service;
  for (const auto& act : commit.pending) {
    if (const auto* exec = std::get_if<effect::Exec>(&act)) {
      state.execs.push_back({*exec, false});
      state.last_id = std::max(state.last_id, exec->action.number());
    } else {
      state.alerts.push_back(std::get<effect::Alert>(act));
      state.last_id = std::max(state.last_id, state.alerts.back().alert.number());
    }
  }
  const auto issued = [&state](const auto& ids) {
    for (const auto id : ids) state.last_id = std::max(state.last_id, id.number());
  };
  issued(commit.started);
  issued(commit.ended);
  issued(commit.handed_over);
  issued(commit.ended_jobs);
  for (const ActionId id : commit.started)
    for (PendingExec& pending : state.execs) pending.started = pending.started || pending.exec.action == id;
  for (const ActionId id : commit.ended)
    std::erase_if(state.execs, [&](const PendingExec& pending) { return pending.exec.action == id; });
  for (const AlertId id : commit.handed_over)
    std::erase_if(state.alerts, [&](const effect::Alert& alert) { return alert.alert == id; });
  for (const effect::SavedJob& job : commit.jobs) {
    state.last_id = std::max(state.last_id, job.job.number());
    const auto place = std::ranges::lower_bound(state.jobs, job.job, {}, &effect::SavedJob::job);
    if (place != state.jobs.end() && place->job == job.job) {
      *place = job;
    } else {
      state.jobs.insert(place, job);
    }
  }
  for (const effect::MovedJob& moved : commit.moved_jobs) {
    const auto place = std::ranges::lower_bound(state.jobs, moved.job, {}, &effect::SavedJob::job);
    if (place != state.jobs.end() && place->job == moved.job) move(*place, moved);
  }
  for (const JobId id : commit.ended_jobs)
    std::erase_if(state.jobs, [&](const effect::SavedJob& job) { return job.job == id; });
  for (const Record& record : commit.records) {
    if (record.kind == RecordKind::DaemonStarted) state.boot = record.subject;
    if (record.kind == RecordKind::DaemonStopped) {
      state.died.reset();  // what is recorded after it, of mails and runs that end, is of a life in good order
    } else if (record.kind == RecordKind::DaemonStarted || state.died) {
      state.died = record.when;
    }
  }
}

void move(effect::SavedJob& job, const effect::MovedJob& moved) {
  job.position = moved.position;
  job.action = moved.action;
  job.begun = moved.begun;
}

}  // namespace healer::engine
