// SPDX-License-Identifier: MIT
// A state file that an older healer has left becomes one of this healer, with all that is in it.
#include <catch2/catch.hpp>

#include "engine/rules/service.hpp"
#include "store/sqlite_store.hpp"
#include "tests/store/raw.hpp"
#include "tests/store/samples.hpp"
#include "tests/support/child.hpp"

namespace migration_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

/// The schema of version 1, as it was published: it never changes.
constexpr const char* kVersion1 = R"sql(
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
)sql";

/// What version 2 added.
constexpr const char* kVersion2 = R"sql(
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
)sql";

/// What version 3 added.
constexpr const char* kVersion3 = R"sql(
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
)sql";

/// What version 4 added.
constexpr const char* kVersion4 = R"sql(
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
)sql";

/// What version 5 added.
constexpr const char* kVersion5 = R"sql(
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
)sql";

/// What version 6 added.
constexpr const char* kVersion6 = R"sql(
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
)sql";

/// What a healer of version 1 has left: a service with all it had, an act of each kind, some history.
constexpr const char* kLeft = R"sql(
INSERT INTO meta VALUES('last_sequence', 41), ('last_id', 1795000000013);
INSERT INTO services VALUES('web', 0, 'program', -3, 29916666, 7, 1795000999001), ('db', 1, 'none', NULL, NULL, 7, 5);
INSERT INTO rules VALUES('web', 0, '00000000000000090000000000000001', 3, 'failed', 4, 12, 0, -5, 1),
                        ('web', 1, '00000000000000010000000000000009', 0, 'ok', 0, NULL, NULL, NULL, 0);
INSERT INTO records VALUES(1, 41, 1795000041000, 'rule-failed', 'error', 'web', '00000000000000090000000000000001', 13,
                           'status failed (1) -- x', 'x');
INSERT INTO execs VALUES(12, 1, 3, '00000000000000090000000000000001', 0, 33, NULL, 'www-data', '/var/www', 600000,
                         'web', 'status', 'failed', 'Status failed', 'exec', 'status failed (1) -- x', 'if status',
                         1795000041000, 1);
INSERT INTO exec_arguments VALUES(12, 0, '/bin/heal'), (12, 1, 'web');
INSERT INTO alerts VALUES(13, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO alert_recipients VALUES(13, 0, 'root@localhost', 'all', 0, 3, NULL, NULL, 'down', NULL);
INSERT INTO sources VALUES(0, '/etc/healerrc', 'set daemon 5');
)sql";

/// What a healer of version 2 has left besides: a process that was restarted, with what depends on it.
constexpr const char* kLeftBySecond = R"sql(
INSERT INTO services VALUES('shop', 1, 'process', NULL, NULL, 7, 6, 4711, 1, 2, 1795000111001, NULL, 1, 0, NULL, '', '');
INSERT INTO jobs VALUES(14, 'restart', 'shop', 1, 0, 0, 'root', 1795000777001, 'shop', 'action', 'succeeded',
                        'Restarted', 'restart', 'Restarted by root', '', 1795000777001, 0, NULL, NULL, NULL, NULL);
INSERT INTO job_steps VALUES(14, 0, 'till', 'stop'), (14, 1, 'shop', 'stop'), (14, 2, 'shop', 'start'),
                            (14, 3, 'till', 'start');
)sql";

/// What a healer of version 3 has left besides: which process the pid file named.
constexpr const char* kLeftByThird = R"sql(
UPDATE services SET left_by = 9, known_pid = 4711, known_start_ticks = 5, known_file_ns = 6, known_doubtful = 1
  WHERE name = 'shop';
)sql";

void leave(const std::string& path, int version = 1) {
  Raw raw(path);
  raw("PRAGMA journal_mode = WAL");
  raw(kVersion1);
  raw(kLeft);
  if (version >= 2) raw(kVersion2);
  if (version >= 2) raw(kLeftBySecond);
  if (version >= 3) raw(kVersion3);
  if (version >= 3) raw(kLeftByThird);
  if (version >= 4) raw(kVersion4);
  if (version >= 5) raw(kVersion5);
  if (version >= 6) raw(kVersion6);
  raw("PRAGMA application_id = 1751474540; PRAGMA user_version = " + std::to_string(version));
}

std::unique_ptr<SqliteStore> open(const std::string& path) {
  auto opened = SqliteStore::open(path, {});
  REQUIRE(opened);
  return std::move(*opened);
}

/// Everything that is to be found after kLeft.
engine::SavedState left() {
  engine::SavedState state;
  state.last_sequence = 41;
  SavedService web;
  web.monitored = false;
  web.memory = {{{Attribute::Status, -3}}};
  web.cron_minute = 29'916'666;
  web.boot = 7;
  web.saved = wall(1'795'000'999'001);
  RuleState failed;
  failed.window.bits = 3;
  failed.status = RuleStatus::Failed;
  failed.since_fired = 4;
  failed.past.set(&RulePast::failing_since, Duration{12});
  failed.past.set(&RulePast::clear_since, Duration{0});
  failed.past.set(&RulePast::changed, wall(-5));
  failed.accepted = true;
  failed.judged = true;
  // They were known by their whole text alone.
  web.rules = {{{9, 1}, {.text = {9, 1}}, failed}, {{1, 9}, {.text = {1, 9}}, RuleState{.judged = true}}};
  SavedService db;
  db.boot = 7;
  db.saved = wall(5);
  web.reports_taken_out = db.reports_taken_out = false;
  state.services = {{"web", web}, {"db", db}};
  effect::Cause cause{"web",
                      EventKind::Status,
                      effect::Cause::State::Failed,
                      "Status failed",
                      "exec",
                      "status failed (1) -- x",
                      "if status",
                      wall(1'795'000'041'000),
                      1};
  effect::Exec exec;
  exec.action = ActionId(12);
  exec.service = ServiceId(3);
  exec.rule = {9, 1};
  exec.command = {{"/bin/heal", "web"}, Identity{33, std::nullopt, "www-data", "/var/www"}, minutes{10}};
  exec.cause = std::make_shared<const effect::Cause>(cause);
  state.execs = {{exec, true}};
  Recipient recipient{"root@localhost", EventMask{}.set(), false, 3, false, {}};
  recipient.format.subject = "down";
  state.alerts = {{AlertId(13), {recipient}, nullptr}};
  return state;
}

}  // namespace

TEST_CASE("a state of version 1 is brought up to date, and nothing in it is lost", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  leave(path);
  for (int times = 0; times < 2; ++times) {
    const auto store = open(path);
    CHECK(store->notes().empty());
    CHECK(store->damages().empty());
    const auto state = store->load().value();
    CHECK(describe(state) == describe(left()));
    CHECK(state.services == left().services);
    CHECK(state.last_id >= 1'795'000'000'013);
    CHECK(store->load_sources().value() == std::vector<SavedSource>{{"/etc/healerrc", "set daemon 5"}});
    CHECK(store->history({}).value().back().text == "status failed (1) -- x");
  }
}

TEST_CASE("a job of version 2 is for the service that it bears the name of, in later ones, too", "[store]") {
  healer::test::TemporaryDirectory directory;
  const int version = GENERATE(2, 3, 4, 5, 6);
  leave(in(directory, "state"), version);
  engine::SavedState expected = left();
  SavedService& shop = expected.services["shop"];
  shop.memory = {{{Attribute::Pid, 4711}, {Attribute::Parent, 1}}};
  shop.boot = 7;
  shop.saved = wall(6);
  shop.reports_taken_out = false;
  shop.starts = {.quick = 2, .last = wall(1'795'000'111'001), .restarted = true};
  if (version >= 3) {
    shop.starts.edit().left_by = ActionId(9);
    shop.known = KnownProcess{.pid = 4711, .start_ticks = 5, .file = 6, .doubt = Doubt::Younger, .path = {}};
  }
  effect::SavedJob job{.job = JobId(14),
                       .service = "shop",
                       .steps = {{"till", Bringing::Stop},
                                 {"shop", Bringing::Stop, true},
                                 {"shop", Bringing::Start, true},
                                 {"till", Bringing::Start}},
                       .position = 1,
                       .by = ByPerson{"root"},
                       .begun = wall(1'795'000'777'001)};
  job.cause = std::make_shared<const effect::Cause>(
      effect::Cause{"shop", EventKind::Action, effect::Cause::State::Succeeded, "Restarted", "restart",
                    "Restarted by root", "", wall(1'795'000'777'001), 0});
  expected.jobs = {job};
  for (int times = 0; times < 2; ++times) {
    const auto state = open(in(directory, "state"))->load().value();
    CHECK(describe(state) == describe(expected));
    CHECK(state.services == expected.services);
  }
}

TEST_CASE("the process that a pid file named is known of a state of version 3, and that it may be a stranger",
          "[store]") {
  healer::test::TemporaryDirectory directory;
  leave(in(directory, "state"), 3);
  const auto state = open(in(directory, "state"))->load().value();
  const SavedService& shop = state.services.at("shop");
  CHECK(shop.known == KnownProcess{.pid = 4711, .start_ticks = 5, .file = 6, .doubt = Doubt::Younger, .path = {}});
  CHECK(shop.starts->left_by == ActionId(9));
  CHECK(shop.starts->came_by == ActionId{});
}

TEST_CASE("whether the last life has ended is known of a state of version 1", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  leave(path);
  const bool stopped = GENERATE(false, true);
  {
    Raw raw(path);
    raw("UPDATE records SET kind = 'daemon-started' WHERE id = 1");
    raw("INSERT INTO records SELECT 2, 42, 1795000042000, 'mail-sent', 'info', '', rule, 0, '', '' FROM records");
    if (stopped)
      raw("INSERT INTO records SELECT 3, 43, when_ms, 'daemon-stopped', 'info', '', rule, 0, '', '' FROM records "
          "WHERE id = 1");
  }
  const auto state = open(path)->load().value();
  CHECK(state.died == (stopped ? std::nullopt : std::optional(wall(1'795'000'042'000))));
  CHECK(state.boot == 0);
}

TEST_CASE("a state that was brought up to date is written like a new one", "[store]") {
  healer::test::TemporaryDirectory directory;
  leave(in(directory, "old"));
  leave(in(directory, "second"), 2);
  leave(in(directory, "third"), 3);
  leave(in(directory, "fourth"), 4);
  leave(in(directory, "fifth"), 5);
  engine::SavedState expected = left();
  auto next = commit(42);
  next.services = {{"web", full_service()}, {"new", full_service()}};
  next.pending = {full_exec(14), full_alert(15)};
  next.ended = {ActionId(12)};
  next.jobs = {full_job(16)};
  next.healings = {full_healing(17)};
  next.targets = {target_memory("web1")};
  next.workflows = {workflow_memory("heal")};
  next.closed_brakes.emplace(1);
  engine::keep(expected, next);
  open(in(directory, "old"))->submit(next);
  CHECK(describe(open(in(directory, "old"))->load().value()) == describe(expected));

  // Its schema is that of a file that never was of an earlier version, to the letter.
  open(in(directory, "second"));
  open(in(directory, "third"));
  open(in(directory, "fourth"));
  open(in(directory, "fifth"));
  open(in(directory, "new"))->submit(commit(1));
  const auto schema = [&](const char* name) {
    return Raw(in(directory, name))(
        "SELECT group_concat(type || name || sql) FROM (SELECT * FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY "
        "type, name)");
  };
  CHECK(schema("old") == schema("new"));
  CHECK(schema("second") == schema("new"));
  CHECK(schema("third") == schema("new"));
  CHECK(schema("fourth") == schema("new"));
  CHECK(schema("fifth") == schema("new"));
}

TEST_CASE("a state of version 5, which knows of no healings, begins without any, and takes them", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  leave(path, 5);
  {
    const auto store = open(path);
    CHECK(store->notes().empty());
    CHECK(store->damages().empty());
    const auto state = store->load().value();
    CHECK(state.last_sequence == 41);
    CHECK(state.services.size() == 3);
    CHECK(state.healings.empty());
    CHECK(state.healing == HealingMemory{});
    auto next = commit(42);
    next.healings = {full_healing(17)};
    store->submit(next);
  }
  const auto state = open(path)->load().value();
  REQUIRE(state.healings.size() == 1);
  CHECK(same(state.healings[0], full_healing(17)));
}

TEST_CASE("a state of version 1 cannot be read before it is brought up to date", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  leave(path);
  const auto reader = open_read_only(path);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().what.find("start healerd once") != std::string::npos);
  open(path);
  CHECK(describe(open_read_only(path).value()->load().value()) == describe(left()));
}

TEST_CASE("damage to a state of version 1 leaves its states", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  leave(path);
  std::size_t page = 0;
  {
    Raw raw(path);
    raw("PRAGMA wal_checkpoint(TRUNCATE)");
    page = std::stoul(raw("SELECT rootpage FROM sqlite_schema WHERE name = 'records_by_time'"));
  }
  auto bytes = healer::test::read_file(path);
  bytes.replace((page - 1) * 4096, 4096, std::string(4096, '\x55'));
  healer::test::write_file(path, bytes);
  const auto store = open(path);
  CHECK_FALSE(store->damages().empty());
  CHECK(store->load().value().services == left().services);
}

}  // namespace migration_test
