// SPDX-License-Identifier: MIT
// The writer of the SQLite store: what it does while the disk does not, how it prunes, what readers see.
#include "store/sqlite_store.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/store/raw.hpp"
#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"
#include "tests/support/child.hpp"

namespace sqlite_store_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

SqliteOptions hasty() {
  SqliteOptions options;
  options.busy = Duration{5};
  options.stall = minutes{1};  // however busy the machine is
  options.first_retry = Duration{5};
  options.last_retry = Duration{20};
  return options;
}

std::unique_ptr<SqliteStore> open(const std::string& path, Callbacks callbacks = {}, SqliteOptions options = hasty()) {
  auto opened = SqliteStore::open(path, std::move(callbacks), options);
  REQUIRE(opened);
  return std::move(*opened);
}

std::vector<engine::Sequence> sequences(const std::vector<Record>& records) {
  std::vector<engine::Sequence> all;
  for (const Record& record : records) all.push_back(record.sequence);
  return all;
}

using Sequences = std::vector<engine::Sequence>;

/// Records go, and one index of them does not hear of it. Whether this version of SQLite finds that at a quick look at
/// the file: older ones do not.
bool damage_index(const std::string& path, const std::string& index, engine::Sequence up_to) {
  const std::string where = " FROM sqlite_schema WHERE name = '" + index + "'";
  std::string root, sql;
  {
    Raw raw(path);
    root = raw("SELECT rootpage" + where);
    sql = raw("SELECT sql" + where);
    raw("PRAGMA writable_schema = ON; DELETE" + where);
  }
  Raw{path}("DELETE FROM records WHERE sequence <= " + std::to_string(up_to));
  Raw{path}("PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES('index', '" + index + "', 'records', " +
            root + ", '" + sql + "')");
  REQUIRE(Raw{path}("PRAGMA integrity_check") != "ok");
  return Raw{path}("PRAGMA quick_check") != "ok";
}

}  // namespace

TEST_CASE("an index of the history that is damaged is written anew when somebody asks", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    for (engine::Sequence sequence = 1; sequence <= 50; ++sequence) store->submit(commit(sequence));
    auto last = commit(51);
    last.services.emplace_back("web", full_service());
    last.pending = {full_exec(5)};
    store->submit(last);
    store->flush();
  }
  const bool seen = damage_index(path, GENERATE("records_by_sequence", "records_by_service"), 40);

  std::atomic<int> noted{0};
  Listener reported;
  Callbacks callbacks = reported.callbacks();
  callbacks.noted = [&] { ++noted; };
  auto store = open(path, callbacks);
  CHECK(store->notes().size() == (seen ? 1 : 0));
  CHECK(store->damages().empty());
  for (const std::string service : {"", "web"}) {
    HistoryQuery query;
    query.service = service;
    const auto found = store->history(query);
    REQUIRE(found);
    CHECK(found->back().sequence == 51);
    for (const Record& record : *found) CHECK(record.sequence > 40);
  }
  CHECK(Raw{path}("PRAGMA integrity_check") == "ok");
  // In place: nothing else of the file is lost, and the store was well all the time.
  CHECK(named(path + ".corrupt-").empty());
  CHECK(store->load().value().services.at("web") == full_service());
  CHECK(store->load().value().execs.size() == 1);
  store->submit(commit(52));
  REQUIRE(reported.wait_committed(52));
  CHECK(reported.all() == std::vector<std::string>{"committed 52"});
  CHECK(noted == 1);
  CHECK(store->notes() == std::vector<std::string>{"the index of the history was damaged and has been rebuilt"});
}

TEST_CASE("readers and the writer go on while the history is mended", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    for (engine::Sequence sequence = 1; sequence <= 500; ++sequence) store->submit(commit(sequence));
    store->flush();
  }
  damage_index(path, "records_by_sequence", 300);
  Listener reported;
  auto store = open(path, reported.callbacks());
  std::atomic<int> failed{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader)
    readers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const auto found = store->history({});
        if (!found || found->empty() || found->front().sequence != 301) ++failed;
      }
    });
  for (engine::Sequence sequence = 501; sequence <= 600; ++sequence) store->submit(commit(sequence));
  for (std::thread& reader : readers) reader.join();
  REQUIRE(reported.wait_committed(600));
  CHECK(failed == 0);
  CHECK(Raw{path}("PRAGMA integrity_check") == "ok");
  const auto all = reported.all();
  CHECK(std::ranges::count(all, "sick") == 0);
}

TEST_CASE("a history that is damaged itself is moved aside when somebody asks, and the newest of it kept", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  for (engine::Sequence sequence = 1; sequence <= 2000; ++sequence) store->submit(commit(sequence));
  REQUIRE(reported.wait_committed(2000));
  const auto page_size = std::stoul(Raw{path}("PRAGMA page_size"));
  move_log(path);
  const auto root = std::stoul(Raw{path}("SELECT rootpage FROM sqlite_schema WHERE name = 'records'"));
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>((root - 1) * page_size));
    file << std::string(page_size, '\x55');
  }
  Raw{path}("PRAGMA user_version = " +
            Raw{path}("PRAGMA user_version"));  // a change from elsewhere: the writer's cache is good no more
  std::vector<std::thread> readers;
  std::atomic<int> failed{0};
  for (int reader = 0; reader < 4; ++reader) readers.emplace_back([&] { failed += store->history({}) ? 0 : 1; });
  for (std::thread& reader : readers) reader.join();
  CHECK(failed == 0);
  CHECK(named(path + ".corrupt-").size() == 1);
  store->submit(commit(2001));
  REQUIRE(reported.wait_committed(2001));
  CHECK(store->history({}).value().back().sequence == 2001);
  CHECK(reported.all().back() == "committed 2001");
}

TEST_CASE("a locked state file makes the store sick, not the commits lost", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  store->submit(commit(1));
  REQUIRE(reported.wait_committed(1));

  Raw other(path);
  other("BEGIN IMMEDIATE");
  auto second = commit(2);
  second.services.emplace_back("web", SavedService{});
  second.pending = {full_exec(5), full_exec(6), full_alert(7)};
  store->submit(second);
  REQUIRE(reported.wait_sick());
  CHECK(reported.reason().find("locked") != std::string::npos);
  CHECK(reported.reason().find(path) != std::string::npos);
  auto third = commit(3);
  third.services.emplace_back("web", full_service());
  third.started = {ActionId(5)};
  third.ended = {ActionId(6)};
  store->submit(third);
  store->flush();  // gives up
  CHECK(reported.committed() == 1);
  CHECK(sequences(store->history({}).value()) == Sequences{1, 2, 3});

  other("ROLLBACK");
  REQUIRE(reported.wait_well());
  CHECK(reported.all() == std::vector<std::string>{"committed 1", "sick", "committed 3", "well"});
  const auto state = store->load().value();
  CHECK(state.last_sequence == 3);
  CHECK(state.services.at("web") == full_service());
  REQUIRE(state.execs.size() == 1);
  CHECK(state.execs[0].exec.action == ActionId(5));
  CHECK(state.execs[0].started);
  CHECK(state.alerts.size() == 1);
  CHECK(sequences(store->history({}).value()) == Sequences{1, 2, 3});
}

TEST_CASE("a store falls sick and well as often as it must", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  Raw other(path);
  engine::Sequence sequence = 0;
  for (std::size_t times = 1; times <= 5; ++times) {
    other("BEGIN IMMEDIATE");
    store->submit(commit(++sequence));
    REQUIRE(reported.wait_sick(times));
    store->submit(commit(++sequence));
    other("ROLLBACK");
    REQUIRE(reported.wait_well(times));
    CHECK(reported.committed() == sequence);
  }
}

TEST_CASE("a long log becomes part of the file, in quiet moments and where there are none", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  Sequence sequence = 0;
  const auto write = [&](std::size_t bytes) {
    for (std::size_t written = 0; written < bytes; written += 100'000) {
      auto large = commit(++sequence);
      large.records.back().output = std::string(100'000, 'o');
      store->submit(large);
    }
    REQUIRE(reported.wait_committed(sequence));
  };
  write(1'000'000);
  std::this_thread::sleep_for(milliseconds{200});
  CHECK(std::filesystem::file_size(path) < 1'000'000);  // a short one waits
  write(5'000'000);
  CHECK(healer::test::eventually([&] { return std::filesystem::file_size(path) > 6'000'000; }));
  for (int i = 0; i < 40; ++i) write(1'000'000);
  CHECK(std::filesystem::file_size(path + "-wal") < 38'000'000);
}

TEST_CASE("a write that hangs is told by the watchdog, and ends well once it goes on", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto options = hasty();
  options.busy = minutes{10};  // the writer thread is stuck within SQLite for that long
  options.stall = Duration{50};
  auto store = open(path, reported.callbacks(), options);
  store->submit(commit(1));
  REQUIRE(reported.wait_committed(1));
  store->flush();  // it may have taken long, too: that is over

  Raw other(path);
  other("BEGIN IMMEDIATE");
  store->submit(commit(2));
  REQUIRE(reported.wait_health("sick"));
  CHECK(reported.reason().find("no progress") != std::string::npos);
  store->flush();  // does not wait for the stuck one
  store->submit(commit(3));
  CHECK(reported.committed() == 1);
  CHECK(sequences(store->history({}).value()) == Sequences{1, 2, 3});
  other("ROLLBACK");
  REQUIRE(reported.wait_health("well"));
  CHECK(reported.committed() == 3);
}

TEST_CASE("what the watchdog notices when the write is done already makes nobody sick", "[store]") {
  healer::test::TemporaryDirectory directory;
  Listener reported;
  auto options = hasty();
  options.stall = Duration{50};
  Callbacks slow = reported.callbacks();
  slow.committed = [committed = slow.committed](Sequence up_to) {
    std::this_thread::sleep_for(4 * Duration{50});  // the writer does not get on, but nothing is left to be written
    committed(up_to);
  };
  auto store = open(in(directory, "state"), slow, options);
  store->submit(commit(1));
  REQUIRE(reported.wait_committed(1));
  store->flush();
  std::this_thread::sleep_for(4 * Duration{50});
  CHECK(healer::test::eventually(
      [&] { return reported.all().back() == "committed 1" || reported.all().back() == "well"; }));
}

TEST_CASE("a store can be closed while its writer hangs", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto options = hasty();
  options.busy = minutes{10};
  options.stall = Duration{50};
  auto store = open(path, reported.callbacks(), options);
  Raw other(path);
  other("BEGIN IMMEDIATE");
  store->submit(commit(1));
  REQUIRE(reported.wait_sick());
  store.reset();
  const auto reported_until_then = reported.all();
  other("ROLLBACK");
  // The writer that was left behind finishes its work, and tells nobody.
  for (int i = 0; i < 6000 && other("SELECT count(*) FROM records") == "0"; ++i)
    std::this_thread::sleep_for(milliseconds{10});
  CHECK(other("SELECT count(*) FROM records") == "1");
  CHECK(reported.all() == reported_until_then);
}

TEST_CASE("what is kept while sick is bounded: old records go, states stay, and the gap is told", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto options = hasty();
  options.keep_bytes = 100'000;
  auto store = open(path, reported.callbacks(), options);
  Raw other(path);
  other("BEGIN IMMEDIATE");
  for (engine::Sequence sequence = 1; sequence <= 3000; ++sequence) {
    auto next = commit(sequence);
    next.records.front().id = sequence;
    next.services.emplace_back("web" + std::to_string(sequence % 10), full_service());
    next.pending.emplace_back(full_exec(sequence));
    next.started.emplace_back(sequence);
    next.ended.emplace_back(sequence);
    store->submit(next);
  }
  REQUIRE(reported.wait_sick());
  other("ROLLBACK");
  REQUIRE(reported.wait_committed(3000));
  store->flush();
  CHECK(store->load().value().services.size() == 10);
  HistoryQuery query;
  query.limit = 10'000;
  const auto records = store->history(query).value();
  CHECK(records.size() < 2000);  // what the writer had in hand, and as much again that waited
  CHECK(records.back().sequence == 3000);
  const auto gap = std::ranges::find(records, RecordKind::StoreSick, &Record::kind);
  REQUIRE(gap != records.end());
  CHECK(gap->text.find("lost") != std::string::npos);
  CHECK(gap->when == record(gap->sequence).when);
  CHECK(gap->id == gap->sequence);
  query.oldest = true;
  CHECK(store->page(query).value().missing == 3000 - records.size());
}

TEST_CASE("the history is pruned to its bound, and the numbers go on", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  auto options = hasty();
  SECTION("of records") { options.retention.records = 50; }
  SECTION("of bytes") { options.retention.bytes = 50 * 150; }
  auto store = open(path, {}, options);
  for (engine::Sequence sequence = 1; sequence <= 1000; ++sequence) {
    auto next = commit(sequence, "web", sequence == 1 ? RecordKind::DaemonStarted : RecordKind::RuleFailed);
    next.pending.emplace_back(full_exec(sequence * 2));
    next.ended.emplace_back(sequence * 2);
    store->submit(next);
    if (sequence % 7 == 0) store->flush();
    if (sequence == 500) {  // what is there already counts after opening, too
      store.reset();
      store = open(path, {}, options);
    }
  }
  store->flush();
  const auto records = store->history({}).value();
  CHECK(records.size() <= 50);
  CHECK(records.size() >= 40);
  CHECK(records.back().sequence == 1000);
  CHECK(records.back().sequence - records.front().sequence == records.size() - 1);
  Raw raw(path);
  CHECK(raw("SELECT count(*) FROM records") == std::to_string(records.size()));
  CHECK(raw("SELECT value FROM meta WHERE name = 'last_id'") == "2000");
  CHECK(raw("SELECT value FROM meta WHERE name = 'last_sequence'") == "1000");
  // The life that began so long ago is one all the same.
  CHECK(store->load().value().died == records.back().when);
  CHECK(store->load().value().boot == record(1).subject);
}

TEST_CASE("ids are never issued twice, even where the state file was removed", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const auto before = static_cast<std::uint64_t>(
      std::chrono::floor<milliseconds>(std::chrono::system_clock::now()).time_since_epoch().count());
  CHECK(open(path)->load().value().last_id >= before);
  // A clock that was ahead when they were issued does no harm either.
  auto first = commit(1);
  first.pending.emplace_back(full_exec(before * 2));
  auto store = open(path);
  store->submit(first);
  store.reset();
  CHECK(open(path)->load().value().last_id == before * 2);
}

TEST_CASE("history may be read from any thread while commits are written", "[store]") {
  healer::test::TemporaryDirectory directory;
  Listener reported;
  auto store = open(in(directory, "state"), reported.callbacks());
  std::vector<std::thread> readers;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      engine::Sequence seen = 0;
      while (!done) {
        const auto acknowledged = reported.committed();
        HistoryQuery query;
        query.limit = 100'000;
        const auto records = store->history(query);
        if (!records) {
          ++wrong;
          continue;
        }
        // Without a gap, nothing twice, and nothing that was acknowledged is missing.
        const auto last = records->empty() ? 0 : records->back().sequence;
        if (records->size() != last || last < seen || last < acknowledged) ++wrong;
        seen = last;
      }
    });
  }
  for (engine::Sequence sequence = 1; sequence <= 500; ++sequence) {
    store->submit(commit(sequence));
    if (sequence % 20 == 0) REQUIRE(reported.wait_committed(sequence));
  }
  REQUIRE(reported.wait_committed(500));
  done = true;
  for (auto& reader : readers) reader.join();
  CHECK(wrong == 0);
}

TEST_CASE("a state file can be read beside the daemon and without it", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  CHECK_FALSE(open_read_only(path));
  auto store = open(path);
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  store->submit(first);
  store->save_sources({{"/etc/healerrc", "text"}});
  store->flush();
  auto reader = open_read_only(path);
  REQUIRE(reader);
  const auto check = [&] {
    CHECK((*reader)->load().value().services.at("web") == full_service());
    CHECK((*reader)->load_sources().value().size() == 1);
  };
  check();
  CHECK(sequences((*reader)->history({}).value()) == Sequences{1});
  store->submit(commit(2));
  store->flush();
  CHECK(sequences((*reader)->history({}).value()) == Sequences{1, 2});
  store.reset();
  check();
  reader = open_read_only(path);
  REQUIRE(reader);
  check();
  CHECK(sequences((*reader)->history({}).value()) == Sequences{1, 2});
}

TEST_CASE("a store that cannot begin begins sick, and keeps what comes", "[store]") {
  healer::test::TemporaryDirectory directory;
  healer::test::write_file(in(directory, "in"), "a file where a directory should be");
  const auto path = in(directory, "in") + "/the/state";
  Listener reported;
  auto store = open(path, reported.callbacks());
  REQUIRE(reported.wait_sick());
  CHECK(reported.reason().find(in(directory, "in")) != std::string::npos);
  CHECK(store->load().value().services.empty());
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  store->submit(first);
  store->flush();
  CHECK(reported.committed() == 0);
  CHECK(sequences(store->history({}).value()) == Sequences{1});
  std::filesystem::remove(in(directory, "in"));
  REQUIRE(reported.wait_well());
  CHECK(reported.committed() == 1);
  CHECK(store->load().value().services.at("web") == full_service());
}

TEST_CASE("how far a job has come is written without its steps", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  auto store = open(path);
  auto next = commit(1);
  next.jobs = {full_job(7)};
  store->submit(next);
  store->flush();
  Raw file(path);
  file(
      "CREATE TABLE written(step INTEGER);"
      "CREATE TRIGGER added AFTER INSERT ON job_steps BEGIN INSERT INTO written VALUES(new.position); END;"
      "CREATE TRIGGER changed AFTER UPDATE ON job_steps BEGIN INSERT INTO written VALUES(new.position); END;"
      "CREATE TRIGGER removed AFTER DELETE ON job_steps BEGIN INSERT INTO written VALUES(old.position); END");
  auto later = commit(2);
  later.moved_jobs = {{.job = JobId(7), .position = 1, .action = ActionId(9), .begun = wall(5)}};
  store->submit(later);
  store->flush();
  CHECK(store->load().value().jobs.at(0).position == 1);
  CHECK(file("SELECT count(*) FROM written") == "0");
  next.sequence = 3;
  store->submit(next);
  store->flush();
  CHECK(file("SELECT count(*) FROM written") == "3");
}

TEST_CASE("acts in a file that could not be read at the start are not taken up later", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    auto first = commit(1);
    first.services.emplace_back("web", full_service());
    first.pending = {full_exec(5), full_alert(6)};
    first.jobs = {full_job(7)};
    store->submit(first);
  }
  Listener reported;
  std::unique_ptr<SqliteStore> store;
  engine::Sequence sequence = 0;
  {
    Raw other(path);
    other("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET value = value");
    store = open(path, reported.callbacks());
    const auto state = store->load();
    REQUIRE(state);
    CHECK(state->services.empty());
    CHECK(state->last_sequence > 1);
    CHECK_FALSE(store->notes().empty());
    sequence = state->last_sequence;
    auto next = commit(sequence + 1);
    next.pending.emplace_back(full_alert(9));
    store->submit(next);
    REQUIRE(reported.wait_sick());
    other("COMMIT");
  }
  REQUIRE(reported.wait_well());
  const auto state = store->load().value();
  CHECK(state.last_sequence == sequence + 1);
  CHECK(state.execs.empty());
  CHECK(state.jobs.empty());
  REQUIRE(state.alerts.size() == 1);
  CHECK(state.alerts[0].alert == AlertId(9));
  CHECK(state.services.contains("web"));
}

TEST_CASE("a state file that somebody removes is written again, whole", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  auto first = commit(1);
  first.services.emplace_back("web", full_service());
  first.pending.emplace_back(full_exec(5));
  store->submit(first);
  REQUIRE(reported.wait_committed(1));
  const bool log_too = GENERATE(false, true);
  std::filesystem::remove(path);
  if (log_too) std::filesystem::remove(path + "-wal");
  store->submit(commit(2));
  REQUIRE(reported.wait_committed(2));
  CHECK(store->notes().size() == 1);
  CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::mask) ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  store = open(path);
  const auto state = store->load().value();
  CHECK(state.last_sequence == 2);
  CHECK(state.services.at("web") == full_service());
  CHECK(state.execs.size() == 1);
  CHECK(sequences(store->history({}).value()) == Sequences{1, 2});
}

TEST_CASE("a file of another program that is put in the place of the state is left alone", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  store->submit(commit(1));
  REQUIRE(reported.wait_committed(1));
  const std::string foreign = monit_state();
  healer::test::write_file(in(directory, "foreign"), foreign);
  std::filesystem::rename(in(directory, "foreign"), path);
  store->submit(commit(2));
  REQUIRE(reported.wait_sick());
  CHECK((healer::test::read_file(path) == foreign));
  std::filesystem::remove(path);
  REQUIRE(reported.wait_well());
  CHECK(sequences(store->history({}).value()).back() == 2);
}

}  // namespace sqlite_store_test
