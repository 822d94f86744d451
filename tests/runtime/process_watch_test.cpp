// SPDX-License-Identifier: MIT
#include "runtime/process/process_watch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <set>

#include "runtime/clock.hpp"
#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspector_bench.hpp"

namespace process_watch_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using healer::test::Child;
using healer::test::InspectorBench;
using healer::test::run_for;
using healer::test::run_until;

namespace {

/// Children that wait for their end.
class Children {
 public:
  explicit Children(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        while (true) ::pause();
      }
      pids.push_back(pid);
    }
  }
  ~Children() {
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::vector<pid_t> pids;
};

}  // namespace

TEST_CASE("the death of a process that was seen is told at once, and once", "[process-watch]") {
  InspectorBench bench;
  Children children(1);
  const pid_t pid = children.pids.front();
  const auto block = InspectorBench::by_file(bench.pid_file("x", std::to_string(pid)));
  for (int i = 0; i < 3; ++i) bench.see(block, 7);
  const auto start = bench.see(block, 7).facts->process->start_ticks;
  CHECK(bench.inspector.watched() == 1);
  run_for(bench.loop, Duration{50});
  CHECK(bench.deaths.empty());
  ::kill(pid, SIGKILL);
  REQUIRE(run_until(bench.loop, [&] { return !bench.deaths.empty(); }));
  CHECK(bench.deaths.front().service == ServiceId(7));
  CHECK(bench.deaths.front().pid == pid);
  CHECK(bench.deaths.front().start_ticks == start);
  CHECK(bench.inspector.watched() == 0);
  bench.see(block, 7);  // a zombie now
  run_for(bench.loop, Duration{50});
  CHECK(bench.deaths.size() == 1);
}

TEST_CASE("a process that died before its watch began is told too", "[process-watch]") {
  Loop loop;
  std::vector<event::ProcessDied> deaths;
  ProcessWatch watch(loop, 10, [&](event::ProcessDied death) { deaths.push_back(death); });
  Children children(1);
  const pid_t pid = children.pids.front();
  Descriptor pidfd = open_pidfd(pid);
  ::kill(pid, SIGKILL);
  REQUIRE(test::eventually([&] { return read_proc_stat(pid)->zombie(); }));
  watch.watch(ServiceId(1), {pid, 5}, std::move(pidfd));
  CHECK(deaths.empty());
  CHECK(run_until(loop, [&] { return deaths.size() == 1; }));
  CHECK(deaths.front().start_ticks == 5);
}

TEST_CASE("a watch follows its service to another process, and ends with it", "[process-watch]") {
  InspectorBench bench;
  Children children(3);
  const auto block = InspectorBench::by_file(bench.path("x"));
  bench.pid_file("x", std::to_string(children.pids[0]));
  bench.see(block);
  bench.pid_file("x", std::to_string(children.pids[1]));
  bench.see(block);
  CHECK(bench.inspector.watched() == 1);
  ::kill(children.pids[0], SIGKILL);
  run_for(bench.loop, Duration{100});
  CHECK(bench.deaths.empty());
  ::kill(children.pids[1], SIGKILL);
  REQUIRE(run_until(bench.loop, [&] { return bench.deaths.size() == 1; }));
  CHECK(bench.deaths.front().pid == children.pids[1]);

  bench.pid_file("x", std::to_string(children.pids[2]));
  bench.see(block);
  bench.inspector.forget(ServiceId(1));
  CHECK(bench.inspector.watched() == 0);
  bench.check(block);
  bench.inspector.forget(ServiceId(1));  // before it is answered
  bench.result(bench.last);
  run_for(bench.loop, Duration{50});
  CHECK(bench.answers[bench.last] == 1);
  CHECK(bench.inspector.watched() == 0);
  ::kill(children.pids[2], SIGKILL);
  run_for(bench.loop, Duration{100});
  CHECK(bench.deaths.size() == 1);
}

TEST_CASE("a thousand processes are watched, and the death of each is told once", "[process-watch]") {
  constexpr int kMany = 1000;
  Children children(kMany);
  InspectorBench bench;
  const std::size_t before = test::open_descriptors();
  std::vector<std::uint64_t> runs;
  for (int i = 0; i < kMany; ++i) {
    const std::string file = bench.pid_file(std::to_string(i), std::to_string(children.pids[i]));
    runs.push_back(bench.check(InspectorBench::by_file(file), static_cast<std::uint32_t>(i)));
  }
  for (const auto run : runs) REQUIRE(bench.result(run).facts->process);
  CHECK(bench.inspector.walks() == 1);
  CHECK(bench.inspector.watched() == kMany);
  CHECK(test::open_descriptors() == before + kMany);
  for (const pid_t pid : children.pids) ::kill(pid, SIGKILL);
  REQUIRE(run_until(bench.loop, [&] { return bench.deaths.size() >= kMany; }));
  run_for(bench.loop, Duration{50});
  CHECK(bench.deaths.size() == kMany);
  std::set<std::int64_t> reported;
  for (const auto& death : bench.deaths) reported.insert(death.pid);
  CHECK(reported.size() == kMany);
  CHECK(bench.inspector.watched() == 0);
  CHECK(test::open_descriptors() == before);
}

TEST_CASE("where there is no place for a watch, processes are looked at all the same", "[process-watch]") {
  Inspector::Options options;
  options.most_watched = 2;
  InspectorBench bench(options);
  Children children(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto file = bench.pid_file(std::to_string(i), std::to_string(children.pids[i]));
    CHECK(bench.see(InspectorBench::by_file(file), i).facts->process);
  }
  CHECK(bench.inspector.watched() == 2);
  ::kill(children.pids[2], SIGKILL);
  REQUIRE(test::eventually([&] { return read_proc_stat(children.pids[2])->zombie(); }));
  CHECK(bench.see(InspectorBench::by_file(bench.path("2")), 2).facts->process->zombie);
  CHECK(bench.deaths.empty());
  // A place that becomes free is taken.
  bench.inspector.forget(ServiceId(0));
  Children another(1);
  bench.pid_file("2", std::to_string(another.pids[0]));
  bench.see(InspectorBench::by_file(bench.path("2")), 2);
  CHECK(bench.inspector.watched() == 2);
  // Where all places are taken, a service still goes on to its next process.
  Children next(1);
  bench.pid_file("2", std::to_string(next.pids[0]));
  bench.see(InspectorBench::by_file(bench.path("2")), 2);
  ::kill(next.pids[0], SIGKILL);
  CHECK(run_until(bench.loop, [&] { return bench.deaths.size() == 1; }));
}

TEST_CASE("A process that could not be read for lack of descriptors is unknown", "[process-watch]") {
  InspectorBench bench;
  Children children(1);
  const auto block = InspectorBench::by_file(bench.pid_file("x", std::to_string(children.pids[0])));
  CHECK(bench.see(block).facts->process);
  const auto run = bench.check(block);
  {
    const test::FewDescriptors none;
    REQUIRE(run_until(bench.loop, [&] { return bench.seen.count(run) != 0; }));
  }
  CHECK(bench.result(run).answer == Answer::Unknown);
  CHECK(bench.see(block).facts->process);
}

TEST_CASE("a process is signalled with proof of its identity only", "[process-watch]") {
  InspectorBench bench;
  Children children(2);
  const pid_t pid = children.pids[0];
  const auto start = read_proc_stat(pid)->start_ticks;
  CHECK(signal_process(pid, start + 1, SIGKILL).error().code == ESRCH);
  CHECK(signal_process(1 << 22, 1, SIGKILL).error().code == ESRCH);
  CHECK(signal_process(pid, start, 0));
  CHECK_FALSE(read_proc_stat(pid)->zombie());
  bench.inspector.signal({pid, start + 1, SIGKILL});
  run_for(bench.loop, Duration{100});
  CHECK_FALSE(read_proc_stat(pid)->zombie());
  bench.inspector.signal({pid, start, SIGKILL});
  CHECK(run_until(bench.loop, [&] { return read_proc_stat(pid)->zombie(); }));
  CHECK(signal_process(pid, start, SIGKILL).error().code == ESRCH);
  CHECK_FALSE(read_proc_stat(children.pids[1])->zombie());
}

}  // namespace process_watch_test
