// SPDX-License-Identifier: MIT
// Runs of /bin/true per second through Loop and ProcessRunner (session, descriptors, pidfd, two pipes, output) against
// a bare posix_spawn and waitpid of the same program, taken in turns. `ratio` is the former by the latter.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>

#include "engine/service.hpp"
#include "runtime/process_runner.hpp"

namespace {

using namespace healer;
using namespace healer::runtime;

constexpr int kRuns = 1000;
constexpr int kAtOnce = 32;

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
      : spawner_(loop_, {}), runner_(loop_, spawner_, {}, [this](const engine::Event& event) {
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

}  // namespace
