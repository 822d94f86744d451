// SPDX-License-Identifier: MIT
// What must be on the disk itself is synced before it is told committed, and nothing else is.
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <string_view>

#include "store/sqlite_store.hpp"
#include "tests/store/raw.hpp"
#include "tests/store/samples.hpp"
#include "tests/store/store_listener.hpp"

namespace {

std::atomic<int> synced_logs{0};

/// SQLite's calls come here: the program's own functions go before those of the library.
void count_sync(int file) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const auto size = ::readlink(link.c_str(), path.data(), path.size());
  if (size > 0 && std::string_view(path.data(), static_cast<std::size_t>(size)).ends_with("-wal")) ++synced_logs;
}

}  // namespace

extern "C" int fsync(int file) {
  count_sync(file);
  return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int fdatasync(int file) {
  count_sync(file);
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}

namespace durability_test {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;

namespace {

/// Each way in which a commit may be one of healing, or of a person.
effect::Commit healing_commit(Sequence sequence, int way) {
  effect::Commit next = commit(sequence);
  switch (way) {
    case 0: next.healings = {full_healing(sequence)}; break;
    case 1: next.ended_healings = {HealingId(sequence)}; break;
    case 2: next.targets = {target_memory("web1")}; break;
    case 3: next.workflows = {workflow_memory("heal")}; break;
    case 4: next.by_person = true; break;
    default: next.closed_brakes.emplace(); break;
  }
  return next;
}

}  // namespace

TEST_CASE("a commit of healing, or of a person's word, is on the disk itself before it is told, and no other is",
          "[store]") {
  healer::test::TemporaryDirectory directory;
  Listener reported;
  std::atomic<int> synced_when_notified{0};
  Callbacks callbacks = reported.callbacks();
  callbacks.committed = [&, tell = callbacks.committed](Sequence up_to) {
    synced_when_notified = synced_logs.load();
    tell(up_to);
  };
  auto opened = SqliteStore::open(in(directory, "state"), callbacks);
  REQUIRE(opened);
  SqliteStore& store = **opened;
  Sequence number = 0;
  const auto write = [&](effect::Commit next) {
    const int before = synced_logs;
    store.submit(std::move(next));
    REQUIRE(reported.wait_committed(number));
    return synced_when_notified - before;
  };
  ++number;
  write(commit(number));  // a log that begins is synced once
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5; ++i) {
      ++number;
      CHECK(write(commit(number)) == 0);
    }
    for (int way = 0; way < 6; ++way) {
      INFO("way " << way);
      ++number;
      CHECK(write(healing_commit(number, way)) == 1);
    }
  }
}

TEST_CASE("what nothing waits for is written with what comes meanwhile, and not later than it should be", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  const auto seen = [](Sequence number) {
    effect::Commit next = commit(number);
    next.records.clear();
    REQUIRE(next.durability() == effect::Durability::Gathered);
    return next;
  };
  Listener reported;
  SqliteOptions options;
  options.stall = hours{2};
  SECTION("it is told together with what does not wait") {
    options.gather = hours{1};
    auto opened = SqliteStore::open(path, reported.callbacks(), options);
    REQUIRE(opened);
    for (Sequence number = 1; number < 50; ++number) (*opened)->submit(seen(number));
    (*opened)->submit(commit(50));
    REQUIRE(reported.wait_committed(50));
    CHECK(reported.all() == std::vector<std::string>{"committed 50"});
    SECTION("and so by who flushes") {
      (*opened)->submit(seen(51));
      (*opened)->flush();
      CHECK(reported.all() == std::vector<std::string>{"committed 50", "committed 51"});
    }
    SECTION("and so by an act that waits") {
      effect::Commit awaited = seen(51);
      awaited.awaited = true;
      (*opened)->submit(std::move(awaited));
      CHECK(reported.wait_committed(51));
    }
    SECTION("and so where the store is closed") {
      (*opened)->submit(seen(51));
      opened->reset();
      CHECK(reported.wait_committed(51));
    }
  }
  SECTION("it does not wait where it is much") {
    options.gather = hours{1};
    options.keep_bytes = 100'000;
    auto opened = SqliteStore::open(path, reported.callbacks(), options);
    REQUIRE(opened);
    effect::Commit much = seen(1);
    for (int i = 0; i < 100; ++i) much.services.emplace_back("web" + std::to_string(i), full_service());
    (*opened)->submit(std::move(much));
    CHECK(reported.wait_committed(1));
  }
  SECTION("it waits longer than a write may hang, and nobody calls that a sick disk") {
    options.gather = seconds{3};
    options.stall = seconds{2};
    auto opened = SqliteStore::open(path, reported.callbacks(), options);
    REQUIRE(opened);
    (*opened)->submit(seen(1));
    REQUIRE(reported.wait_committed(1));
    CHECK(reported.all() == std::vector<std::string>{"committed 1"});
  }
  SECTION("it is written by itself") {
    auto opened = SqliteStore::open(path, reported.callbacks(), options);
    REQUIRE(opened);
    (*opened)->submit(seen(1));
    CHECK(reported.wait_committed(1));
  }
}

TEST_CASE("commits of healing that wait together are synced together", "[store]") {
  healer::test::TemporaryDirectory directory;
  const auto path = in(directory, "state");
  Listener reported;
  SqliteOptions options;
  options.busy = options.stall = minutes{1};  // it waits for another's lock, and is not sick of that
  auto opened = SqliteStore::open(path, reported.callbacks(), options);
  REQUIRE(opened);
  SqliteStore& store = **opened;
  store.submit(commit(1));
  REQUIRE(reported.wait_committed(1));
  const int before = synced_logs;
  {
    Raw other(path);
    other("BEGIN IMMEDIATE");
    store.submit(commit(2));
    for (Sequence number = 3; number < 50; ++number) store.submit(healing_commit(number, static_cast<int>(number % 5)));
    store.submit(commit(50));
    other("ROLLBACK");
  }
  REQUIRE(reported.wait_committed(50));
  // What the writer took before it had to wait may be some of them.
  CHECK(synced_logs - before >= 1);
  CHECK(synced_logs - before <= 2);
}

}  // namespace durability_test
