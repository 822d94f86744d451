// SPDX-License-Identifier: MIT
// A storm: of 10,000 targets 500 begin to fail within a second, and a workflow heals five at once. What all its
// decisions cost in processor time, in the second of the storm and in each second after it, beyond what the same second
// costs where all are well; and the longest that one event takes, which is as long as the loop can be blocked by it.
// `most` is how many were healed at once: never more than the limit.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/granting.hpp"
#include "engine/rules/rule_set.hpp"
#include "support/fleet_world.hpp"

namespace {

using namespace healer;
using namespace healer::engine;

constexpr std::size_t kAtOnce = 5;

double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::shared_ptr<const Graph> graph_of(int targets) {
  RuleSet rules = test::fleet_rules({.targets = targets, .limits = {{.number = kAtOnce}}});
  rules.settings.cycle = seconds{1};
  return make_graph(std::move(rules));
}

/// Answers each look at once, lets each guard pass, and never ends a step.
class Storm final : public EffectSink {
 public:
  explicit Storm(int targets)
      : engine_(graph_of(targets), utc_civil, {}, now_), failed_(static_cast<std::size_t>(targets)) {
    handle(event::Started{"bench"});
    settle();
  }

  void fail(int each) {
    for (std::size_t i = 0; i < failed_.size(); i += static_cast<std::size_t>(each)) failed_[i] = true;
  }

  /// Processor seconds of the engine in a second of its time.
  double live_a_second() {
    spent_ = 0;
    const Duration until = now_.mono + seconds{1};
    while (*engine_.next_deadline() <= until) {
      const Duration next = std::max(*engine_.next_deadline(), now_.mono);
      now_.wall += next - now_.mono;
      now_.mono = next;
      handle(event::Wake{});
      settle();
    }
    return spent_;
  }

  void emit(Effect effect) override {
    if (const auto* const measure = std::get_if<effect::Measure>(&effect))
      measures_.push_back(*measure);
    else if (const auto* const exec = std::get_if<effect::Exec>(&effect))
      execs_.push_back(exec->action);
    else if (const auto* const commit = std::get_if<effect::Commit>(&effect))
      up_to_ = commit->sequence;
  }

  [[nodiscard]] double longest() const { return longest_; }
  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t waiting() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(engine_.healings().all(), [](const auto& entry) { return entry.second.waits(); }));
  }

 private:
  void handle(const Event& event) {
    const double begin = processor_time();
    engine::handle(engine_, event, now_, *this);
    const double took = processor_time() - begin;
    spent_ += took;
    longest_ = std::max(longest_, took);
  }

  void settle() {
    while (!measures_.empty() || !execs_.empty() || up_to_ != 0) {
      if (up_to_ != 0) handle(event::Committed{.up_to = std::exchange(up_to_, 0)});
      for (const effect::Measure& measure : std::exchange(measures_, {}))
        handle(event::measured(measure.service, measure.run, {.status = failed_[measure.service.index()] ? 1 : 0}));
      for (const ActionId action : std::exchange(execs_, {})) {
        handle(event::ActionStarted{.action = action, .pid = 100, .start_ticks = 1});
        if (guards_++ < kAtOnce)
          handle(event::ActionEnded{.action = action, .outcome = Outcome::Exited, .elapsed = seconds{1}});
      }
    }
    most_ = std::max(most_, static_cast<std::size_t>(std::ranges::count_if(
                                engine_.healings().all(), [](const auto& entry) { return entry.second.has_place(); })));
  }

  Instant now_ = test::World::kStart;
  Engine engine_;
  std::vector<bool> failed_;
  std::vector<effect::Measure> measures_;
  std::vector<ActionId> execs_;
  Sequence up_to_ = 0;
  std::size_t guards_ = 0;
  std::size_t most_ = 0;
  double spent_ = 0;
  double longest_ = 0;
};

void storm(benchmark::State& state) {
  double well = 0;
  double first = 0;
  double held = 0;
  double longest = 0;
  double longest_before = 0;
  std::size_t most = 0;
  std::size_t waiting = 0;
  for ([[maybe_unused]] auto _ : state) {
    Storm world(static_cast<int>(state.range(0)));
    for (int i = 0; i < 5; ++i) well = world.live_a_second();
    longest_before = world.longest();
    world.fail(static_cast<int>(state.range(0) / state.range(1)));
    first = world.live_a_second();
    for (int i = 0; i < 10; ++i) held += world.live_a_second() / 10;
    longest = world.longest();
    most = world.most();
    waiting = world.waiting();
  }
  const auto each = static_cast<double>(state.iterations());
  state.counters["well_ms"] = well * 1e3;
  state.counters["storm_ms"] = (first - well) * 1e3;
  state.counters["held_ms"] = (held / each - well) * 1e3;
  state.counters["longest_ms"] = longest * 1e3;
  state.counters["longest_well_ms"] = longest_before * 1e3;
  state.counters["most"] = static_cast<double>(most);
  state.counters["waiting"] = static_cast<double>(waiting);
}
BENCHMARK(storm)->ArgNames({"targets", "failing"})->Args({10'000, 500})->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
