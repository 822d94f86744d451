// SPDX-License-Identifier: MIT
// The state file as a file: its modes, foreign files in its place, newer versions, damage.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "store/sqlite_store.hpp"
#include "support/rounds.hpp"
#include "tests/store/raw.hpp"
#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"
#include "tests/support/child.hpp"

namespace sqlite_file_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

std::unique_ptr<SqliteStore> open(const std::string& path, Callbacks callbacks = {}) {
  auto opened = SqliteStore::open(path, std::move(callbacks));
  REQUIRE(opened);
  return std::move(*opened);
}

unsigned mode(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// A state file with something of everything in it, closed. Each commit is written by itself, so that it is the same
/// file on every machine, and a seed damages the same thing.
void fill(const std::string& path, engine::Sequence commits = 300) {
  auto store = open(path);
  RandomCommits random(7);
  for (engine::Sequence i = 0; i < commits; ++i) {
    store->submit(random.next());
    store->flush();
  }
  store->save_sources({{"/etc/healerrc", std::string(20'000, 'x')}});
}

}  // namespace

TEST_CASE("the state is the daemon's alone", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "new/deep/state");
  const auto old_mask = ::umask(0);
  auto store = open(path);
  ::umask(old_mask);
  store->submit(commit(1));
  store->flush();
  CHECK(mode(in(directory, "new")) == 0700);
  CHECK(mode(in(directory, "new/deep")) == 0700);
  CHECK(mode(path) == 0600);
  CHECK(mode(path + "-wal") == 0600);
  CHECK(mode(path + "-shm") == 0600);
  store.reset();
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
  REQUIRE(::chmod(path.c_str(), 0664) == 0);
  store = open(path);
  CHECK(mode(path) == 0600);
  CHECK(mode(path + "-wal") == 0600);
}

TEST_CASE("the state is a database that says whose it is", "[store]") {
  healer::test::TemporaryDirectory directory;
  fill(in(directory, "state"));
  Raw raw(in(directory, "state"));
  CHECK(raw("PRAGMA application_id") == "1751474540");
  CHECK(raw("PRAGMA user_version") == "12");
  CHECK(raw("PRAGMA journal_mode") == "wal");
  CHECK(raw("PRAGMA integrity_check") == "ok");
}

TEST_CASE("a file of another program is never touched", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "monit.state");
  SECTION("Monit's state") { healer::test::write_file(path, monit_state()); }
  SECTION("a database") { Raw{path}("CREATE TABLE theirs(a)"); }
  const auto before = healer::test::read_file(path);
  CHECK(resolve_state_path(path) == path + ".healer");
  {
    auto store = open(path);
    CHECK(store->path() == path + ".healer");
    CHECK(store->notes() ==
          std::vector{path + " is not a state file of healer, and is left alone: the state is kept in " + path +
                      ".healer"});
    store->submit(commit(1));
  }
  CHECK(open(path)->load().value().last_sequence == 1);
  CHECK(open_read_only(path).value()->load().value().last_sequence == 1);
  CHECK((healer::test::read_file(path) == before));
  CHECK(named(path).size() == 2);
}

TEST_CASE("a file that is nobody's is a damaged state: it is moved aside, and told", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 1);
  std::string bytes = healer::test::read_file(path);
  SECTION("its first page is garbage") { std::ranges::fill(bytes.begin(), bytes.begin() + 4096, '\x5a'); }
  SECTION("all of it is") { bytes.assign(20'000, '\xa5'); }
  SECTION("a few bytes") { bytes = "xy"; }
  SECTION("a damaged head of a database") { bytes = "SQLite format 3"; }
  SECTION("it begins as Monit's does, but has no version of that") { bytes.assign(4096, '\0'); }
  healer::test::write_file(path, bytes);
  CHECK(resolve_state_path(path) == path);
  auto store = open(path);
  CHECK(store->path() == path);
  CHECK(store->notes().empty());  // it is said once
  REQUIRE(store->damages().size() == 1);
  CHECK(store->damages().front().starts_with("state file " + path));
  CHECK(store->damages().front().find("; it was moved to " + path + ".corrupt-") != std::string::npos);
  REQUIRE(damaged_files(path).size() == 1);
  CHECK(store->damages().front().find(damaged_files(path).front()) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path + ".healer"));
  store->submit(commit(2));
  store->flush();
  CHECK(store->load().value().last_sequence == 2);
}

TEST_CASE("something that is no file is never touched", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  SECTION("a directory") { std::filesystem::create_directory(path); }
  SECTION("a pipe, which nobody would ever open at the other end") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  CHECK(resolve_state_path(path) == path + ".healer");
  open(path)->submit(commit(1));
  CHECK(open(path)->load().value().last_sequence == 1);
}

TEST_CASE("the path itself is used where nothing is there, emptiness, or healer's own state", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  CHECK(resolve_state_path(path) == path);
  healer::test::write_file(path, "");
  CHECK(resolve_state_path(path) == path);
  fill(path, 1);
  CHECK(resolve_state_path(path) == path);
  CHECK(resolve_state_path(path + ".healer") == path + ".healer");
}

TEST_CASE("asking whose file it is leaves the locks of an open store alone", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  auto store = open(path);
  store->submit(commit(1));
  store->flush();
  CHECK(resolve_state_path(path) == path);
  CHECK(store->history({}));
  CHECK(open_read_only(path));
  // Without SQLite's lock on the file a second process takes itself for the last one, and removes the log.
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  REQUIRE(::fcntl(descriptor, F_OFD_GETLK, &wanted) == 0);
  CHECK(wanted.l_type == F_RDLCK);
  store.reset();
  ::close(descriptor);
}

TEST_CASE("a state of a newer healer is refused, with a remedy, and left as it is", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 3);
  Raw{path}("PRAGMA user_version = 99");
  const auto before = healer::test::read_file(path);
  const auto opened = SqliteStore::open(path, {});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().what.find("newer healer") != std::string::npos);
  CHECK(opened.error().what.find("99") != std::string::npos);
  CHECK(opened.error().what.find("set statefile") != std::string::npos);
  const auto reader = open_read_only(path);
  REQUIRE_FALSE(reader);
  CHECK(reader.error().what.find("newer healer") != std::string::npos);
  CHECK((healer::test::read_file(path) == before));
  CHECK(named(path) == std::vector<std::string>{path});
}

TEST_CASE("damage beside the states moves the file aside and keeps the states", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    for (engine::Sequence sequence = 1; sequence <= 500; ++sequence) {
      auto next = commit(sequence);
      if (sequence == 1) next.services = {{"web", full_service()}, {"db", SavedService{}}};
      if (sequence == 2) next.pending = {full_exec(5), full_alert(6)};
      if (sequence == 2) next.jobs = {full_job(7)};
      store->submit(next);
    }
    store->save_sources({{"/etc/healerrc", "text"}});
  }
  std::size_t page = 0;
  {
    Raw raw(path);
    page = std::stoul(raw("SELECT rootpage FROM sqlite_master WHERE name = 'records_by_time'"));
  }
  auto bytes = healer::test::read_file(path);
  bytes.replace((page - 1) * 4096, 4096, std::string(4096, '\x55'));
  healer::test::write_file(path, bytes);

  auto store = open(path);
  const auto aside = named(path + ".corrupt-");
  REQUIRE(aside.size() == 1);
  CHECK((healer::test::read_file(aside[0]) == bytes));
  REQUIRE(store->damages().size() == 1);
  CHECK(store->damages()[0].find(aside[0]) != std::string::npos);
  const auto state = store->load().value();
  CHECK(state.last_sequence == 500);
  CHECK(state.services.at("web") == full_service());
  CHECK(state.services.size() == 2);
  CHECK(state.execs.empty());  // one of them may be over
  CHECK(state.alerts.empty());
  CHECK(state.jobs.empty());
  CHECK(store->load_sources().value() == std::vector<SavedSource>{{"/etc/healerrc", "text"}});
  CHECK(store->history({}).value().size() == 500);
  store->submit(commit(501));
  store.reset();
  store = open(path);
  CHECK(store->notes().empty());
  CHECK(store->damages().empty());
  CHECK(store->load().value().last_sequence == 501);
}

TEST_CASE("damage among heartbeats leaves all else of their services", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    auto first = commit(1);
    first.services = {{"web", full_service()}, {"db", SavedService{}}};
    store->submit(first);
    store->flush();
  }
  std::size_t page = 0;
  {
    Raw raw(path);
    page = std::stoul(raw("SELECT rootpage FROM sqlite_master WHERE name = 'heartbeats'"));
  }
  auto bytes = healer::test::read_file(path);
  bytes.replace((page - 1) * 4096, 4096, std::string(4096, '\x55'));
  healer::test::write_file(path, bytes);

  auto store = open(path);
  REQUIRE(store->damages().size() == 1);
  const auto state = store->load().value();
  SavedService left = full_service();
  left.heartbeat = {};
  CHECK(state.services.at("web") == left);
  CHECK(state.services.size() == 2);
}

TEST_CASE("a schema that says something else is damage", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 10);
  auto bytes = healer::test::read_file(path);
  const auto at = bytes.find("cause_program_status INTEGER");
  REQUIRE(at != std::string::npos);
  bytes[at] = 'X';
  healer::test::write_file(path, bytes);
  Listener reported;
  auto store = open(path, reported.callbacks());
  CHECK(named(path + ".corrupt-").size() == 1);
  CHECK(store->load().value().last_sequence == 10);
  store->submit(commit(11));
  CHECK(reported.wait_committed(11));
}

TEST_CASE("a file format that never was is damage", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 10);
  auto bytes = healer::test::read_file(path);
  bytes[47] = 77;  // the schema format
  healer::test::write_file(path, bytes);
  Listener reported;
  auto store = open(path, reported.callbacks());
  CHECK(named(path + ".corrupt-").size() == 1);
  const auto next = store->load().value().last_sequence + 1;
  store->submit(commit(next));
  CHECK(reported.wait_committed(next));
}

TEST_CASE("a version that never was is damage", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 10);
  Raw{path}("PRAGMA user_version = " + std::to_string(GENERATE(0, -1)));
  auto store = open(path);
  CHECK(named(path + ".corrupt-").size() == 1);
  CHECK(store->load().value().last_sequence == 10);
}

TEST_CASE("a file that ends within its last page is moved aside", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path, 10);
  auto bytes = healer::test::read_file(path);
  bytes.resize(bytes.size() - 100);
  healer::test::write_file(path, bytes);
  auto store = open(path);
  CHECK(named(path + ".corrupt-").size() == 1);
  REQUIRE_FALSE(store->damages().empty());
  CHECK(store->damages()[0].find("its last page is cut off") != std::string::npos);
  CHECK(store->load().value().last_sequence == 10);
  CHECK(store->load_sources());
}

TEST_CASE("damage that only writing finds is moved aside, too", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  auto store = open(path, reported.callbacks());
  for (engine::Sequence sequence = 1; sequence <= 300; ++sequence) store->submit(commit(sequence));
  REQUIRE(reported.wait_committed(300));
  move_log(path);
  Raw raw(path);
  auto bytes = healer::test::read_file(path);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = '\x55';  // all but the head
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file << bytes;
  file.close();
  // What the writer has in its cache is good: a change from elsewhere makes it look again.
  raw("PRAGMA user_version = 2");
  auto next = commit(301);
  next.services.emplace_back("web", full_service());
  store->submit(next);
  REQUIRE(reported.wait_committed(301));
  CHECK(named(path + ".corrupt-").size() == 1);
  CHECK(store->load().value().services.at("web") == full_service());
  CHECK(store->history({}).value().back().sequence == 301);
}

TEST_CASE("whatever happened to the file, the store opens, loads and goes on", "[store]") {
  healer::test::TemporaryDirectory directory;
  fill(in(directory, "whole"));
  const auto whole = healer::test::read_file(in(directory, "whole"));
  for (unsigned seed = 0; seed < (healer::test::kSanitized ? 12 : 60); ++seed) {
    // healer's by its name, even with the head gone
    const auto path = in(directory, std::to_string(seed) + ".healer");
    std::mt19937 random(seed);
    auto bytes = whole;
    switch (seed % 4) {
      case 0:  // cut off
        bytes.resize(random() % bytes.size());
        break;
      case 1:  // single bytes
        for (unsigned i = 0; i < 1 + seed; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        break;
      case 2: {  // a block
        const auto at = random() % (bytes.size() - 4096);
        for (std::size_t i = 0; i < 4096; ++i) bytes[at + i] = static_cast<char>(random());
        break;
      }
      default:  // the head
        for (std::size_t i = 0; i < 100; ++i) bytes[i] = static_cast<char>(random());
    }
    healer::test::write_file(path, bytes);
    Listener reported;
    auto store = open(path, reported.callbacks());
    const auto state = store->load();
    REQUIRE(state);
    auto next = commit(state->last_sequence + 1);
    next.services.emplace_back("new", full_service());
    next.pending.emplace_back(full_exec(state->last_id + 1));
    store->submit(next);
    const bool committed = reported.wait_committed(next.sequence);
    INFO("seed " << seed << ": " << reported.reason());
    REQUIRE(committed);
    CHECK(store->load().value().services.at("new") == full_service());
    CHECK(store->history({}));
    const auto sources = store->load_sources();
    CHECK((sources ? std::string() : sources.error().what) == "");
    for (const auto& aside : named(path + ".corrupt-")) CHECK((healer::test::read_file(aside) == bytes));
  }
}

TEST_CASE("garbage as a log does not stop the store", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  fill(path);
  const auto before = open_read_only(path).value()->load().value().last_sequence;
  std::mt19937 random(3);
  std::string garbage(100'000, '\0');
  for (char& c : garbage) c = static_cast<char>(random());
  healer::test::write_file(path + "-wal", garbage);
  auto store = open(path);
  CHECK(store->load().value().last_sequence == before);
  CHECK(store->notes().empty());
  CHECK(store->damages().empty());
}

TEST_CASE("a state file that may be another's is refused and not touched", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  std::string refused;
  SECTION("a symbolic link") {
    REQUIRE(::symlink(in(directory, "target").c_str(), path.c_str()) == 0);
    std::ofstream(in(directory, "target")) << "";
    REQUIRE(::chmod(in(directory, "target").c_str(), 0644) == 0);
    refused = path + " is a symbolic link";
  }
  SECTION("a link to nothing") {
    REQUIRE(::symlink(in(directory, "target").c_str(), path.c_str()) == 0);
    refused = path + " is a symbolic link";
  }
  if (::geteuid() == 0) {
    SECTION("a file of another user") {
      fill(path, 3);
      REQUIRE(::chown(path.c_str(), 65534, 0) == 0);
      refused = path + " belongs to another user (uid 65534)";
    }
    SECTION("the log of another user beside it") {
      fill(path, 3);
      std::ofstream(path + "-wal") << "planted";
      REQUIRE(::chown((path + "-wal").c_str(), 65534, 0) == 0);
      refused = path + "-wal belongs to another user (uid 65534)";
    }
  }
  if (refused.empty()) return;
  const auto opened = SqliteStore::open(path, {});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().what.find(refused) != std::string::npos);
  if (std::filesystem::exists(in(directory, "target"))) CHECK(mode(in(directory, "target")) == 0644);
}

TEST_CASE("a row that makes no sense has the file set aside, as other damage has", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  {
    auto store = open(path);
    effect::Commit all = commit(1);
    all.services.emplace_back("web", full_service());
    all.services.emplace_back("db", full_service());
    all.pending.emplace_back(full_exec(2));
    all.pending.emplace_back(full_alert(3));
    store->submit(std::move(all));
    store->flush();
  }
  std::size_t left = 2;
  {
    Raw raw(path);
    SECTION("a time far off") {
      raw("UPDATE services SET saved_ms = 9223372036854775807 WHERE name = 'web'");
      left = 1;
    }
    SECTION("a time of a heartbeat far off") {  // that alone is lost
      raw("UPDATE heartbeats SET since_ms = 9223372036854775807 WHERE service = 'web'");
    }
    SECTION("a time far off in the history") { raw("UPDATE records SET when_ms = -9223372036854775808"); }
    SECTION("a number at its end") { raw("UPDATE meta SET value = 9223372036854775807 WHERE name = 'last_id'"); }
  }
  auto store = open(path);
  REQUIRE(store->damages().size() == 1);
  CHECK(store->damages().front().find("is damaged") != std::string::npos);
  CHECK(store->damages().front().find(".corrupt-") != std::string::npos);
  const auto state = store->load();
  REQUIRE(state);
  CHECK(state->services.size() == left);
  CHECK(state->execs.empty());
  CHECK(state->alerts.empty());
  CHECK(state->last_id < std::uint64_t{1} << 62);
}

}  // namespace sqlite_file_test
