// SPDX-License-Identifier: MIT
#include "engine/events/effect.hpp"

#include <algorithm>

#include "engine/rules/service.hpp"
#include "util/text.hpp"

namespace healer::engine {

namespace {

auto key_of(const TargetMemory& memory) { return std::pair(to_lower(memory.target), memory.rehearsed); }
auto key_of(const WorkflowMemory& memory) { return to_lower(memory.workflow); }

/// Puts it in its place among those in the order of their keys.
template <typename Memory>
void keep_sorted(std::vector<Memory>& all, const Memory& memory) {
  const auto key = [](const Memory& one) { return key_of(one); };
  const auto place = std::ranges::lower_bound(all, key_of(memory), {}, key);
  if (place != all.end() && key_of(*place) == key_of(memory)) {
    *place = memory;
  } else {
    all.insert(place, memory);
  }
}

void keep_healings(SavedState& state, const effect::Commit& commit) {
  for (const Healing& healing : commit.healings) {
    state.last_id = std::max(state.last_id, healing.id.number());
    const auto place = std::ranges::lower_bound(state.healings, healing.id, {}, &Healing::id);
    if (place != state.healings.end() && place->id == healing.id) {
      *place = healing;
    } else {
      state.healings.insert(place, healing);
    }
  }
  for (const HealingId id : commit.ended_healings)
    std::erase_if(state.healings, [&](const Healing& healing) { return healing.id == id; });
  for (const auto& [target, rehearsed] : commit.forgotten_targets)
    std::erase_if(state.healing.targets, [&, rehearsed = rehearsed, &target = target](const TargetMemory& memory) {
      return iequals(memory.target, target) && memory.rehearsed == rehearsed;
    });
  for (const TargetMemory& memory : commit.targets) keep_sorted(state.healing.targets, memory);
  for (const WorkflowMemory& memory : commit.workflows) keep_sorted(state.healing.workflows, memory);
  if (commit.closed_brakes) state.healing.closed = *commit.closed_brakes;
}

}  // namespace

void keep(SavedState& state, const effect::Commit& commit) {
  state.last_sequence = commit.sequence;
  if (commit.wide_pauses) state.wide_pauses = *commit.wide_pauses;
  for (const auto& name : commit.forgotten) state.services.erase(name);
  for (const auto& [name, service] : commit.services) state.services[name] = service;
  for (const effect::Remembered& run : commit.remembered)
    if (const auto service = state.services.find(run.service); service != state.services.end())
      for (const Baseline& baseline : run.changed) service->second.memory.put(baseline);
  for (const auto& [name, heartbeat] : commit.heartbeats)
    if (const auto service = state.services.find(name); service != state.services.end())
      service->second.heartbeat = heartbeat;
  for (const Occurrence& event : commit.occurrences) {
    state.last_id = std::max(state.last_id, event.number);
    const auto place = std::ranges::lower_bound(state.occurrences, event.number, {}, &Occurrence::number);
    const bool is_known = place != state.occurrences.end() && place->number == event.number;
    Occurrence& kept = is_known ? *place : *state.occurrences.insert(place, Occurrence{});
    const auto document = event.document == nullptr ? kept.document : event.document;
    kept = event;
    kept.document = document != nullptr && document->empty() ? nullptr : document;
  }
  for (const std::uint64_t number : commit.forgotten_occurrences)
    std::erase_if(state.occurrences, [&](const Occurrence& event) { return event.number == number; });
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
  issued(commit.ended_healings);
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
  keep_healings(state, commit);
  for (const Record& record : commit.records) {
    state.seen = record.when;
    state.last_record = std::max(state.last_record, record.id);
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
