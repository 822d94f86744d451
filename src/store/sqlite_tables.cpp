// SPDX-License-Identifier: MIT
#include "store/sqlite_tables.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <utility>

namespace healer::store {

using namespace engine;

namespace {

// migrations[i] leads from version i to version i + 1. What is published is never changed, only added to.
constexpr std::array<const char*, 1> kMigrations{R"sql(
CREATE TABLE meta(
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE services(
  name TEXT PRIMARY KEY,
  monitored INTEGER NOT NULL,
  memory TEXT NOT NULL,
  last_status INTEGER,
  cron_minute INTEGER,
  boot INTEGER NOT NULL,
  saved_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE rules(
  service TEXT NOT NULL,
  position INTEGER NOT NULL,
  key TEXT NOT NULL,
  window_bits INTEGER NOT NULL,
  status TEXT NOT NULL,
  since_fired INTEGER NOT NULL,
  failing_since_ms INTEGER,
  clear_since_ms INTEGER,
  changed_ms INTEGER,
  accepted INTEGER NOT NULL,
  PRIMARY KEY(service, position)
) WITHOUT ROWID;

CREATE TABLE records(
  id INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL,
  when_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  severity TEXT NOT NULL,
  service TEXT NOT NULL COLLATE NOCASE,
  rule TEXT NOT NULL,
  subject INTEGER NOT NULL,
  text TEXT NOT NULL,
  output TEXT NOT NULL
);
CREATE INDEX records_by_sequence ON records(sequence);
CREATE INDEX records_by_service ON records(service, sequence);
CREATE INDEX records_by_time ON records(when_ms);

CREATE TABLE execs(
  action INTEGER PRIMARY KEY,
  started INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  rule TEXT NOT NULL,
  recovery INTEGER NOT NULL,
  uid INTEGER,
  gid INTEGER,
  user TEXT NOT NULL,
  home TEXT NOT NULL,
  timeout_ms INTEGER NOT NULL,
  cause_service TEXT,
  cause_event TEXT,
  cause_state TEXT,
  cause_event_text TEXT,
  cause_action_text TEXT,
  cause_description TEXT,
  cause_rule TEXT,
  cause_when_ms INTEGER,
  cause_program_status INTEGER
);
CREATE TABLE exec_arguments(
  action INTEGER NOT NULL,
  position INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY(action, position)
) WITHOUT ROWID;

CREATE TABLE alerts(
  alert INTEGER PRIMARY KEY,
  cause_service TEXT,
  cause_event TEXT,
  cause_state TEXT,
  cause_event_text TEXT,
  cause_action_text TEXT,
  cause_description TEXT,
  cause_rule TEXT,
  cause_when_ms INTEGER,
  cause_program_status INTEGER
);
CREATE TABLE alert_recipients(
  alert INTEGER NOT NULL,
  position INTEGER NOT NULL,
  address TEXT NOT NULL,
  events TEXT NOT NULL,
  listed INTEGER NOT NULL,
  reminder INTEGER NOT NULL,
  format_from TEXT,
  format_reply_to TEXT,
  format_subject TEXT,
  format_message TEXT,
  PRIMARY KEY(alert, position)
) WITHOUT ROWID;

CREATE TABLE sources(
  position INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  text TEXT NOT NULL
);
)sql"};

constexpr std::uint64_t kPruneStep = 256;       // records that one transaction prunes beyond what it adds
constexpr std::uint64_t kRecordOverhead = 120;  // of a row and its entries in the indexes, about
constexpr std::string_view kRecordBytes =
    "length(CAST(text AS BLOB)) + length(CAST(output AS BLOB)) + 2 * length(CAST(service AS BLOB)) + 120";

// ---- words --------------------------------------------------------------------------------------------------------

constexpr std::string_view kOk = "ok";
constexpr std::string_view kFailed = "failed";
constexpr std::string_view kNoMemory = "none";
constexpr std::string_view kProgramMemory = "program";
constexpr std::string_view kAllEvents = "all";
constexpr std::array<std::string_view, 3> kStates{"succeeded", "failed", "changed"};

std::string_view word(effect::Cause::State state) { return kStates[static_cast<std::size_t>(state)]; }

effect::Cause::State state_of(std::string_view text) {
  const auto found = std::ranges::find(kStates, text);
  return found == kStates.end() ? effect::Cause::State::Failed
                                : static_cast<effect::Cause::State>(found - kStates.begin());
}

Severity severity_of(std::string_view text) {
  for (const auto severity : {Severity::Debug, Severity::Info, Severity::Warning})
    if (text == to_string(severity)) return severity;
  return Severity::Error;
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
    "cause_when_ms, cause_program_status";

void bind_cause(Statement& statement, const effect::Cause* cause) {
  if (cause == nullptr) {
    for (int i = 0; i < 9; ++i) statement.bind_next(std::optional<std::int64_t>());
    return;
  }
  const auto& [service, event, state, event_text, action_text, description, rule, when, program_status, process] =
      *cause;
  statement.bind_next(service);
  statement.bind_next(to_string(event));
  statement.bind_next(word(state));
  statement.bind_next(event_text);
  statement.bind_next(action_text);
  statement.bind_next(description);
  statement.bind_next(rule);
  statement.bind_next(when);
  statement.bind_next(program_status);
}

/// Reads the nine columns of a cause; they are read as text where they are NULL, so `service` says whether there is
/// one.
struct CauseColumns {
  std::optional<std::string> service;
  std::string event, state, event_text, action_text, description, rule;
  WallTime when{};
  std::int64_t program_status = 0;

  [[nodiscard]] std::shared_ptr<const effect::Cause> cause() {
    if (!service) return nullptr;
    return std::make_shared<const effect::Cause>(
        effect::Cause{std::move(*service), event_of(event), state_of(state), std::move(event_text),
                      std::move(action_text), std::move(description), std::move(rule), when, program_status});
  }
};

}  // namespace

// ---- schema -------------------------------------------------------------------------------------------------------

std::int32_t schema_version() { return static_cast<std::int32_t>(kMigrations.size()); }

bool migrate(Database& database) {
  const auto version = static_cast<std::size_t>(database.number("PRAGMA user_version"));
  if (!database.ok() || version >= kMigrations.size()) return database.ok();
  database.execute("BEGIN IMMEDIATE");
  for (std::size_t i = version; i < kMigrations.size(); ++i) database.execute(kMigrations[i]);
  database.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  database.execute(fmt::format("PRAGMA user_version = {}", kMigrations.size()).c_str());
  return database.execute("COMMIT");
}

bool has_schema(Database& database) {
  auto pattern = Database::open(":memory:", Database::Mode::Write, Duration{0});
  if (!pattern || !migrate(**pattern)) return false;
  bool all = true;
  Statement look = database.prepare("SELECT count(*) FROM sqlite_schema WHERE type = ? AND name = ? AND sql = ?");
  (*pattern)->prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").rows([&](Statement& row) {
    std::string type, name, sql;
    row.read(type, name, sql);
    int count = 0;
    look.rows([&count](Statement& found) { found.read(count); }, type, name, sql);
    all = all && count == 1;
  });
  return all && database.ok();
}

// ---- writing ------------------------------------------------------------------------------------------------------

TableWriter::TableWriter(Database& database, Retention retention) : database_(database), retention_(retention) {
  const auto prepare = [&database](std::string_view sql) { return database.prepare(sql); };
  begin_ = prepare("BEGIN IMMEDIATE");
  commit_ = prepare("COMMIT");
  rollback_ = prepare("ROLLBACK");
  set_meta_ =
      prepare("INSERT INTO meta(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = max(value, ?2)");

  add_record_ = prepare(
      "INSERT INTO records(sequence, when_ms, kind, severity, service, rule, subject, text, output) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)");
  oldest_records_ = prepare(fmt::format("SELECT id, {} FROM records ORDER BY id LIMIT ?", kRecordBytes));
  prune_records_ = prepare("DELETE FROM records WHERE id <= ?");

  save_service_ = prepare(
      "INSERT OR REPLACE INTO services(name, monitored, memory, last_status, cron_minute, boot, saved_ms) "
      "VALUES(?, ?, ?, ?, ?, ?, ?)");
  save_rule_ = prepare(
      "INSERT OR REPLACE INTO rules(service, position, key, window_bits, status, since_fired, failing_since_ms, "
      "clear_since_ms, changed_ms, accepted) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  cut_rules_ = prepare("DELETE FROM rules WHERE service = ? AND position >= ?");
  forget_service_ = prepare("DELETE FROM services WHERE name = ?");
  forget_rules_ = prepare("DELETE FROM rules WHERE service = ?");

  add_exec_ = prepare(fmt::format(
      "INSERT OR REPLACE INTO execs(action, started, slot, rule, recovery, uid, gid, user, home, timeout_ms, {}) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      kCauseColumns));
  add_argument_ = prepare("INSERT OR REPLACE INTO exec_arguments(action, position, text) VALUES(?, ?, ?)");
  cut_arguments_ = prepare("DELETE FROM exec_arguments WHERE action = ? AND position >= ?");
  start_exec_ = prepare("UPDATE execs SET started = 1 WHERE action = ?");
  end_exec_ = prepare("DELETE FROM execs WHERE action = ?");
  end_arguments_ = prepare("DELETE FROM exec_arguments WHERE action = ?");

  add_alert_ = prepare(
      fmt::format("INSERT OR REPLACE INTO alerts(alert, {}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", kCauseColumns));
  add_recipient_ = prepare(
      "INSERT OR REPLACE INTO alert_recipients(alert, position, address, events, listed, reminder, "
      "format_from, format_reply_to, format_subject, format_message) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  cut_recipients_ = prepare("DELETE FROM alert_recipients WHERE alert = ? AND position >= ?");
  end_alert_ = prepare("DELETE FROM alerts WHERE alert = ?");
  end_recipients_ = prepare("DELETE FROM alert_recipients WHERE alert = ?");

  clear_sources_ = prepare("DELETE FROM sources");
  add_source_ = prepare("INSERT INTO sources(position, path, text) VALUES(?, ?, ?)");

  prepare(fmt::format("SELECT count(*), sum({}) FROM records", kRecordBytes)).rows([this](Statement& row) {
    row.read(record_count_, record_bytes_);
  });
}

// The structs are taken apart by name: one that gains a field does not compile until it is saved here.

bool TableWriter::write(const Batch& batch) {
  const auto count_before = record_count_;
  const auto bytes_before = record_bytes_;
  if (begin_.run()) {
    write_records(batch);
    write_services(batch);
    write_acts(batch);
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
    const auto& [sequence, when, kind, severity, service, rule, subject, text, output] = record;
    add_record_.run(sequence, when, to_string(kind), to_string(severity), service, rule, subject, text, output);
    ++record_count_;
    record_bytes_ += bytes_of(record);
  };
  if (batch.lost().count > 0) {  // the gap itself belongs to the history
    Record gap;
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

void TableWriter::write_services(const Batch& batch) {
  for (const std::string& name : batch.forgotten()) {
    forget_service_.run(name);
    forget_rules_.run(name);
  }
  for (const auto& [name, service] : batch.services()) {
    const auto& [monitored, memory, cron_minute, boot, saved, starts, pause, rules] = service;
    const auto* const program = std::get_if<ProgramMemory>(&memory);
    save_service_.run(name, monitored, program == nullptr ? kNoMemory : kProgramMemory,
                      program == nullptr ? std::nullopt : program->last_status, cron_minute, boot, saved);
    std::size_t position = 0;
    for (const auto& [key, rule] : rules) {
      const auto& [window, status, since_fired, failing_since, clear_since, changed, again, accepted] = rule;
      save_rule_.run(name, position++, key, window.bits, status == RuleStatus::Failed ? kFailed : kOk, since_fired,
                     failing_since, clear_since, changed, accepted);
    }
    cut_rules_.run(name, position);
  }
}

void TableWriter::write_acts(const Batch& batch) {
  for (const auto& [action, pending] : batch.execs()) {
    const auto& [exec, started] = pending;
    const auto& [id, service, rule, recovery, command, cause, job] = exec;
    const auto& [arguments, identity, timeout] = command;
    const auto& [uid, gid, user, home] = identity;
    add_exec_.bind(id.number(), started, service.number(), rule, recovery, uid, gid, user, home, timeout);
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
    const auto& [id, recipients, cause] = alert;
    add_alert_.bind(id.number());
    bind_cause(add_alert_, cause.get());
    add_alert_.run_bound();
    std::size_t position = 0;
    for (const auto& [address, events, listed, reminder, format] : recipients) {
      const auto& [from, reply_to, subject, message] = format;
      add_recipient_.run(id.number(), position++, address, words(events), listed, reminder, from, reply_to, subject,
                         message);
    }
    cut_recipients_.run(id.number(), position);
  }
  for (const AlertId alert : batch.handed_over()) {
    end_alert_.run(alert.number());
    end_recipients_.run(alert.number());
  }
}

void TableWriter::write_sources(const std::vector<SavedSource>& sources) {
  clear_sources_.run();
  std::size_t position = 0;
  for (const SavedSource& source : sources) add_source_.run(position++, source.path, source.text);
}

void TableWriter::prune() {
  if (record_count_ <= retention_.records && record_bytes_ <= retention_.bytes) return;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t last = 0;
  // What one transaction adds is bounded, so this is: it removes as much as is too much, up to a step beyond the
  // limits.
  const std::uint64_t too_many = record_count_ > retention_.records ? record_count_ - retention_.records : 0;
  oldest_records_.rows(
      [&](Statement& row) {
        if (count >= too_many && record_bytes_ - bytes <= retention_.bytes) return;
        std::uint64_t size = 0;
        row.read(last, size);
        ++count;
        bytes += size;
      },
      std::max(too_many, kPruneStep));
  if (count == 0) return;
  prune_records_.run(last);
  record_count_ -= count;
  record_bytes_ -= std::min(bytes, record_bytes_);
}

// ---- reading ------------------------------------------------------------------------------------------------------

void read_numbers(Database& database, SavedState& state) {
  state.last_sequence = static_cast<Sequence>(database.number("SELECT value FROM meta WHERE name = 'last_sequence'"));
  state.last_id = static_cast<std::uint64_t>(database.number("SELECT value FROM meta WHERE name = 'last_id'"));
}

void read_services(Database& database, SavedState& state) {
  database.prepare("SELECT name, memory, last_status, monitored, cron_minute, boot, saved_ms FROM services")
      .rows([&state](Statement& row) {
        std::string name, memory;
        ProgramMemory program;
        SavedService service;
        row.read(name, memory, program.last_status, service.monitored, service.cron_minute, service.boot,
                 service.saved);
        if (memory == kProgramMemory) service.memory = program;
        state.services.insert_or_assign(std::move(name), std::move(service));
      });
  database
      .prepare(
          "SELECT service, key, window_bits, status, since_fired, failing_since_ms, clear_since_ms, changed_ms, "
          "accepted FROM rules ORDER BY service, position")
      .rows([&state](Statement& row) {
        std::string name, status;
        Hash128 key;
        RuleState rule;
        row.read(name, key, rule.window.bits, status, rule.since_fired, rule.failing_since, rule.clear_since,
                 rule.changed, rule.accepted);
        rule.status = status == kFailed ? RuleStatus::Failed : RuleStatus::Ok;
        if (const auto service = state.services.find(name); service != state.services.end())
          service->second.rules.emplace_back(key, rule);
      });
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
      .prepare(fmt::format("SELECT action, started, slot, rule, recovery, uid, gid, user, home, timeout_ms, {} "
                           "FROM execs ORDER BY action",
                           kCauseColumns))
      .rows([&](Statement& row) {
        std::uint64_t action = 0;
        std::uint32_t slot = 0;
        PendingExec pending;
        effect::Exec& exec = pending.exec;
        Identity& identity = exec.command.identity;
        CauseColumns cause;
        row.read(action, pending.started, slot, exec.rule, exec.recovery, identity.uid, identity.gid, identity.user,
                 identity.home, exec.command.timeout, cause.service, cause.event, cause.state, cause.event_text,
                 cause.action_text, cause.description, cause.rule, cause.when, cause.program_status);
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
          "SELECT alert, address, events, listed, reminder, format_from, format_reply_to, format_subject, "
          "format_message "
          "FROM alert_recipients ORDER BY alert, position")
      .rows([&](Statement& row) {
        std::uint64_t alert = 0;
        std::string events;
        Recipient recipient;
        MailFormat& format = recipient.format;
        row.read(alert, recipient.address, events, recipient.listed, recipient.reminder, format.from, format.reply_to,
                 format.subject, format.message);
        recipient.events = mask_of(events);
        recipients[alert].push_back(std::move(recipient));
      });
  database.prepare(fmt::format("SELECT alert, {} FROM alerts ORDER BY alert", kCauseColumns)).rows([&](Statement& row) {
    std::uint64_t id = 0;
    CauseColumns cause;
    row.read(id, cause.service, cause.event, cause.state, cause.event_text, cause.action_text, cause.description,
             cause.rule, cause.when, cause.program_status);
    state.alerts.push_back({AlertId(id), std::move(recipients[id]), cause.cause()});
  });
}

}  // namespace

SavedState read_state(Database& database) {
  SavedState state;
  read_numbers(database, state);
  read_services(database, state);
  read_execs(database, state);
  read_alerts(database, state);
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

std::vector<Record> read_history(Database& database, const HistoryQuery& query) {
  std::string sql =
      "SELECT sequence, when_ms, kind, severity, service, rule, subject, text, output FROM records WHERE sequence > ?1";
  if (!query.service.empty()) sql += " AND service = ?2";
  if (query.since) sql += " AND when_ms >= ?3";
  if (!query.kinds.empty()) {
    sql += " AND kind IN ('";
    for (std::size_t i = 0; i < query.kinds.size(); ++i) {
      if (i > 0) sql += "', '";
      sql += to_string(query.kinds[i]);  // our own words, never a person's
    }
    sql += "')";
  }
  sql += " ORDER BY sequence DESC, id DESC LIMIT ?4";
  std::vector<Record> records;
  database.prepare(sql).rows(
      [&records](Statement& row) {
        Record record;
        std::string kind, severity;
        row.read(record.sequence, record.when, kind, severity, record.service, record.rule, record.subject, record.text,
                 record.output);
        record.kind = record_kind(kind);
        record.severity = severity_of(severity);
        if (record.kind != RecordKind::Count_) records.push_back(std::move(record));
      },
      query.after, query.service, query.since.value_or(WallTime{}), query.limit);
  std::ranges::reverse(records);
  return records;
}

}  // namespace healer::store
