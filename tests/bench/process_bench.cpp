// SPDX-License-Identifier: MIT
// Looking at processes, against the least that any program could do, taken in turns.
//  - snapshot_against_bare: a snapshot of all processes, against a readdir of /proc with an open and a read of each
//    /proc/PID/stat. `ratio` is the time of the former by the latter; `ns_per_process` is the former's.
//  - death_against_bare: from the kill of a process to the notice of its death by ProcessWatch on the loop, against a
//    bare poll on a pidfd. `ratio` is that of the 99th percentiles. In the second run the watch asks how it died, too.
#include <benchmark/benchmark.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "runtime/inspection/proc_stat.hpp"
#include "runtime/inspection/proc_table.hpp"
#include "runtime/process/process_watch.hpp"

namespace {

using namespace healer;
using namespace healer::runtime;
using Clock = std::chrono::steady_clock;

pid_t sleeper() {
  const pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  return pid;
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

std::size_t bare_walk() {
  std::size_t bytes = 0;
  char buffer[4096];
  DIR* directory = ::opendir("/proc");
  while (const dirent* entry = ::readdir(directory)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    const std::string path = std::string(entry->d_name) + "/stat";
    const int file = ::openat(::dirfd(directory), path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    bytes += static_cast<std::size_t>(std::max<ssize_t>(0, ::read(file, buffer, sizeof buffer)));
    ::close(file);
  }
  ::closedir(directory);
  return bytes;
}

void snapshot_against_bare(benchmark::State& state) {
  std::vector<pid_t> pids;
  for (int i = 0; i < state.range(0); ++i) pids.push_back(sleeper());
  double through = 0;
  double bare = 0;
  std::size_t processes = 0;
  for (auto _ : state) {
    const auto begin = Clock::now();
    benchmark::DoNotOptimize(bare_walk());
    const auto middle = Clock::now();
    const auto snapshot = ProcSnapshot::take();
    const auto after = Clock::now();
    processes += snapshot.value()->processes().size();
    bare += std::chrono::duration<double>(middle - begin).count();
    const double time = std::chrono::duration<double>(after - middle).count();
    through += time;
    state.SetIterationTime(time);
  }
  for (const pid_t pid : pids) end(pid);
  state.counters["ns_per_process"] = 1e9 * through / static_cast<double>(processes);
  state.counters["ratio"] = through / bare;
}
BENCHMARK(snapshot_against_bare)->Arg(100)->Arg(1000)->Arg(4000)->UseManualTime()->Unit(benchmark::kMillisecond);

double percentile99(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() * 99 / 100];
}

/// Kills a process from another thread, which has the time of it, while `notice` waits for the death.
template <typename Notice>
double death(Notice notice) {
  const pid_t pid = sleeper();
  Descriptor pidfd = open_pidfd(pid);
  Clock::time_point killed;
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
    killed = Clock::now();
    ::kill(pid, SIGKILL);
  });
  notice(pid, std::move(pidfd));
  const auto noticed = Clock::now();
  killer.join();
  ::waitpid(pid, nullptr, 0);
  return std::chrono::duration<double, std::micro>(noticed - killed).count();
}

void death_against_bare(benchmark::State& state) {
  constexpr int kOthers = 1000;  // are watched too
  std::vector<pid_t> others;
  Loop loop;
  ExitStatusReader exits(loop, {});
  ProcessWatch watch(
      loop, 2 * kOthers, [&](engine::event::ProcessDied) { loop.stop(); }, state.range(0) != 0 ? &exits : nullptr);
  for (std::uint32_t i = 1; i <= kOthers; ++i) {
    others.push_back(sleeper());
    watch.watch(engine::ServiceId(i), {others.back(), 1}, open_pidfd(others.back()));
  }
  std::vector<double> bare;
  std::vector<double> through;
  for (auto _ : state) {
    bare.push_back(death([](pid_t, const Descriptor& pidfd) {
      pollfd waiting{pidfd.get(), POLLIN, 0};
      ::poll(&waiting, 1, -1);
    }));
    through.push_back(death([&](pid_t pid, Descriptor pidfd) {
      watch.watch(engine::ServiceId(0), {pid, 1}, std::move(pidfd));
      loop.run();
    }));
    state.SetIterationTime(through.back() / 1e6);
  }
  for (std::uint32_t i = 1; i <= kOthers; ++i) watch.forget(engine::ServiceId(i));
  for (const pid_t pid : others) end(pid);
  state.counters["p99_us"] = percentile99(through);
  state.counters["bare_p99_us"] = percentile99(bare);
  state.counters["ratio"] = percentile99(through) / percentile99(bare);
}
BENCHMARK(death_against_bare)->Arg(0)->Arg(1)->UseManualTime()->Iterations(400)->Unit(benchmark::kMicrosecond);

}  // namespace
