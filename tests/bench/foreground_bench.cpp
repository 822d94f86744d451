// SPDX-License-Identifier: MIT
// What foreground processes cost, with so many of them.
//  - keep: the daemon's time on a processor, in all its threads, for a second in which nothing happens (`ms_per_s`).
//  - death: from the kill of one to the news of its end, when what is left of its session has been looked for.
//  `p99_us`.
//  - all_die: until the end of all is told that were killed at once.
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/programs/action_runner.hpp"
#include "support/child.hpp"

namespace {

using namespace healer;
using namespace healer::runtime;
using Clock = std::chrono::steady_clock;

class Herd {
 public:
  explicit Herd(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add();
    run_until([&] { return pids_.size() == static_cast<std::size_t>(count); });
  }
  ~Herd() {
    kill_all();
    run_until([&] { return pids_.empty(); });
  }
  Herd(const Herd&) = delete;
  Herd& operator=(const Herd&) = delete;

  void add() {
    ActionRequest request;
    request.action = engine::ActionId(++last_);
    request.command.arguments = {"/bin/sleep", "6000"};
    request.foreground = true;
    runner_.start(std::move(request));
  }
  void kill_all() {
    for (const auto& [id, pid] : pids_) ::kill(pid, SIGKILL);
  }
  void kill_first() { ::kill(pids_.begin()->second, SIGKILL); }
  [[nodiscard]] std::size_t size() const { return pids_.size(); }
  void run_until(std::function<bool()> done) {
    done_ = std::move(done);
    if (!done_()) loop_.run();
  }
  void run_for(Duration time) {
    bool over = false;
    auto timer = loop_.timer([&] {
      over = true;
      loop_.stop();
    });
    timer.set_deadline(mono_now() + time);
    run_until([&] { return over; });
  }

 private:
  void handle(const engine::Event& event) {
    if (const auto* start = std::get_if<engine::event::ActionStarted>(&event)) {
      pids_[start->action.number()] = static_cast<pid_t>(start->pid);
    } else if (const auto* end = std::get_if<engine::event::ActionEnded>(&event)) {
      pids_.erase(end->action.number());
    }
    if (done_ && done_()) loop_.stop();
  }

  test::TemporaryDirectory directory_;
  Loop loop_;
  Spawner spawner_{loop_, {}};
  std::map<std::uint64_t, pid_t> pids_;
  std::uint64_t last_ = 0;
  std::function<bool()> done_;
  ActionRunner runner_{loop_, spawner_, {(directory_.path() / "actions").string()}, [this](const engine::Event& event) {
                         handle(event);
                       }};
};

double processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void keep(benchmark::State& state) {
  Herd herd(state.range(0));
  herd.run_for(seconds{3});
  double used = 0;
  for (auto _ : state) {
    const double before = processor_time();
    herd.run_for(seconds{2});
    const double time = (processor_time() - before) / 2;
    used += time;
    state.SetIterationTime(time);
  }
  state.counters["ms_per_s"] = 1e3 * used / static_cast<double>(state.iterations());
}
BENCHMARK(keep)->Arg(10)->Arg(1000)->UseManualTime()->Iterations(2)->Unit(benchmark::kMillisecond);

void death(benchmark::State& state) {
  Herd herd(state.range(0));
  std::vector<double> times;
  for (auto _ : state) {
    const std::size_t left = herd.size() - 1;
    const auto begin = Clock::now();
    herd.kill_first();
    herd.run_until([&] { return herd.size() == left; });
    times.push_back(since(begin));
    state.SetIterationTime(times.back());
    herd.add();
    herd.run_until([&] { return herd.size() == left + 1; });
  }
  std::ranges::sort(times);
  state.counters["p99_us"] = 1e6 * times[times.size() * 99 / 100];
}
BENCHMARK(death)->Arg(10)->Arg(1000)->UseManualTime()->Iterations(100)->Unit(benchmark::kMicrosecond);

void all_die(benchmark::State& state) {
  Herd herd(state.range(0));
  for (auto _ : state) {
    const auto begin = Clock::now();
    herd.kill_all();
    herd.run_until([&] { return herd.size() == 0; });
    state.SetIterationTime(since(begin));
  }
}
BENCHMARK(all_die)->Arg(1000)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
