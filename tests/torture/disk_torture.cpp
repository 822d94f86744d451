// SPDX-License-Identifier: MIT
// Disks that are full, read-only or both, on a small file system of the test's own (root only).
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "store/sqlite_store.hpp"
#include "support/paths.hpp"
#include "tests/store/store_listener.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/torture/numbered.hpp"

namespace disk_torture {

using namespace healer;
using namespace healer::store;
using namespace healer::store::test;
using healer::test::SmallDisk;

namespace {

std::unique_ptr<SqliteStore> open(const std::string& path, Callbacks callbacks = {}) {
  SqliteOptions options;
  options.stall = minutes{1};  // however busy the machine is
  options.first_retry = Duration{5};
  options.last_retry = Duration{20};
  options.retention.records = 200;
  auto opened = SqliteStore::open(path, std::move(callbacks), options);
  REQUIRE(opened);
  return std::move(*opened);
}

/// The state after `count` numbered commits.
std::string expected(Sequence count) {
  healer::test::TemporaryDirectory directory;
  auto store = open(in(directory, "state"));
  for (Sequence number = 1; number <= count; ++number) store->submit(numbered_commit(number));
  store->flush();
  return describe(store->load().value());
}

}  // namespace

TEST_CASE("a full disk makes the store sick, room makes it well, and nothing is lost", "[torture]") {
  SmallDisk disk(4);
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  Listener reported;
  Sequence number = 0;
  {
    auto store = open(disk.file("state"), reported.callbacks());
    for (int times = 1; times <= 3; ++times) {
      for (int i = 0; i < 20; ++i) store->submit(numbered_commit(++number));
      REQUIRE(reported.wait_committed(number));
      // The log gives room back when the store starts over: filled until there is none left.
      do {
        disk.fill();
        auto large = numbered_commit(++number);
        large.records.back().output = std::string(50'000, 'o');
        store->submit(large);
        store->flush();
      } while (reported.all().back() != "sick");
      CHECK(reported.reason().find("full") != std::string::npos);
      const auto durable = reported.committed();
      // What was acknowledged is there, whatever the disk is.
      auto reader = open_read_only(disk.file("state"));
      REQUIRE(reader);
      CHECK((*reader)->load().value().last_sequence >= durable);
      for (int i = 0; i < 20; ++i) store->submit(numbered_commit(++number));
      store->flush();
      disk.free();
      REQUIRE(reported.wait_committed(number));
      REQUIRE(reported.wait_health("well"));  // for a while it may have found room by itself
    }
  }
  auto store = open(disk.file("state"));
  CHECK(store->notes().empty());
  CHECK(store->damages().empty());
  CHECK((describe(store->load().value()) == expected(number)));
}

TEST_CASE("a small disk is not filled by a log of what the file has", "[torture]") {
  SmallDisk disk;
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  Listener reported;
  auto store = open(disk.file("state"), reported.callbacks());
  for (Sequence number = 1; number <= 200; ++number) {  // each with pages of its own in the log: 4 MB in all
    store->submit(numbered_commit(number));
    store->flush();
  }
  CHECK(reported.committed() == 200);
  const auto all = reported.all();
  CHECK(std::find(all.begin(), all.end(), "sick") == all.end());
}

TEST_CASE("a disk that is full from the start is no reason not to start", "[torture]") {
  SmallDisk disk;
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  disk.fill();
  Listener reported;
  auto store = open(disk.file("state"), reported.callbacks());
  REQUIRE(reported.wait_sick());
  CHECK(store->load().value().services.empty());
  for (Sequence number = 1; number <= 30; ++number) store->submit(numbered_commit(number));
  CHECK(store->history({}).value().size() == 60);
  disk.free();
  REQUIRE(reported.wait_well());
  CHECK(reported.committed() == 30);
  CHECK((describe(store->load().value()) == expected(30)));
}

TEST_CASE("a disk that is read-only gives the state, and takes it again once it is not", "[torture]") {
  SmallDisk disk(32);  // the child must not fill it, however late it is killed: a full one stays sick
  if (!disk.works()) {
    WARN("SKIPPED: no file system can be mounted here");
    return;
  }
  const auto path = disk.file("state");
  const bool killed = GENERATE(false, true);  // with the log of a daemon that was killed, or after a clean end
  if (killed) {
    healer::test::TemporaryDirectory elsewhere;
    const auto acknowledged = in(elsewhere, "acknowledged");
    healer::test::Child child({healer::test::build_folder() + "/store_torture_child", path}, acknowledged);
    REQUIRE(healer::test::eventually([&] { return !healer::test::read_file(acknowledged).empty(); }));
    child.send(SIGKILL);
    child.wait();
  } else {
    auto store = open(path);
    for (Sequence number = 1; number <= 30; ++number) store->submit(numbered_commit(number));
  }
  disk.set_read_only(true);
  Listener reported;
  auto store = open(path, reported.callbacks());
  REQUIRE(reported.wait_sick());
  CHECK(reported.reason().find("ead-only") != std::string::npos);
  const auto state = store->load().value();
  CHECK(state.last_sequence > 0);
  CHECK((describe(state) == expected(state.last_sequence)));
  CHECK(open_read_only(path));
  const auto next = state.last_sequence + 1;
  store->submit(numbered_commit(next));
  CHECK(store->history({}).value().back().sequence == next);
  disk.set_read_only(false);
  REQUIRE(reported.wait_well());
  CHECK(reported.committed() == next);
  CHECK((describe(store->load().value()) == expected(next)));
}

}  // namespace disk_torture
