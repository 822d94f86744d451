// SPDX-License-Identifier: MIT
#include "store/sqlite_schema.hpp"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <string>

namespace healer::store {
namespace {

// migrations[i] leads from version i to version i + 1. What is published is never changed, only added to.
constexpr std::array<const char*, 12> kMigrations{
    R"sql(
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
)sql",
    // Version 2: processes, starts and stops.
    R"sql(
ALTER TABLE services ADD COLUMN last_pid INTEGER;
ALTER TABLE services ADD COLUMN last_parent INTEGER;
ALTER TABLE services ADD COLUMN quick_starts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN last_start_ms INTEGER;
ALTER TABLE services ADD COLUMN not_before_ms INTEGER;
ALTER TABLE services ADD COLUMN restarted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN paused_until_ms INTEGER;
ALTER TABLE services ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN paused_by TEXT NOT NULL DEFAULT '';

ALTER TABLE rules ADD COLUMN again_bits INTEGER NOT NULL DEFAULT 0;

ALTER TABLE execs ADD COLUMN job INTEGER NOT NULL DEFAULT 0;
ALTER TABLE execs ADD COLUMN cause_pid INTEGER;
ALTER TABLE execs ADD COLUMN cause_memory_kb INTEGER;
ALTER TABLE execs ADD COLUMN cause_children INTEGER;
ALTER TABLE execs ADD COLUMN cause_cpu_percent REAL;

ALTER TABLE alerts ADD COLUMN cause_pid INTEGER;
ALTER TABLE alerts ADD COLUMN cause_memory_kb INTEGER;
ALTER TABLE alerts ADD COLUMN cause_children INTEGER;
ALTER TABLE alerts ADD COLUMN cause_cpu_percent REAL;

CREATE TABLE jobs(
  job INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  service TEXT NOT NULL,
  position INTEGER NOT NULL,
  action INTEGER NOT NULL,
  unmonitor INTEGER NOT NULL,
  asked_by TEXT NOT NULL,
  begun_ms INTEGER NOT NULL,
  cause_service TEXT,
  cause_event TEXT,
  cause_state TEXT,
  cause_event_text TEXT,
  cause_action_text TEXT,
  cause_description TEXT,
  cause_rule TEXT,
  cause_when_ms INTEGER,
  cause_program_status INTEGER,
  cause_pid INTEGER,
  cause_memory_kb INTEGER,
  cause_children INTEGER,
  cause_cpu_percent REAL
);
CREATE TABLE job_steps(
  job INTEGER NOT NULL,
  position INTEGER NOT NULL,
  service TEXT NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY(job, position)
) WITHOUT ROWID;
)sql",
    // Version 3: foreground processes, digests; whom a job is for; whose pid file it is; how the last life ended.
    R"sql(
ALTER TABLE execs ADD COLUMN foreground INTEGER NOT NULL DEFAULT 0;

ALTER TABLE alert_recipients ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;

ALTER TABLE job_steps ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
UPDATE job_steps SET named = 1 WHERE service = (SELECT service FROM jobs WHERE jobs.job = job_steps.job);

ALTER TABLE services ADD COLUMN left_by INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN known_pid INTEGER;
ALTER TABLE services ADD COLUMN known_start_ticks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN known_file_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN known_doubtful INTEGER NOT NULL DEFAULT 0;

INSERT INTO meta(name, value) SELECT 'alive', kind = 'daemon-started' FROM records
  WHERE kind IN ('daemon-started', 'daemon-stopped') ORDER BY id DESC LIMIT 1;
)sql",
    // Version 4: which pid file named the process that is known, and why that is not signalled; what it came of; what
    // rules are known by over edits, before by their whole text alone; what has become of actions; when periods began.
    R"sql(
ALTER TABLE services ADD COLUMN known_doubt TEXT NOT NULL DEFAULT 'none';
UPDATE services SET known_doubt = 'younger' WHERE known_doubtful != 0;
ALTER TABLE services DROP COLUMN known_doubtful;
ALTER TABLE services ADD COLUMN known_path TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN came_by INTEGER NOT NULL DEFAULT 0;

ALTER TABLE rules ADD COLUMN judged INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rules ADD COLUMN born INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rules ADD COLUMN text_key TEXT NOT NULL DEFAULT '00000000000000000000000000000000';
ALTER TABLE rules ADD COLUMN condition_key TEXT NOT NULL DEFAULT '00000000000000000000000000000000';
ALTER TABLE rules ADD COLUMN actions_key TEXT NOT NULL DEFAULT '00000000000000000000000000000000';
ALTER TABLE rules ADD COLUMN action TEXT NOT NULL DEFAULT 'alert';
UPDATE rules SET judged = 1, text_key = key;

ALTER TABLE services ADD COLUMN first_ms INTEGER;
ALTER TABLE services ADD COLUMN failed_rule TEXT NOT NULL DEFAULT '00000000000000000000000000000000';
ALTER TABLE services ADD COLUMN action_failed_ms INTEGER;
ALTER TABLE services ADD COLUMN action_failure TEXT NOT NULL DEFAULT '';
)sql",
    // Version 5: what tests remember is a row for each attribute, whatever the kind of the service.
    R"sql(
CREATE TABLE baselines(
  service TEXT NOT NULL,
  what TEXT NOT NULL,
  number INTEGER,
  text TEXT,
  PRIMARY KEY(service, what)
) WITHOUT ROWID;
INSERT INTO baselines(service, what, number) SELECT name, 'status', last_status FROM services WHERE memory = 'program';
INSERT INTO baselines(service, what, number) SELECT name, 'pid', last_pid FROM services WHERE memory = 'process';
INSERT INTO baselines(service, what, number) SELECT name, 'parent', last_parent FROM services WHERE memory = 'process';
ALTER TABLE services DROP COLUMN memory;
ALTER TABLE services DROP COLUMN last_status;
ALTER TABLE services DROP COLUMN last_pid;
ALTER TABLE services DROP COLUMN last_parent;
)sql",
    // Version 6: healings, and what is remembered of targets and workflows; `state` is JSON.
    R"sql(
ALTER TABLE execs ADD COLUMN healing INTEGER NOT NULL DEFAULT 0;

CREATE TABLE healings(
  healing INTEGER PRIMARY KEY,
  target TEXT NOT NULL,
  state TEXT NOT NULL
);
CREATE TABLE healing_targets(
  target TEXT NOT NULL COLLATE NOCASE,
  rehearsed INTEGER NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY(target, rehearsed)
);
CREATE TABLE healing_workflows(
  workflow TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
  state TEXT NOT NULL
);
CREATE TABLE closed_brakes(
  position INTEGER PRIMARY KEY,
  state TEXT NOT NULL
);
)sql",
    // Version 7: pauses of groups and of everything, and what people have acknowledged.
    R"sql(
CREATE TABLE wide_pauses(
  scope TEXT NOT NULL COLLATE NOCASE PRIMARY KEY,
  until_ms INTEGER,
  reason TEXT NOT NULL,
  paused_by TEXT NOT NULL
);
ALTER TABLE services ADD COLUMN acknowledged_ms INTEGER;
ALTER TABLE services ADD COLUMN acknowledged_by TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN acknowledge_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE rules ADD COLUMN told TEXT NOT NULL DEFAULT 'alerted';
)sql",
    // Version 8: how a service came to be unmonitored. NULL in taken_out_by: it was not told.
    R"sql(
ALTER TABLE services ADD COLUMN taken_out_by TEXT;
ALTER TABLE services ADD COLUMN taken_out_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE services ADD COLUMN taken_out_service TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN taken_out_rule TEXT NOT NULL DEFAULT '';
ALTER TABLE services ADD COLUMN taken_out_until_ms INTEGER;
)sql",
    // Version 9: alerts to contacts; what an alert is about.
    R"sql(
ALTER TABLE alerts ADD COLUMN incident TEXT NOT NULL DEFAULT '';
ALTER TABLE alerts ADD COLUMN is_reminder INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alert_recipients ADD COLUMN contact INTEGER NOT NULL DEFAULT 0;
)sql",
    // Version 10: heartbeats, which change by themselves.
    R"sql(
CREATE TABLE heartbeats(
  service TEXT NOT NULL PRIMARY KEY,
  since_ms INTEGER NOT NULL,
  word TEXT NOT NULL,
  status INTEGER NOT NULL,
  text TEXT NOT NULL,
  started_ms INTEGER,
  ran_ms INTEGER,
  missed_ms INTEGER
) WITHOUT ROWID;
)sql",
    // Version 11: events, and what of them programs and alerts are told. `state` is JSON; an empty document is none.
    R"sql(
CREATE TABLE occurrences(
  number INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  document TEXT
);
ALTER TABLE execs ADD COLUMN cause_occurrence INTEGER;
ALTER TABLE execs ADD COLUMN cause_fields TEXT;
ALTER TABLE alerts ADD COLUMN cause_occurrence INTEGER;
ALTER TABLE alerts ADD COLUMN cause_fields TEXT;
ALTER TABLE jobs ADD COLUMN cause_occurrence INTEGER;
ALTER TABLE jobs ADD COLUMN cause_fields TEXT;
)sql",
    // Version 12: users and groups of programs that are looked up when they begin. An earlier healer, which would take
    // one without a number for its own user, must not read them.
    R"sql(
ALTER TABLE execs ADD COLUMN group_name TEXT NOT NULL DEFAULT '';
)sql"};

}  // namespace

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
  Statement query = database.prepare("SELECT count(*) FROM sqlite_schema WHERE type = ? AND name = ? AND sql = ?");
  (*pattern)->prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").rows([&](Statement& row) {
    std::string type, name, sql;
    row.read(type, name, sql);
    int count = 0;
    query.rows([&count](Statement& found) { found.read(count); }, type, name, sql);
    all = all && count == 1;
  });
  return all && database.ok();
}

}  // namespace healer::store
