// SPDX-License-Identifier: MIT
// Commits for the tests of the store: whole ones with every field set, random ones, and texts to compare states by.
#pragma once

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/record.hpp"
#include "engine/rules/service.hpp"
#include "store/healing_json.hpp"
#include "store/store.hpp"
#include "tests/store/healings.hpp"
#include "tests/support/child.hpp"

namespace healer::store::test {

using namespace engine;

/// The path of a file in a directory.
inline std::string in(const healer::test::TemporaryDirectory& directory, const std::string& name) {
  return (directory.path() / name).string();
}

/// Files of the directory whose names begin with this; not those that SQLite keeps beside a database.
inline std::vector<std::string> named(const std::string& beginning) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(beginning).parent_path()))
    if (const auto name = entry.path().string();
        name.starts_with(beginning) && !name.ends_with("-wal") && !name.ends_with("-shm"))
      found.push_back(entry.path().string());
  std::ranges::sort(found);
  return found;
}

/// The head of a state file of Monit 5.33, of a machine called "vm", and zeros.
inline std::string monit_state() {
  return std::string("\0\0\0\0\4\0\0\0\xf8\xa8\1k\0\0\0\0vm", 18) + std::string(390, '\0');
}

inline WallTime wall(std::int64_t ms) { return WallTime{milliseconds{ms}}; }

inline Record record(Sequence sequence, std::string service = "web", RecordKind kind = RecordKind::RuleFailed) {
  Record record;
  record.sequence = sequence;
  record.when = wall(1'795'000'000'000 + static_cast<std::int64_t>(sequence) * 1000);
  record.kind = kind;
  record.severity = Severity::Error;
  record.service = std::move(service);
  record.rule = hash128("rule");
  record.subject = sequence + 7;
  record.text = "record " + std::to_string(sequence);
  record.output = "output\nof it";
  return record;
}

inline effect::Commit commit(Sequence sequence, std::string service = "web", RecordKind kind = RecordKind::RuleFailed) {
  effect::Commit commit;
  commit.sequence = sequence;
  commit.records.push_back(record(sequence, std::move(service), kind));
  return commit;
}

/// A text that says every field but the time of saving, so that two states are equal where their texts are.
inline std::string describe(std::uint64_t occurrence, const EventFields& fields) {
  std::string text = occurrence == 0 ? "" : " event " + std::to_string(occurrence);
  for (const auto& [name, value] : fields) text += " " + name + "=" + value;
  return text;
}

inline std::string describe(const effect::Cause* cause) {
  if (cause == nullptr) return "no cause";
  return cause->service + "|" + std::string(to_string(cause->event)) + "|" +
         std::to_string(static_cast<int>(cause->state)) + "|" + cause->event_text + "|" + cause->action_text + "|" +
         cause->description + "|" + cause->rule + "|" + format_iso(cause->when) + "|" +
         (cause->program_status ? std::to_string(*cause->program_status) : "no status") +
         (cause->process
              ? " process " + std::to_string(cause->process->pid) + " " + std::to_string(cause->process->memory_kb) +
                    " " + std::to_string(cause->process->children) + " " + std::to_string(cause->process->cpu_percent)
              : "") +
         describe(cause->occurrence, cause->fields);
}

inline std::string describe(const effect::Exec& exec) {
  std::string text = std::to_string(exec.action.number()) + " slot " + std::to_string(exec.service.number()) +
                     " rule " + to_string(exec.rule) + (exec.recovery ? " recovery" : "") + " [";
  for (const auto& argument : exec.command.arguments) text += argument + ",";
  const Identity& identity = *exec.command.identity;
  text += "] uid " + (identity.uid ? std::to_string(*identity.uid) : "-") + " gid " +
          (identity.gid ? std::to_string(*identity.gid) : "-") + " user " + identity.user + " home " + identity.home +
          " group " + identity.group;
  return text + " timeout " + std::to_string(exec.command.timeout.count()) + " job " +
         std::to_string(exec.job.number()) + (exec.foreground ? " foreground" : "") + " healing " +
         std::to_string(exec.healing.number()) + " cause " + describe(exec.cause.get());
}

inline std::string describe(const effect::Alert& alert) {
  std::string text = std::to_string(alert.alert.number()) + " to";
  for (const auto& recipient : alert.recipients) {
    const auto part = [](const std::optional<std::string>& value) { return value ? "'" + *value + "'" : "-"; };
    const auto& format = recipient.format;
    text += " " + recipient.address + " " + recipient.events.to_string() + (recipient.listed ? " listed " : " ") +
            std::to_string(recipient.reminder) + (recipient.digest ? " digest " : " ") + part(format.from) +
            part(format.reply_to) + part(format.subject) + part(format.message);
  }
  return text + " cause " + describe(alert.cause.get());
}

inline std::string describe(const effect::SavedJob& job) {
  std::string text =
      std::to_string(job.job.number()) + " " + std::string(to_string(job.kind)) + " " + job.service + " [";
  for (const auto& step : job.steps)
    text += std::to_string(static_cast<int>(step.kind)) + " " + step.service + (step.named ? "!," : ",");
  return text + "] at " + std::to_string(job.position) + " action " + std::to_string(job.action.number()) +
         (job.unmonitor ? " unmonitor" : "") + " by " + saved_text(job.by) + " begun " + format_iso(job.begun) +
         " cause " + describe(job.cause.get());
}

inline std::string describe(const SavedService& service) {
  const auto maybe = [](const auto& value) {
    return value ? std::to_string(static_cast<std::int64_t>(*value)) : std::string("-");
  };
  std::string text = std::string(service.monitored ? "monitored" : "unmonitored") + " cron " +
                     maybe(service.cron_minute) + " boot " + std::to_string(service.boot) + " saved " +
                     std::to_string(service.saved.time_since_epoch().count());
  for (const auto& [what, value] : service.memory.baselines)
    text += " " + std::string(to_string(what)) + " " + (value ? format_value(*value) : "-");
  const auto when = [](const auto& time) { return time ? format_iso(*time) : std::string("-"); };
  const StartHistory& starts = *service.starts;
  text += " starts " + std::to_string(starts.quick) + " " + when(starts.last) + " " + when(starts.not_before) +
          (starts.restarted ? " restarted" : "") + " left by " + std::to_string(starts.left_by.number()) + " came by " +
          std::to_string(starts.came_by.number());
  if (const auto& known = service.known)
    text += " known " + std::to_string(known->pid) + " " + std::to_string(known->start_ticks) + " " +
            std::to_string(known->file) + " " + std::string(to_string(known->doubt)) + " " + to_string(known->path);
  if (service.pause)
    text += " paused until " + when(service.pause->until) + " " + service.pause->reason + " by " +
            saved_text(service.pause->by);
  if (service.first) text += " first " + std::to_string(service.first->count());
  if (const auto& failure = service.action_failure)
    text += " failed " + to_string(failure->rule) + " " + format_iso(failure->when) + " " + failure->text;
  for (const auto& [key, identity, rule] : service.rules) {
    text += "\n  " + to_string(key) + " " + to_string(identity.text) + " " + to_string(identity.condition) + " " +
            to_string(identity.actions) + " " + std::string(to_string(identity.kind)) + " " +
            std::to_string(rule.window.bits) + " " + std::to_string(static_cast<int>(rule.status)) + " " +
            std::to_string(rule.since_fired) + " " +
            (rule.past->failing_since ? std::to_string(rule.past->failing_since->count()) : "-") + " " +
            (rule.past->clear_since ? std::to_string(rule.past->clear_since->count()) : "-") + " " +
            (rule.past->changed ? format_iso(*rule.past->changed) : "-") + " " + std::to_string(rule.past->again.bits) +
            (rule.accepted ? " accepted" : "") + (rule.judged ? " judged" : "") + " " + std::to_string(rule.born);
  }
  return text;
}

/// Everything but last_id, which a store may raise.
inline std::string describe(const SavedState& state) {
  std::string text = "last " + std::to_string(state.last_sequence) + " boot " + std::to_string(state.boot) +
                     (state.died ? " died " + format_iso(*state.died) : "") + "\n";
  std::map<std::string, std::string> services;
  for (const auto& [name, service] : state.services) services[name] = describe(service);
  for (const auto& [name, service] : services) text += "service " + name + ": " + service + "\n";
  for (const auto& pending : state.execs)
    text += (pending.started ? "started " : "waiting ") + describe(pending.exec) + "\n";
  for (const auto& alert : state.alerts) text += "alert " + describe(alert) + "\n";
  for (const auto& job : state.jobs) text += "job " + describe(job) + "\n";
  for (const auto& healing : state.healings) text += "healing " + to_json(healing) + "\n";
  for (const auto& damaged : state.damaged_healings)
    text += "damaged healing " + std::to_string(damaged.id.number()) + " of " + damaged.target + "\n";
  for (const auto& [target, rehearsed] : state.damaged_targets)
    text += "damaged target " + target + (rehearsed ? " rehearsed\n" : "\n");
  for (const auto& [group, pause] : state.wide_pauses)
    text += "paused " + group + " by " + saved_text(pause.by) + ": " + pause.reason + " until " +
            (pause.until ? std::to_string(pause.until->time_since_epoch().count()) : "resumed") + "\n";
  for (const auto& target : state.healing.targets) text += "target " + to_json(target) + "\n";
  for (const auto& workflow : state.healing.workflows) text += "workflow " + to_json(workflow) + "\n";
  for (const auto& brake : state.healing.closed) text += "closed " + to_json(brake) + "\n";
  return text;
}

inline std::shared_ptr<const effect::Cause> full_cause() {
  effect::Cause cause;
  cause.service = "web \xc3\xbc";
  cause.event = EventKind::Content;
  cause.state = effect::Cause::State::Changed;
  cause.event_text = "Content match";
  cause.action_text = "exec";
  cause.description = std::string("line one\nline two \xff and a nul \0 in it", 37);
  cause.rule = "if content = 'x' then exec";
  cause.when = wall(1'795'000'123'456);
  cause.program_status = std::numeric_limits<std::int64_t>::min();
  cause.process = {
      .pid = std::numeric_limits<std::int64_t>::max(), .memory_kb = 7, .children = -1, .cpu_percent = 99.9};
  cause.occurrence = 77;
  cause.fields = {{"EVENT.a", "x \" \n \xc3\xbc"}, {"EVENT.b.c", ""}};
  return std::make_shared<const effect::Cause>(cause);
}

inline effect::Exec full_exec(std::uint64_t id) {
  effect::Exec exec;
  exec.action = ActionId(id);
  exec.service = ServiceId(std::numeric_limits<std::uint32_t>::max());
  exec.rule = {0xfedcba9876543210, 0x0123456789abcdef};
  exec.recovery = true;
  exec.command.arguments = {"/bin/echo", "", "two words", "it's", "\xff\xfe"};
  exec.command.identity = Identity{0, std::numeric_limits<std::uint32_t>::max(), "www-data", "/var/www", "www \xff"};
  exec.command.timeout = minutes{10};
  exec.cause = full_cause();
  exec.job = JobId(std::numeric_limits<std::uint64_t>::max());
  exec.foreground = true;
  exec.healing = HealingId(std::numeric_limits<std::uint64_t>::max() - 1);
  return exec;
}

inline effect::Alert full_alert(std::uint64_t id) {
  effect::Alert alert;
  alert.alert = AlertId(id);
  Recipient plain{"root@localhost", EventMask{}.set(), false, 0, false, {}};
  Recipient full{"ops@example.org", EventMask{}, true, 65535, true, {}};
  full.events.set(static_cast<std::size_t>(EventKind::Action)).set(static_cast<std::size_t>(EventKind::Uptime));
  full.format = {"from@x", "", "subject $SERVICE", "message\nlines"};
  Recipient none{"", EventMask{}, false, 0, false, {}};
  Recipient contact{"team", EventMask{}.set(), false, 3, false, {}, true};
  alert.recipients = {plain, full, none, contact};
  alert.cause = full_cause();
  alert.incident = "0123456789abcdef0123456789abcdef";
  alert.reminder = id % 2 == 1;
  return alert;
}

inline effect::SavedJob full_job(std::uint64_t id) {
  effect::SavedJob job;
  job.job = JobId(id);
  job.kind = ActionKind::Stop;
  job.service = "web \xc3\xbc";
  job.steps = {{"app", Bringing::Stop}, {"web \xc3\xbc", Bringing::Restart, true}, {"app", Bringing::Start}};
  job.position = 2;
  job.action = ActionId(std::numeric_limits<std::uint64_t>::max());
  job.unmonitor = true;
  job.by = ByPerson{"uid 1000"};
  job.cause = full_cause();
  job.begun = wall(1'795'000'777'001);
  return job;
}

inline Healing full_healing(std::uint64_t id, std::string target = "web1") {
  Healing healing = AnyHealing(id).healing(id);
  healing.target = std::move(target);
  return healing;
}

inline TargetMemory target_memory(std::string target, bool rehearsed = false, std::uint64_t seed = 1) {
  auto memory = AnyHealing(seed).any<TargetMemory>();
  memory.target = std::move(target);
  memory.rehearsed = rehearsed;
  return memory;
}

inline WorkflowMemory workflow_memory(std::string workflow, std::uint64_t seed = 1) {
  auto memory = AnyHealing(seed).any<WorkflowMemory>();
  memory.workflow = std::move(workflow);
  return memory;
}

inline Occurrence full_occurrence(std::uint64_t number) {
  return {.number = number,
          .service = "alarms \xc3\xbc",
          .key = "a \"1\"\n",
          .state = "alarm",
          .sender = "anna",
          .remark = "confirm it",
          .first = wall(1'795'000'000'001),
          .last = wall(1'795'000'000'002),
          .count = 3,
          .again = 4,
          .status = 422,
          .answer = "it has no plain value ${EVENT.vm}",
          .stage = OccurrenceStage::Refused,
          .outcome = "nothing",
          .standing = {{{1, 2}, "vm-7", wall(1'795'000'000'003)}, {{3, 4}, "vm-8", wall(-1)}},
          .fields = {{"EVENT.a", "b"}},
          .document = std::make_shared<const std::string>("{\"a\": \"\xc3\xbc\"}")};
}

inline Heartbeat full_heartbeat() {
  return {.since = wall(1'795'000'888'001),
          .word = BeatWord::Exit,
          .status = -7,
          .text = "no space \xff\nleft",
          .started = wall(1'795'000'888'002),
          .ran = Duration{7'200'001},
          .missed = wall(1'795'000'888'003)};
}

inline SavedService full_service() {
  SavedService service;
  service.monitored = false;
  service.memory = {{{Attribute::Status, -3}, {Attribute::Security, std::string("web_t:s0")}}};
  service.cron_minute = 29'916'666;
  service.boot = std::numeric_limits<std::uint64_t>::max() - 1;
  service.saved = wall(1'795'000'999'001);
  service.starts = {.quick = std::numeric_limits<std::uint32_t>::max(),
                    .last = wall(1'795'000'111'001),
                    .not_before = wall(1'795'000'222'001),
                    .restarted = true,
                    .left_by = ActionId(std::numeric_limits<std::uint64_t>::max()),
                    .came_by = ActionId(std::numeric_limits<std::uint64_t>::max() - 1)};
  service.known = KnownProcess{.pid = 4'194'304,
                               .start_ticks = std::numeric_limits<std::uint64_t>::max(),
                               .file = 1'795'000'444'001'002'003,
                               .doubt = Doubt::Foreign,
                               .path = hash128("/run/web.pid")};
  service.pause = Pause{wall(1'795'000'333'001), "the disk's \xff", ByPerson{"root"}};
  RuleState failed;
  failed.window.bits = 0x8000000000000001;
  failed.status = RuleStatus::Failed;
  failed.since_fired = std::numeric_limits<std::uint32_t>::max();
  failed.past.set(&RulePast::failing_since, Duration{12});
  failed.past.set(&RulePast::clear_since, Duration{0});
  failed.past.set(&RulePast::changed, wall(-5));
  failed.past.edit().again.bits = 0xc000000000000003;
  failed.accepted = true;
  // In an order that is not that of the keys.
  failed.notified = Notified::Acknowledged;
  failed.judged = true;
  failed.born = std::numeric_limits<std::uint64_t>::max();
  const RuleIdentity identity{.text = {9, 2}, .condition = {9, 3}, .actions = {9, 4}, .kind = ActionKind::Restart};
  service.rules = {{{9, 1}, identity, failed}, {{1, 9}, {}, RuleState{}}, {{5, 5}, {}, RuleState{}}};
  service.first = Duration{3'600'001};
  service.acknowledged = Acknowledgement{"seen by \xff", ByPerson{"anna"}, wall(1'795'000'666'001)};
  service.taken_out = TakenOut{.by = ByRule{},
                               .service = "db \xff",
                               .rule = "if status != 0 then unmonitor for 1 hour",
                               .since = wall(1'795'000'777'001),
                               .until = wall(1'795'004'377'001)};
  service.action_failure = ActionFailure{{9, 1}, wall(1'795'000'555'001), "exec /bin/heal\nexited with \xff"};
  service.heartbeat = full_heartbeat();
  return service;
}

/// A stream of commits as a daemon may make them, the same for the same seed.
class RandomCommits {
 public:
  explicit RandomCommits(std::uint32_t seed) : random_(seed), moves_(seed), memory_(seed), healing_(seed) {}

  effect::Commit next() {
    effect::Commit commit;
    commit.sequence = ++sequence_;
    for (int i = pick(3); i > 0; --i) {
      commit.records.push_back(
          record(sequence_, name(), static_cast<RecordKind>(pick(static_cast<int>(RecordKind::Count_)))));
      commit.records.back().severity = static_cast<Severity>(pick(4));
    }
    if (pick(8) == 0) commit.forgotten.push_back(name());
    for (int i = pick(3); i > 0; --i) commit.services.emplace_back(name(), service());
    for (unsigned i = memory_() % 4; i > 0; --i)  // also of services that nobody has saved, or that are forgotten
      commit.remembered.push_back({"service" + std::to_string(memory_() % 6),
                                   {{Attribute::Pid, static_cast<std::int64_t>(memory_() % 9)},
                                    {Attribute::Security, "web_t:s" + std::to_string(memory_() % 9)}}});
    for (int i = pick(3); i > 0; --i) {
      if (pick(2) == 0) {
        commit.pending.emplace_back(full_exec(++id_));
        waiting_.push_back(id_);
      } else {
        commit.pending.emplace_back(full_alert(++id_));
        alerts_.push_back(id_);
      }
    }
    while (!waiting_.empty() && pick(2) == 0) {
      running_.push_back(take(waiting_));
      commit.started.emplace_back(running_.back());
    }
    while (!running_.empty() && pick(2) == 0) commit.ended.emplace_back(take(running_));
    while (!alerts_.empty() && pick(2) == 0) commit.handed_over.emplace_back(take(alerts_));
    if (pick(4) == 0) jobs_.push_back(++id_);
    for (const std::uint64_t id : jobs_) {
      if (pick(2) == 0) {
        if (moves_() % 2 == 0)
          commit.moved_jobs.push_back({.job = JobId(id),
                                       .position = static_cast<std::uint32_t>(moves_() % 3),
                                       .action = ActionId(moves_() % 9),
                                       .begun = wall(static_cast<std::int64_t>(moves_() % 9))});
        continue;
      }
      commit.jobs.push_back(full_job(id));
      commit.jobs.back().steps.resize(static_cast<std::size_t>(1 + pick(3)));
      commit.jobs.back().position = static_cast<std::uint32_t>(pick(3));
    }
    while (!jobs_.empty() && pick(3) == 0) commit.ended_jobs.emplace_back(take(jobs_));
    heal(commit);
    return commit;
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  std::string name() { return "service" + std::to_string(pick(6)); }
  std::uint64_t take(std::vector<std::uint64_t>& from) {
    const auto place = from.begin() + pick(static_cast<int>(from.size()));
    const auto id = *place;
    from.erase(place);
    return id;
  }
  void heal(effect::Commit& commit) {
    if (healing_.pick(3) == 0) return;
    const auto name = [this] { return std::string(healing_.pick(2) == 0 ? "web" : "WEB") + "12345"[healing_.pick(5)]; };
    if (healing_.pick(3) == 0) healings_.push_back(++id_);
    for (const std::uint64_t id : healings_)
      if (healing_.pick(2) == 0) commit.healings.push_back(healing_.healing(id));
    if (!healings_.empty() && healing_.pick(4) == 0) {
      commit.ended_healings.emplace_back(healings_.front());
      healings_.erase(healings_.begin());
    }
    if (healing_.pick(6) == 0) commit.forgotten_targets.emplace_back(name(), healing_.pick(2) == 0);
    if (healing_.pick(2) == 0) commit.targets.push_back(target_memory(name(), healing_.pick(2) == 0, ++id_));
    if (healing_.pick(2) == 0) commit.workflows.push_back(workflow_memory(name(), ++id_));
    if (healing_.pick(4) == 0) {
      commit.closed_brakes.emplace(healing_.pick(3));
      for (ClosedBrake& brake : *commit.closed_brakes) brake = healing_.any<ClosedBrake>();
    }
    if (healing_.pick(4) == 0) {
      commit.wide_pauses.emplace();
      if (healing_.pick(2) == 0) commit.wide_pauses->push_back({"", {{}, "a \"reason\"", ByPerson{"anna"}}});
      if (healing_.pick(2) == 0)
        commit.wide_pauses->push_back({"webs", {wall(1'795'000'888'001), "", ByPerson{"root"}}});
    }
  }
  SavedService service() {
    SavedService service = full_service();
    service.monitored = pick(2) == 0;
    if (pick(2) == 0) service.memory = {};
    if (pick(3) == 0) service.memory = {{{Attribute::Pid, pick(9)}, {Attribute::Parent, pick(9)}}};
    if (pick(2) == 0) service.pause.reset();
    if (pick(2) == 0) service.known.reset();
    if (service.known) service.known->doubt = static_cast<Doubt>(pick(3));
    if (pick(2) == 0) service.starts.edit().quick = static_cast<std::uint32_t>(pick(9));
    if (pick(2) == 0) service.cron_minute.reset();
    service.rules.resize(static_cast<std::size_t>(pick(4)));
    if (pick(2) == 0) service.first.reset();
    if (pick(2) == 0) service.action_failure.reset();
    if (pick(3) == 0) service.taken_out.reset();
    if (service.taken_out && pick(2) == 0) service.taken_out = TakenOut{.by = ByPerson{"anna"}, .since = wall(pick(9))};
    for (auto& [key, identity, rule] : service.rules) rule.window.push(pick(2) == 0, 64);
    return service;
  }

  std::mt19937 random_;
  std::mt19937 moves_;
  std::mt19937 memory_;
  AnyHealing healing_;
  Sequence sequence_ = 0;
  std::uint64_t id_ = 0;
  std::vector<std::uint64_t> waiting_, running_, alerts_, jobs_, healings_;
};

}  // namespace healer::store::test
