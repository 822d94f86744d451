// SPDX-License-Identifier: MIT
#include "store/batch.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "util/text.hpp"

namespace healer::store {

using namespace engine;

namespace {

constexpr std::size_t kIdBytes = 48;  // a node of a set
constexpr std::size_t kMoveBytes = kIdBytes + sizeof(effect::MovedJob);

std::size_t size_of(const Record& record) {
  return sizeof record + record.service.size() + record.text.size() + record.output.size();
}

std::size_t name_bytes(const Origin& by) {
  const auto* const person = std::get_if<ByPerson>(&by);
  return person == nullptr ? 0 : person->name.size();
}

std::size_t size_of(const Memory& memory) {
  std::size_t bytes = memory.baselines.size() * sizeof(Baseline);
  for (const Baseline& baseline : memory.baselines)
    if (const std::string* text = baseline.value ? text_in(*baseline.value) : nullptr) bytes += text->size();
  return bytes;
}

std::size_t size_of(const std::string& name, const SavedService& service) {
  const std::size_t pause = service.pause ? service.pause->reason.size() + name_bytes(service.pause->by) : 0;
  const std::size_t failure = service.action_failure ? service.action_failure->text.size() : 0;
  const std::size_t known =
      service.acknowledged ? service.acknowledged->reason.size() + name_bytes(service.acknowledged->by) : 0;
  const std::size_t beat = service.heartbeat ? sizeof(Heartbeat) + service.heartbeat->text.size() : 0;
  return sizeof service + 2 * name.size() + size_of(service.memory) + pause + failure + known + beat +
         service.rules.size() * sizeof service.rules[0];
}

std::size_t size_of(const std::string& name, const Memory& memory) {
  return kIdBytes + sizeof memory + 2 * name.size() + size_of(memory);
}

std::size_t size_of(const std::string& name, const Heartbeat& heartbeat) {
  return kIdBytes + sizeof heartbeat + name.size() + heartbeat.text.size();
}

std::size_t size_of(const EventFields& fields) {
  std::size_t bytes = 0;
  for (const auto& field : fields) bytes += sizeof field + field.first.size() + field.second.size();
  return bytes;
}

std::size_t size_of(const Occurrence& event) {
  std::size_t bytes = kIdBytes + sizeof event + event.service.size() + event.key.size() + event.state.size() +
                      event.sender.size() + event.remark.size() + event.answer.size() + event.outcome.size() +
                      size_of(event.fields) + (event.document ? event.document->size() : 0);
  for (const Standing& standing : event.standing) bytes += sizeof standing + standing.target.size();
  return bytes;
}

std::size_t size_of(const effect::Cause* cause) {
  if (cause == nullptr) return 0;
  return sizeof *cause + cause->service.size() + cause->event_text.size() + cause->action_text.size() +
         cause->description.size() + cause->rule.size() + size_of(cause->fields);
}

std::size_t size_of(const PendingExec& pending) {
  const Command& command = pending.exec.command;
  std::size_t bytes =
      sizeof pending + command.identity->user.size() + command.identity->home.size() + command.identity->group.size();
  for (const std::string& argument : command.arguments) bytes += sizeof argument + argument.size();
  return bytes + size_of(pending.exec.cause.get());
}

std::size_t size_of(const effect::Alert& alert) {
  std::size_t bytes = sizeof alert + alert.incident.size();
  for (const Recipient& recipient : alert.recipients) {
    bytes += sizeof recipient + recipient.address.size();
    for (const auto* part :
         {&recipient.format.from, &recipient.format.reply_to, &recipient.format.subject, &recipient.format.message})
      bytes += part->value_or("").size();
  }
  return bytes + size_of(alert.cause.get());
}

std::size_t size_of(const effect::SavedJob& job) {
  std::size_t bytes = sizeof job + job.service.size() + name_bytes(job.by) + job.steps.size() * sizeof job.steps[0];
  for (const effect::SavedStep& step : job.steps) bytes += step.service.size();
  return bytes + size_of(job.cause.get());
}

// Plans are shared with the engine, and not counted.

std::size_t size_of(const Healing& healing) {
  std::size_t bytes = sizeof healing + healing.target.size() + healing.service.size() + name_bytes(healing.by) +
                      healing.reason().size() + healing.approved_by.size() + healing.failure.size() +
                      healing.cancelled_by.size() + size_of(healing.cause.get());
  const auto runs = [&bytes](std::span<const StepRun> all) {
    for (const StepRun& run : all) bytes += sizeof run + run.failure.size() + run.request.size();
  };
  runs(healing.under_way());
  if (healing.progress() != nullptr && healing.progress()->detour) runs(healing.progress()->detour->under_way);
  for (const StepOutcome& outcome : healing.outcomes)
    bytes += sizeof outcome + outcome.name.size() + outcome.text.size();
  for (const auto& [name, value] : healing.saved) bytes += kIdBytes + 2 * sizeof name + name.size() + value.size();
  return bytes;
}

std::size_t size_of(const TargetMemory& memory) { return sizeof memory + kIdBytes + 2 * memory.target.size(); }

std::size_t size_of(const WorkflowMemory& memory) {
  return sizeof memory + kIdBytes + 2 * memory.workflow.size() + memory.tries.size() * sizeof memory.tries[0] +
         memory.failures.size() * sizeof memory.failures[0];
}

std::size_t size_of(const std::vector<WidePause>& pauses) {
  std::size_t bytes = 0;
  for (const auto& [group, pause] : pauses)
    bytes += sizeof(WidePause) + group.size() + pause.reason.size() + name_bytes(pause.by);
  return bytes;
}

std::size_t size_of(const std::vector<ClosedBrake>& brakes) {
  std::size_t bytes = 0;
  for (const ClosedBrake& brake : brakes) bytes += sizeof brake + brake.workflow.size() + brake.group.size();
  return bytes;
}

}  // namespace

void Batch::add(effect::Commit commit) {
  durability_ = std::max(durability_, commit.durability());
  up_to_ = std::max(up_to_, commit.sequence);
  for (Record& record : commit.records) add_record(std::move(record));
  for (const std::string& name : commit.forgotten) forget(name);
  for (auto& [name, service] : commit.services) save(std::move(name), std::move(service));
  for (auto& [name, changed] : commit.remembered) remember(std::move(name), changed);
  for (auto& [name, heartbeat] : commit.heartbeats) hear(name, std::move(heartbeat));
  for (auto& act : commit.pending) {
    if (auto* exec = std::get_if<effect::Exec>(&act)) {
      open(PendingExec{std::move(*exec), false});
    } else {
      open(std::get<effect::Alert>(std::move(act)));
    }
  }
  for (const ActionId action : commit.started) start(action);
  for (const ActionId action : commit.ended) end(action);
  for (const AlertId alert : commit.handed_over) hand_over(alert);
  for (effect::SavedJob& job : commit.jobs) save(std::move(job));
  for (const effect::MovedJob& moved : commit.moved_jobs) move(moved);
  for (const JobId job : commit.ended_jobs) end(job);
  for (Healing& healing : commit.healings) save(std::move(healing));
  for (const HealingId healing : commit.ended_healings) end(healing);
  for (const auto& [target, rehearsed] : commit.forgotten_targets) forget(TargetKey{to_lower(target), rehearsed});
  for (TargetMemory& memory : commit.targets) save(std::move(memory));
  for (WorkflowMemory& memory : commit.workflows) save(std::move(memory));
  if (commit.closed_brakes) close(std::move(*commit.closed_brakes));
  if (commit.wide_pauses) pause(std::move(*commit.wide_pauses));
  for (Occurrence& event : commit.occurrences) save(std::move(event));
  for (const std::uint64_t event : commit.forgotten_occurrences) forget(event);
}

void Batch::merge(Batch later) {
  up_to_ = std::max(up_to_, later.up_to_);
  last_id_ = std::max(last_id_, later.last_id_);
  durability_ = std::max(durability_, later.durability_);
  if (later.lost_.count > 0) {  // they were newer than all of ours
    while (!records_.empty()) lose_oldest_record();
    lost_ = {lost_.count + later.lost_.count, later.lost_.last_id, later.lost_.last_sequence, later.lost_.last_when};
  }
  for (Record& record : later.records_) add_record(std::move(record));
  for (const std::string& name : later.forgotten_) forget(name);
  for (auto& [name, service] : later.services_) save(name, std::move(service));
  for (const auto& [name, memory] : later.remembered_) remember(name, memory.baselines);
  for (auto& [name, heartbeat] : later.heartbeats_) hear(name, std::move(heartbeat));
  for (auto& [id, exec] : later.execs_) open(std::move(exec));
  for (auto& [id, alert] : later.alerts_) open(std::move(alert));
  for (const ActionId action : later.started_) start(action);
  for (const ActionId action : later.ended_) end(action);
  for (const AlertId alert : later.handed_over_) hand_over(alert);
  for (auto& [id, job] : later.jobs_) save(std::move(job));
  for (const auto& [id, moved] : later.moved_jobs_) move(moved);
  for (const JobId job : later.ended_jobs_) end(job);
  for (auto& [id, healing] : later.healings_) save(std::move(healing));
  for (const HealingId healing : later.ended_healings_) end(healing);
  for (const TargetKey& target : later.forgotten_targets_) forget(target);
  for (auto& [key, memory] : later.targets_) save(std::move(memory));
  for (auto& [key, memory] : later.workflows_) save(std::move(memory));
  if (later.closed_brakes_) close(std::move(*later.closed_brakes_));
  if (later.wide_pauses_) pause(std::move(*later.wide_pauses_));
  for (auto& [number, event] : later.occurrences_) save(std::move(event));
  for (const std::uint64_t event : later.forgotten_occurrences_) forget(event);
  if (later.sources_) sources_ = std::move(later.sources_);
}

void Batch::set_sources(std::vector<SavedSource> sources) {
  sources_ = std::move(sources);
  durability_ = std::max(durability_, effect::Durability::Written);
}

bool Batch::trim(std::size_t bytes) {
  bool dropped = false;
  for (; bytes_ > bytes && !records_.empty(); dropped = true) lose_oldest_record();
  for (; bytes_ > bytes && !alerts_.empty(); dropped = true) {
    bytes_ -= size_of(alerts_.begin()->second);
    alerts_.erase(alerts_.begin());
  }
  // The programs of healings are as dear as the healings themselves: who does not know of one starts it twice.
  for (auto exec = execs_.begin(); bytes_ > bytes && exec != execs_.end();) {
    if (exec->second.exec.healing != HealingId{}) {
      ++exec;
      continue;
    }
    bytes_ -= size_of(exec->second);
    exec = execs_.erase(exec);
    dropped = true;
  }
  return dropped;
}

void Batch::add_record(Record record) {
  bytes_ += size_of(record);
  records_.push_back(std::move(record));
}

void Batch::lose_oldest_record() {
  const Record& record = records_.front();
  lost_ = {lost_.count + 1, record.id, record.sequence, record.when};
  bytes_ -= size_of(record);
  records_.pop_front();
}

void Batch::save(std::string name, SavedService service) {
  bytes_ += size_of(name, service);
  const auto [place, added] = services_.try_emplace(std::move(name));
  if (!added) bytes_ -= size_of(place->first, place->second);
  place->second = std::move(service);
  drop_remembered(place->first);
  drop_heartbeat(place->first);
}

void Batch::remember(std::string name, const std::vector<Baseline>& changed) {
  const auto put = [&changed](Memory& memory) {
    for (const Baseline& baseline : changed) memory.put(baseline);
  };
  if (const auto whole = services_.find(name); whole != services_.end()) {
    bytes_ -= size_of(whole->first, whole->second);
    put(whole->second.memory);
    bytes_ += size_of(whole->first, whole->second);
    return;
  }
  const auto [place, added] = remembered_.try_emplace(std::move(name));
  if (!added) bytes_ -= size_of(place->first, place->second);
  put(place->second);
  bytes_ += size_of(place->first, place->second);
}

void Batch::drop_remembered(const std::string& name) {
  const auto part = remembered_.find(name);
  if (part == remembered_.end()) return;
  bytes_ -= size_of(part->first, part->second);
  remembered_.erase(part);
}

void Batch::hear(const std::string& name, Heartbeat heartbeat) {
  if (const auto whole = services_.find(name); whole != services_.end()) {
    bytes_ -= size_of(whole->first, whole->second);
    whole->second.heartbeat = std::move(heartbeat);
    bytes_ += size_of(whole->first, whole->second);
    return;
  }
  bytes_ += size_of(name, heartbeat);
  const auto [place, added] = heartbeats_.try_emplace(name);
  if (!added) bytes_ -= size_of(name, place->second);
  place->second = std::move(heartbeat);
}

void Batch::drop_heartbeat(const std::string& name) {
  const auto known = heartbeats_.find(name);
  if (known == heartbeats_.end()) return;
  bytes_ -= size_of(name, known->second);
  heartbeats_.erase(known);
}

void Batch::forget(const std::string& name) {
  if (const auto place = services_.find(name); place != services_.end()) {
    bytes_ -= size_of(place->first, place->second);
    services_.erase(place);
  }
  drop_remembered(name);
  drop_heartbeat(name);
  // A service that is saved again afterwards may stay in here: the writer forgets first.
  if (forgotten_.insert(name).second) bytes_ += kIdBytes + name.size();
}

void Batch::open(PendingExec exec) {
  const ActionId action = exec.exec.action;
  last_id_ = std::max(last_id_, action.number());
  bytes_ += size_of(exec);
  const auto [place, added] = execs_.try_emplace(action);
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(exec);
}

void Batch::open(effect::Alert alert) {
  const AlertId id = alert.alert;
  last_id_ = std::max(last_id_, id.number());
  bytes_ += size_of(alert);
  const auto [place, added] = alerts_.try_emplace(id);
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(alert);
}

void Batch::start(ActionId action) {
  last_id_ = std::max(last_id_, action.number());
  if (const auto place = execs_.find(action); place != execs_.end()) {
    place->second.started = true;
  } else if (started_.insert(action).second) {
    bytes_ += kIdBytes;
  }
}

void Batch::end(ActionId action) {
  last_id_ = std::max(last_id_, action.number());
  if (started_.erase(action) > 0) bytes_ -= kIdBytes;
  if (const auto place = execs_.find(action); place != execs_.end()) {
    bytes_ -= size_of(place->second);
    execs_.erase(place);
  } else if (ended_.insert(action).second) {
    bytes_ += kIdBytes;
  }
}

void Batch::hand_over(AlertId alert) {
  last_id_ = std::max(last_id_, alert.number());
  if (const auto place = alerts_.find(alert); place != alerts_.end()) {
    bytes_ -= size_of(place->second);
    alerts_.erase(place);
  } else if (handed_over_.insert(alert).second) {
    bytes_ += kIdBytes;
  }
}

void Batch::save(effect::SavedJob job) {
  const JobId id = job.job;
  last_id_ = std::max(last_id_, id.number());
  bytes_ += size_of(job);
  const auto [place, added] = jobs_.try_emplace(id);
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(job);
  if (moved_jobs_.erase(id) > 0) bytes_ -= kMoveBytes;
}

void Batch::move(const effect::MovedJob& moved) {
  last_id_ = std::max(last_id_, moved.job.number());
  if (const auto place = jobs_.find(moved.job); place != jobs_.end()) {
    engine::move(place->second, moved);
  } else if (moved_jobs_.insert_or_assign(moved.job, moved).second) {
    bytes_ += kMoveBytes;
  }
}

void Batch::end(JobId job) {
  last_id_ = std::max(last_id_, job.number());
  if (const auto place = jobs_.find(job); place != jobs_.end()) {
    bytes_ -= size_of(place->second);
    jobs_.erase(place);
  }
  if (moved_jobs_.erase(job) > 0) bytes_ -= kMoveBytes;
  // An earlier batch may have saved it too, unlike an exec, which is opened once.
  if (ended_jobs_.insert(job).second) bytes_ += kIdBytes;
}

void Batch::save(Healing healing) {
  const HealingId id = healing.id;
  last_id_ = std::max(last_id_, id.number());
  bytes_ += size_of(healing);
  const auto [place, added] = healings_.try_emplace(id);
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(healing);
}

void Batch::end(HealingId healing) {
  last_id_ = std::max(last_id_, healing.number());
  if (const auto place = healings_.find(healing); place != healings_.end()) {
    bytes_ -= size_of(place->second);
    healings_.erase(place);
  }
  if (ended_healings_.insert(healing).second) bytes_ += kIdBytes;  // an earlier batch has most likely saved it, too
}

void Batch::save(TargetMemory memory) {
  bytes_ += size_of(memory);
  const auto [place, added] = targets_.try_emplace({to_lower(memory.target), memory.rehearsed});
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(memory);
}

void Batch::forget(const TargetKey& target) {
  if (const auto place = targets_.find(target); place != targets_.end()) {
    bytes_ -= size_of(place->second);
    targets_.erase(place);
  }
  // One that is saved again afterwards may stay in here: the writer forgets first.
  if (forgotten_targets_.insert(target).second) bytes_ += kIdBytes + target.first.size();
}

void Batch::save(WorkflowMemory memory) {
  bytes_ += size_of(memory);
  const auto [place, added] = workflows_.try_emplace(to_lower(memory.workflow));
  if (!added) bytes_ -= size_of(place->second);
  place->second = std::move(memory);
}

void Batch::close(std::vector<ClosedBrake> brakes) {
  bytes_ += size_of(brakes);
  if (closed_brakes_) bytes_ -= size_of(*closed_brakes_);
  closed_brakes_ = std::move(brakes);
}

void Batch::pause(std::vector<WidePause> pauses) {
  bytes_ += size_of(pauses);
  if (wide_pauses_) bytes_ -= size_of(*wide_pauses_);
  wide_pauses_ = std::move(pauses);
}

void Batch::save(Occurrence event) {
  const std::uint64_t number = event.number;
  last_id_ = std::max(last_id_, number);
  const auto [place, added] = occurrences_.try_emplace(number);
  if (!added) {
    bytes_ -= size_of(place->second);
    if (event.document == nullptr) event.document = std::move(place->second.document);
  }
  bytes_ += size_of(event);
  place->second = std::move(event);
}

void Batch::forget(std::uint64_t occurrence) {
  if (const auto place = occurrences_.find(occurrence); place != occurrences_.end()) {
    bytes_ -= size_of(place->second);
    occurrences_.erase(place);
  }
  if (forgotten_occurrences_.insert(occurrence).second) bytes_ += kIdBytes;
}

}  // namespace healer::store
