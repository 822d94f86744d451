// SPDX-License-Identifier: MIT
#include "store/sqlite_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>

#include "store/healing_json.hpp"

namespace healer::store {

using namespace engine;

namespace {

constexpr std::uint64_t kRecordOverhead = 120;  // of a row and its entries in the indexes, about
constexpr std::string_view kRecordBytes =
    "length(CAST(text AS BLOB)) + length(CAST(output AS BLOB)) + 2 * length(CAST(service AS BLOB)) + 120";

// ---- words --------------------------------------------------------------------------------------------------------

constexpr std::string_view kAllEvents = "all";
constexpr std::array<std::string_view, 3> kStates{"succeeded", "failed", "changed"};

std::string_view word(effect::Cause::State state) { return kStates[static_cast<std::size_t>(state)]; }

effect::Cause::State state_of(std::string_view text) {
  const auto found = std::ranges::find(kStates, text);
  return found == kStates.end() ? effect::Cause::State::Failed
                                : static_cast<effect::Cause::State>(found - kStates.begin());
}

Bringing step_of(std::string_view text) {
  for (const auto what : {Bringing::Start, Bringing::Restart})
    if (text == verb(what)) return what;
  return Bringing::Stop;
}

EventKind event_of(std::string_view text) {
  for (std::size_t i = 0; i < kEventKinds; ++i)
    if (text == to_string(static_cast<EventKind>(i))) return static_cast<EventKind>(i);
  return EventKind::Status;
}

/// "all", or the names of the events with blanks between them.
std::string words(const EventMask& mask) {
  if (mask.all()) return std::string(kAllEvents);
  std::string text;
  for (std::size_t i = 0; i < kEventKinds; ++i) {
    if (!mask.test(i)) continue;
    if (!text.empty()) text += ' ';
    text += to_string(static_cast<EventKind>(i));
  }
  return text;
}

EventMask mask_of(std::string_view text) {
  EventMask mask;
  if (text == kAllEvents) return mask.set();
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(' '));
    mask.set(static_cast<std::size_t>(event_of(name)));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  return mask;
}

std::uint64_t bytes_of(const Record& record) {
  return record.text.size() + record.output.size() + 2 * record.service.size() + kRecordOverhead;
}

// ---- causes -------------------------------------------------------------------------------------------------------

constexpr std::string_view kCauseColumns =
    "cause_service, cause_event, cause_state, cause_event_text, cause_action_text, cause_description, cause_rule, "
    "cause_when_ms, cause_program_status, cause_occurrence, cause_fields, cause_pid, cause_memory_kb, cause_children, "
    "cause_cpu_percent";
constexpr std::string_view kCauseParameters = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?";
constexpr int kCauseWidth = 15;

void bind_nothing(Statement& statement, int columns) {
  for (int i = 0; i < columns; ++i) statement.bind_next(std::optional<std::int64_t>());
}

void bind_cause(Statement& statement, const effect::Cause* cause) {
  if (cause == nullptr) {
    bind_nothing(statement, kCauseWidth);
    return;
  }
  const auto& [service, event, state, event_text, action_text, description, rule, when, program_status, process,
               occurrence, fields] = *cause;
  statement.bind_next(service);
  statement.bind_next(to_string(event));
  statement.bind_next(word(state));
  statement.bind_next(event_text);
  statement.bind_next(action_text);
  statement.bind_next(description);
  statement.bind_next(rule);
  statement.bind_next(when);
  statement.bind_next(program_status);
  if (occurrence == 0) {
    bind_nothing(statement, 2);
  } else {
    statement.bind_next(occurrence);
    statement.bind_next(to_json(fields));
  }
  if (!process) {
    bind_nothing(statement, 4);
    return;
  }
  const auto& [pid, memory_kb, children, cpu_percent] = *process;
  statement.bind_next(pid);
  statement.bind_next(memory_kb);
  statement.bind_next(children);
  statement.bind_next(cpu_percent);
}

/// The columns of a cause, as the last ones of a row. Where there is none, all are NULL.
struct CauseColumns {
  std::optional<std::string> service;
  std::string event, state, event_text, action_text, description, rule;
  WallTime when{};
  std::optional<std::int64_t> program_status;
  std::optional<std::uint64_t> occurrence;
  std::optional<std::string> fields;
  std::optional<std::int64_t> pid;
  effect::Cause::Process process;

  /// Reads the row: `before` first, then the cause.
  template <typename... Values>
  void read(Statement& row, Values&... before) {
    row.read(before..., service, event, state, event_text, action_text, description, rule, when, program_status,
             occurrence, fields, pid, process.memory_kb, process.children, process.cpu_percent);
  }

  [[nodiscard]] std::shared_ptr<const effect::Cause> cause() {
    if (!service) return nullptr;
    effect::Cause cause{std::move(*service),    event_of(event),        state_of(state), std::move(event_text),
                        std::move(action_text), std::move(description), std::move(rule), when,
                        program_status};
    cause.occurrence = occurrence.value_or(0);
    if (fields)
      if (Result<EventFields> known = event_fields_from_json(*fields)) cause.fields = std::move(*known);
    if (pid) {
      process.pid = *pid;
      cause.process = process;
    }
    return std::make_shared<const effect::Cause>(std::move(cause));
  }
};

}  // namespace

// ---- writing ------------------------------------------------------------------------------------------------------

TableWriter::TableWriter(Database& database, Retention retention) : database_(database), retention_(retention) {
  const auto prepare = [&database](std::string_view sql) { return database.prepare(sql); };
  begin_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
  rollback_ = prepare("ROLLBACK");
  set_meta_ =
      prepare("INSERT INTO meta(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = max(value, ?2)");
  put_meta_ = prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?, ?)");

  // A file that was put in the place of this daemon's may know the number already: the newer record stays.
  add_record_ = prepare(
      "INSERT OR REPLACE INTO records(id, sequence, when_ms, kind, severity, service, rule, subject, text, output) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  oldest_records_ = prepare(fmt::format("SELECT id, {} FROM records ORDER BY id LIMIT ?", kRecordBytes));
  prune_records_ = prepare("DELETE FROM records WHERE id <= ?");

  add_exec_ =
      prepare(fmt::format("INSERT OR REPLACE INTO execs(action, started, slot, rule, recovery, uid, gid, user, home, "
                          "group_name, timeout_ms, "
                          "job, foreground, healing, {}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {})",
                          kCauseColumns, kCauseParameters));
  add_argument_ = prepare("INSERT OR REPLACE INTO exec_arguments(action, position, text) VALUES(?, ?, ?)");
  cut_arguments_ = prepare("DELETE FROM exec_arguments WHERE action = ? AND position >= ?");
  start_exec_ = prepare("UPDATE execs SET started = 1 WHERE action = ?");
  end_exec_ = prepare("DELETE FROM execs WHERE action = ?");
  end_arguments_ = prepare("DELETE FROM exec_arguments WHERE action = ?");

  add_alert_ =
      prepare(fmt::format("INSERT OR REPLACE INTO alerts(alert, incident, is_reminder, {}) VALUES(?, ?, ?, {})",
                          kCauseColumns, kCauseParameters));
  add_recipient_ = prepare(
      "INSERT OR REPLACE INTO alert_recipients(alert, position, address, events, listed, reminder, "
      "digest, contact, format_from, format_reply_to, format_subject, format_message) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  cut_recipients_ = prepare("DELETE FROM alert_recipients WHERE alert = ? AND position >= ?");
  end_alert_ = prepare("DELETE FROM alerts WHERE alert = ?");
  end_recipients_ = prepare("DELETE FROM alert_recipients WHERE alert = ?");

  save_job_ = prepare(fmt::format(
      "INSERT OR REPLACE INTO jobs(job, kind, service, position, action, unmonitor, asked_by, begun_ms, {}) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, {})",
      kCauseColumns, kCauseParameters));
  move_job_ = prepare("UPDATE jobs SET position = ?2, action = ?3, begun_ms = ?4 WHERE job = ?1");
  save_step_ = prepare("INSERT OR REPLACE INTO job_steps(job, position, service, kind, named) VALUES(?, ?, ?, ?, ?)");
  cut_steps_ = prepare("DELETE FROM job_steps WHERE job = ? AND position >= ?");
  end_job_ = prepare("DELETE FROM jobs WHERE job = ?");
  end_steps_ = prepare("DELETE FROM job_steps WHERE job = ?");

  clear_sources_ = prepare("DELETE FROM sources");
  add_source_ = prepare("INSERT INTO sources(position, path, text) VALUES(?, ?, ?)");

  services_ = ServiceWriter(database);
  healings_ = HealingWriter(database);
  pauses_ = PauseWriter(database);
  occurrences_ = OccurrenceWriter(database);
  prepare(fmt::format("SELECT count(*), sum({}) FROM records", kRecordBytes)).rows([this](Statement& row) {
    row.read(record_count_, record_bytes_);
  });
}

// The structs are taken apart by name: one that gains a field does not compile until it is saved here.

bool TableWriter::write(const Batch& batch) {
  const auto count_before = record_count_;
  const auto bytes_before = record_bytes_;
  // In FULL a transaction is on the disk itself when it is committed, with all before it. A statement that is kept
  // would not do: this one is obeyed when it is prepared.
  const bool full = batch.durability() == engine::effect::Durability::Synced;
  if (std::exchange(full_, full) != full)
    database_.execute(full_ ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (begin_.run()) {
    write_records(batch);
    services_.write(batch);
    write_acts(batch);
    write_jobs(batch);
    healings_.write(batch);
    pauses_.write(batch);
    occurrences_.write(batch);
    if (batch.sources()) write_sources(*batch.sources());
    if (batch.up_to() > 0) set_meta_.run("last_sequence", batch.up_to());
    if (batch.last_id() > 0) set_meta_.run("last_id", batch.last_id());
    prune();
    if (commit_.run()) return true;
  }
  record_count_ = count_before;
  record_bytes_ = bytes_before;
  if (database_.ok()) return false;
  const Error why = database_.error();
  database_.clear_error();
  rollback_.run();  // fails where SQLite has rolled back by itself: then there is nothing to undo
  database_.clear_error();
  database_.fail(why);
  return false;
}

void TableWriter::write_records(const Batch& batch) {
  const auto add = [this](const Record& record) {
    const auto& [id, sequence, when, kind, severity, service, rule, subject, text, output] = record;
    add_record_.run(id == 0 ? std::nullopt : std::optional(id), sequence, when, to_string(kind), to_string(severity),
                    service, rule, subject, text, output);
    ++record_count_;
    record_bytes_ += bytes_of(record);
    const bool started = kind == RecordKind::DaemonStarted;
    if (started) put_meta_.run("boot", subject);
    if (started || kind == RecordKind::DaemonStopped) put_meta_.run("alive", started);
  };
  if (batch.lost().count > 0) {  // the gap itself belongs to the history
    Record gap;
    gap.id = batch.lost().last_id;
    gap.sequence = batch.lost().last_sequence;
    gap.when = batch.lost().last_when;
    gap.kind = RecordKind::StoreSick;
    gap.severity = Severity::Warning;
    gap.text =
        fmt::format("{} records up to this one are lost: too many to be kept while the state could not be written",
                    batch.lost().count);
    add(gap);
  }
  for (const Record& record : batch.records()) add(record);
}

void TableWriter::write_acts(const Batch& batch) {
  for (const auto& [action, pending] : batch.execs()) {
    const auto& [exec, started] = pending;
    const auto& [id, service, rule, recovery, command, cause, job, foreground, healing, unsaved] = exec;
    const auto& [arguments, identity, timeout] = command;
    const auto& [uid, gid, user, home, group] = *identity;
    add_exec_.bind(id.number(), started, service.number(), rule, recovery, uid, gid, user, home, group, timeout,
                   job.number(), foreground, healing.number());
    bind_cause(add_exec_, cause.get());
    add_exec_.run_bound();
    std::size_t position = 0;
    for (const std::string& argument : arguments) add_argument_.run(action.number(), position++, argument);
    cut_arguments_.run(action.number(), position);
  }
  for (const ActionId action : batch.started()) start_exec_.run(action.number());
  for (const ActionId action : batch.ended()) {
    end_exec_.run(action.number());
    end_arguments_.run(action.number());
  }
  for (const auto& [key, alert] : batch.alerts()) {
    const auto& [id, recipients, cause, incident, reminds] = alert;
    add_alert_.bind(id.number(), incident, reminds);
    bind_cause(add_alert_, cause.get());
    add_alert_.run_bound();
    std::size_t position = 0;
    for (const auto& [address, events, listed, reminder, digest, format, contact] : recipients) {
      const auto& [from, reply_to, subject, message] = format;
      add_recipient_.run(id.number(), position++, address, words(events), listed, reminder, digest, contact, from,
                         reply_to, subject, message);
    }
    cut_recipients_.run(id.number(), position);
  }
  for (const AlertId alert : batch.handed_over()) {
    end_alert_.run(alert.number());
    end_recipients_.run(alert.number());
  }
}

void TableWriter::write_jobs(const Batch& batch) {
  for (const auto& [key, saved] : batch.jobs()) {
    const auto& [id, kind, service, steps, position, action, unmonitor, by, cause, begun] = saved;
    save_job_.bind(id.number(), to_string(kind), service, position, action.number(), unmonitor, by, begun);
    bind_cause(save_job_, cause.get());
    save_job_.run_bound();
    std::size_t number = 0;
    for (const auto& [name, step, named] : steps) save_step_.run(id.number(), number++, name, verb(step), named);
    cut_steps_.run(id.number(), number);
  }
  for (const auto& [key, moved] : batch.moved_jobs()) {
    const auto& [id, position, action, begun] = moved;
    move_job_.run(id.number(), position, action.number(), begun);
  }
  for (const JobId job : batch.ended_jobs()) {
    end_job_.run(job.number());
    end_steps_.run(job.number());
  }
}

void TableWriter::write_sources(const std::vector<SavedSource>& sources) {
  clear_sources_.run();
  std::size_t position = 0;
  for (const SavedSource& source : sources) add_source_.run(position++, source.path, source.text);
  add_source_.unbind();
}

bool forget_open(Database& database) {
  return database.execute(
      "BEGIN; DELETE FROM execs; DELETE FROM exec_arguments; DELETE FROM alerts; DELETE FROM alert_recipients; "
      "DELETE FROM jobs; DELETE FROM job_steps; DELETE FROM healings; COMMIT");
}

bool keep_word(Database& database, const Hash128& word) {
  return database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('word_high', ?), ('word_low', ?)")
      .run(word.high, word.low);
}

// ---- reading ------------------------------------------------------------------------------------------------------

Hash128 read_word(Database& database) {
  Hash128 word;
  database
      .prepare(
          "SELECT high.value, low.value FROM meta AS high, meta AS low "
          "WHERE high.name = 'word_high' AND low.name = 'word_low'")
      .rows([&word](Statement& row) { row.read(word.high, word.low); });
  return word;
}

void read_numbers(Database& database, SavedState& state) {
  const auto meta = [&database](std::string_view name) {
    return static_cast<std::uint64_t>(database.number(fmt::format("SELECT value FROM meta WHERE name = '{}'", name)));
  };
  state.last_sequence = meta("last_sequence");
  state.last_id = meta("last_id");
  state.boot = meta("boot");
  state.last_record = newest_record(database);
  const std::int64_t seen = database.number("SELECT when_ms FROM records ORDER BY id DESC LIMIT 1");
  if (seen != 0) state.seen = WallTime{milliseconds{seen}};
  if (meta("alive") != 0) state.died = WallTime{milliseconds{seen}};
}

namespace {

void read_execs(Database& database, SavedState& state) {
  std::unordered_map<std::uint64_t, std::vector<std::string>> arguments;
  database.prepare("SELECT action, text FROM exec_arguments ORDER BY action, position").rows([&](Statement& row) {
    std::uint64_t action = 0;
    std::string text;
    row.read(action, text);
    arguments[action].push_back(std::move(text));
  });
  database
      .prepare(
          fmt::format("SELECT action, started, slot, rule, recovery, uid, gid, user, home, group_name, timeout_ms, "
                      "job, foreground, healing, {} FROM execs ORDER BY action",
                      kCauseColumns))
      .rows([&](Statement& row) {
        std::uint64_t action = 0;
        std::uint64_t job = 0;
        std::uint64_t healing = 0;
        std::uint32_t slot = 0;
        PendingExec pending;
        effect::Exec& exec = pending.exec;
        Identity& identity = exec.command.identity.edit();
        CauseColumns cause;
        cause.read(row, action, pending.started, slot, exec.rule, exec.recovery, identity.uid, identity.gid,
                   identity.user, identity.home, identity.group, exec.command.timeout, job, exec.foreground, healing);
        exec.job = JobId(job);
        exec.healing = HealingId(healing);
        exec.action = ActionId(action);
        exec.service = ServiceId(slot);
        exec.cause = cause.cause();
        exec.command.arguments = std::move(arguments[action]);
        state.execs.push_back(std::move(pending));
      });
}

void read_alerts(Database& database, SavedState& state) {
  std::unordered_map<std::uint64_t, std::vector<Recipient>> recipients;
  database
      .prepare(
          "SELECT alert, address, events, listed, reminder, digest, contact, format_from, format_reply_to, "
          "format_subject, format_message "
          "FROM alert_recipients ORDER BY alert, position")
      .rows([&](Statement& row) {
        std::uint64_t alert = 0;
        std::string events;
        Recipient recipient;
        MailFormat& format = recipient.format;
        row.read(alert, recipient.address, events, recipient.listed, recipient.reminder, recipient.digest,
                 recipient.contact, format.from, format.reply_to, format.subject, format.message);
        recipient.events = mask_of(events);
        recipients[alert].push_back(std::move(recipient));
      });
  database.prepare(fmt::format("SELECT alert, incident, is_reminder, {} FROM alerts ORDER BY alert", kCauseColumns))
      .rows([&](Statement& row) {
        std::uint64_t id = 0;
        std::string incident;
        bool reminds = false;
        CauseColumns cause;
        cause.read(row, id, incident, reminds);
        state.alerts.push_back({AlertId(id), std::move(recipients[id]), cause.cause(), std::move(incident), reminds});
      });
}

void read_jobs(Database& database, SavedState& state) {
  std::unordered_map<std::uint64_t, std::vector<effect::SavedStep>> steps;
  database.prepare("SELECT job, service, kind, named FROM job_steps ORDER BY job, position").rows([&](Statement& row) {
    std::uint64_t job = 0;
    std::string service, kind;
    bool named = false;
    row.read(job, service, kind, named);
    steps[job].push_back({std::move(service), step_of(kind), named});
  });
  database
      .prepare(fmt::format("SELECT job, kind, service, position, action, unmonitor, asked_by, begun_ms, {} FROM jobs "
                           "ORDER BY job",
                           kCauseColumns))
      .rows([&](Statement& row) {
        std::uint64_t id = 0, action = 0;
        std::string kind;
        effect::SavedJob job;
        CauseColumns cause;
        cause.read(row, id, kind, job.service, job.position, action, job.unmonitor, job.by, job.begun);
        job.job = JobId(id);
        job.kind = action_kind_of(kind);
        job.action = ActionId(action);
        job.steps = std::move(steps[id]);
        job.cause = cause.cause();
        state.jobs.push_back(std::move(job));
      });
}

}  // namespace

SavedState read_state(Database& database, DamagedJournal& damaged) {
  SavedState state;
  read_numbers(database, state);
  state.word = read_word(database);
  read_services(database, state);
  read_heartbeats(database, state);
  read_execs(database, state);
  read_alerts(database, state);
  read_jobs(database, state);
  read_healings(database, state, damaged);
  state.wide_pauses = read_pauses(database);
  state.occurrences = read_occurrences(database, damaged.notes);
  return state;
}

std::vector<SavedSource> read_sources(Database& database) {
  std::vector<SavedSource> sources;
  database.prepare("SELECT path, text FROM sources ORDER BY position").rows([&sources](Statement& row) {
    SavedSource source;
    row.read(source.path, source.text);
    sources.push_back(std::move(source));
  });
  return sources;
}

}  // namespace healer::store
