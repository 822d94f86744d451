// SPDX-License-Identifier: MIT
// Runs of /bin/true per second through Loop and ProcessRunner (session, descriptors, pidfd, two pipes, output) against
// a bare posix_spawn and waitpid of the same program, taken in turns. `ratio` is the former by the latter.
//
// And the same runs while much else is under way: `ratio` is their rate with 10,000 open descriptors, or beside
// `sleepers` programs that sleep (10,000, or as many as there are descriptors for), by that with none.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "engine/rules/service.hpp"
#include "runtime/clock.hpp"
#include "runtime/process/process_runner.hpp"

namespace {

using namespace healer;
using namespace healer::runtime;

constexpr int kRuns = 1000;
constexpr int kAtOnce = 32;
constexpr int kMuch = 10'000;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void bare_runs() {
  int running = 0;
  int started = 0;
  int ended = 0;
  while (ended < kRuns) {
    for (; running < kAtOnce && started < kRuns; ++started, ++running) {
      char program[] = "/bin/true";
      char* arguments[] = {program, nullptr};
      pid_t pid = 0;
      ::posix_spawn(&pid, program, nullptr, nullptr, arguments, environ);
    }
    int status = 0;
    if (::waitpid(-1, &status, 0) > 0) {
      --running;
      ++ended;
    }
  }
}

/// kAtOnce services, each of which is started again when its run has been observed.
class Runs {
 public:
  Runs()
      : spawner_(loop_, {}),
        runner_(loop_, spawner_, {.most_running = kMuch + 2 * kAtOnce}, [this](const engine::Event& event) {
          const auto* observed = std::get_if<engine::event::Measured>(&event);
          if (observed == nullptr) return;
          if (++ended_ == kRuns) return loop_.stop();
          if (started_ < kRuns) start(observed->service);
        }) {
    auto block = std::make_shared<engine::ServiceBlock>();
    block->program->command.arguments = {"/bin/true"};
    block->program->command.timeout = seconds{300};
    block_ = std::move(block);
  }
  /// So many other programs run from now on, and sleep.
  void sleep_beside(int count) {
    auto block = std::make_shared<engine::ServiceBlock>();
    block->program->command.arguments = {"/bin/sleep", "1000"};
    for (int i = 0; i < count; ++i)
      runner_.start({engine::ServiceId(static_cast<std::uint32_t>(kAtOnce + i)), engine::RunId(++last_), block, {}});
    while (runner_.waiting() != 0 || runner_.running() < static_cast<std::size_t>(count)) {
      Loop::Timer soon = loop_.timer([this] { loop_.stop(); });
      soon.set_deadline(mono_now() + Duration{10});
      loop_.run();
    }
    all();  // all of them have begun by now
  }
  void all() {
    started_ = ended_ = 0;
    for (std::uint32_t service = 0; service < kAtOnce; ++service) start(engine::ServiceId(service));
    loop_.run();
  }

 private:
  void start(engine::ServiceId service) {
    ++started_;
    runner_.start({service, engine::RunId(++last_), block_, {"PATH=/usr/bin:/bin", "MONIT_SERVICE=bench"}});
  }

  Loop loop_;
  Spawner spawner_;
  ProcessRunner runner_;
  std::shared_ptr<const engine::ServiceBlock> block_;
  int started_ = 0;
  int ended_ = 0;
  std::uint64_t last_ = 0;
};

void spawn_against_bare(benchmark::State& state) {
  Runs runs;
  runs.all();
  bare_runs();
  double through = 0;
  double bare = 0;
  for (auto _ : state) {
    bare += seconds_of(bare_runs);
    const double time = seconds_of([&] { runs.all(); });
    through += time;
    state.SetIterationTime(time);
  }
  const double all = kRuns * static_cast<double>(state.iterations());
  state.counters["runs_per_s"] = all / through;
  state.counters["bare_per_s"] = all / bare;
  state.counters["ratio"] = bare / through;
}
BENCHMARK(spawn_against_bare)->UseManualTime()->Unit(benchmark::kMillisecond);

/// How many descriptors may be open, from now on as many as this user may have.
int most_open() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 10 * kMuch));
}

/// `busy` by `idle`, in turns.
void compare(benchmark::State& state, const std::function<double()>& busy, const std::function<double()>& idle) {
  double with = 0;
  double without = 0;
  for (auto _ : state) {
    without += idle();
    const double time = busy();
    with += time;
    state.SetIterationTime(time);
  }
  const double all = kRuns * static_cast<double>(state.iterations());
  state.counters["runs_per_s"] = all / with;
  state.counters["idle_per_s"] = all / without;
  state.counters["ratio"] = without / with;
}

void spawn_with_much_open(benchmark::State& state) {
  if (most_open() < kMuch + 1000) return state.SkipWithError("too few descriptors are allowed");
  Runs runs;
  runs.all();
  compare(
      state,
      [&] {
        std::vector<Descriptor> open;
        for (int i = 0; i < kMuch; ++i) open.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        return seconds_of([&] { runs.all(); });
      },
      [&] { return seconds_of([&] { runs.all(); }); });
}
BENCHMARK(spawn_with_much_open)->UseManualTime()->Unit(benchmark::kMillisecond);

void spawn_beside_sleepers(benchmark::State& state) {
  const int sleepers = std::min(kMuch, (most_open() - 1000) / 5);  // as ProcessRunner counts
  Runs idle;
  idle.all();
  // Their descriptors are open in this process, and so cost the idle one, too: it is measured before.
  double without = 0;
  for (int i = 0; i < 5; ++i) without += seconds_of([&] { idle.all(); }) / 5;
  Runs busy;
  busy.sleep_beside(sleepers);
  compare(
      state, [&] { return seconds_of([&] { busy.all(); }); }, [&] { return without; });
  state.counters["sleepers"] = sleepers;
}
BENCHMARK(spawn_beside_sleepers)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
