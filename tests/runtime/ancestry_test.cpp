// SPDX-License-Identifier: MIT
#include "runtime/inspection/ancestry.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

namespace ancestry_test {

using namespace healer;
using namespace healer::runtime;

namespace {

/// Processes that a test makes up, and how often they are read.
struct World {
  void add(pid_t pid, pid_t parent, pid_t session) {
    ProcStat& stat = processes[pid];
    stat.pid = pid;
    stat.parent = parent;
    stat.session = session;
  }

  std::map<pid_t, ProcStat> processes;
  std::int64_t reads = 0;
  AncestryReader reader{[this](pid_t pid) -> std::optional<ProcStat> {
                          ++reads;
                          const auto found = processes.find(pid);
                          return found == processes.end() ? std::nullopt : std::optional(found->second);
                        },
                        50};
};

using Line = std::vector<pid_t>;

}  // namespace

TEST_CASE("an ancestry has parents and their sessions, up to who asks", "[ancestry]") {
  World world;
  world.add(1, 0, 1);
  world.add(50, 1, 50);
  world.add(100, 50, 100);
  world.add(101, 100, 100);
  world.add(102, 101, 102);
  world.add(200, 1, 150);  // its parent has gone
  CHECK(world.reader.of(102, Duration{0}).value() == Line{102, 101, 100, 100});
  CHECK(world.reads == 3);
  CHECK(world.reader.of(200, Duration{0}).value() == Line{200, 150});
  CHECK(world.reader.of(999, Duration{0}).value() == Line{999});
  CHECK(world.reader.of(50, Duration{0}).value().empty());
  CHECK(world.reader.of(1, Duration{0}).value().empty());
  CHECK(world.reads == 5);
}

TEST_CASE("the ancestry of this process is as the machine has it", "[ancestry]") {
  AncestryReader reader(read_proc_stat, -1);
  const Line line = reader.of(::getpid(), Duration{0}).value();
  REQUIRE_FALSE(line.empty());
  CHECK(line.front() == ::getpid());
  // The first process of all is nobody's ancestor.
  CHECK((::getppid() <= 1 || std::ranges::find(line, ::getppid()) != line.end()));
}

TEST_CASE("a process is looked at once a second, and all together not without end", "[ancestry]") {
  World world;
  constexpr pid_t kFirst = 1000;
  for (pid_t i = 0; i < 60; ++i) world.add(kFirst + i, kFirst + i + 1, 1);
  Duration now{1000};
  CHECK(world.reader.of(kFirst, now));
  const std::int64_t deep = world.reads;
  CHECK(deep == 61);
  for (int i = 0; i < 100'000; ++i) CHECK_FALSE(world.reader.of(kFirst, now + Duration{i % 1000}));
  CHECK(world.reads == deep);
  now += AncestryReader::kMemory;
  CHECK(world.reader.of(kFirst, now));
  CHECK(world.reads == 2 * deep);

  // A flood of ever new ones, for ten seconds.
  world.reads = 0;
  pid_t stranger = 100'000;
  for (const Duration end = now + Duration{10'000}; now < end; now += Duration{1}) {
    for (int i = 0; i < 100; ++i) (void)world.reader.of(++stranger, now);
  }
  const std::int64_t most = AncestryReader::kMostAtOnce + 10 * AncestryReader::kReadsPerSecond;
  CHECK(world.reads <= most);
  CHECK(world.reads > most * 9 / 10);
  CHECK_FALSE(world.reader.of(++stranger, now - Duration{1}));
  now += Duration{100};
  world.reads = 0;
  CHECK(world.reader.of(kFirst, now));
  CHECK(world.reads == deep);
}

}  // namespace ancestry_test
