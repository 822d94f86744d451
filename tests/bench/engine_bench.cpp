// SPDX-License-Identifier: MIT
// Measurements per second through Engine::handle in virtual time: wake, start of the run, evidence, commit. Steady
// OK, and with 2 % of the runs failing. `ratio` is against a bare loop that does the least any judge must do: touch the
// state of each service and of its rules, in the same order, taken in the same run. Also: memory of a service, the cost
// of next_deadline, what a reload of one service among all costs on the loop and off it, and what a person's start of
// all services does, where `ratio` is the cost of each against that of each of 1,000, taken in the same run.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/rules/rule_set.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"

namespace {

using namespace healer;
using namespace healer::engine;

constexpr std::uint64_t kObservations = 1'000'000;  // of one measurement, at least

/// Processor time of this thread, in seconds: what others do on the machine does not count.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_since(double begin) { return processor_time() - begin; }

std::size_t heap_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

RuleSet rules_of(std::size_t count, std::size_t changed = ~std::size_t{0}) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  services.reserve(count);
  const Rule three = test::status_rule(Comparison::Equal, 1, {3, 3, Duration{0}});
  const Rule two = test::status_rule(Comparison::Equal, 2, {2, 5, Duration{0}});
  const Rule other = test::status_rule(Comparison::Equal, 2, {3, 5, Duration{0}});
  for (std::size_t i = 0; i < count; ++i) {
    services.push_back(test::service("service_" + std::to_string(i), {three, i == changed ? other : two}));
    services.back()->program->command.arguments = {"/usr/lib/nagios/plugins/check_something", "-H", std::to_string(i)};
  }
  return test::rule_set(std::move(services), seconds{30});
}

/// The least of a world: starts no programs, writes no disk.
class Shell final : public EffectSink {
 public:
  explicit Shell(const std::shared_ptr<const Graph>& graph)
      : engine(graph, utc_civil, {}, now), output_(std::make_shared<const std::string>("OK - everything is fine")) {
    engine.handle(event::Started{"bench"}, now, *this);
    commit();
  }

  /// Runs at least `count` observations; `failing` per mille of them.
  std::uint64_t observe(std::uint64_t count, std::uint64_t failing) {
    std::uint64_t done = 0;
    const auto good = std::make_shared<const Evidence>(Evidence{.output = output_});
    const auto bad = std::make_shared<const Evidence>(Evidence{.status = 1, .output = output_});
    Event event = event::Measured{};
    auto& filled = std::get<event::Measured>(event);
    while (done < count) {
      const Duration next = *engine.next_deadline();
      now.wall += next - now.mono;
      now.mono = next;
      engine.handle(event::Wake{}, now, *this);
      for (const effect::Measure& run : std::exchange(started_, {})) {
        filled.service = run.service;
        filled.run = run.run;
        filled.evidence = (run.run.number() * 7919) % 1000 < failing ? bad : good;
        engine.handle(event, now, *this);
        ++done;
      }
      commit();
    }
    return done;
  }

  void emit(Effect effect) override {
    if (const auto* start = std::get_if<effect::Measure>(&effect))
      started_.push_back(*start);
    else if (const auto* made = std::get_if<effect::Commit>(&effect))
      up_to_ = made->sequence;
  }

  void swap(std::shared_ptr<const SwapPlan> plan) { engine.handle(event::Swap{std::move(plan)}, now, *this); }

  Instant now = test::World::kStart;
  Engine engine;

 private:
  void commit() {
    if (up_to_ == 0) return;
    engine.handle(event::Committed{.up_to = std::exchange(up_to_, 0)}, now, *this);
  }

  std::shared_ptr<const std::string> output_;
  std::vector<effect::Measure> started_;
  Sequence up_to_ = 0;
};

/// Touches as much state in the same order as the engine must: seconds for `count` observations.
double touch(std::size_t services, std::uint64_t count) {
  std::vector<ServiceState> states(services);
  std::vector<RuleState> rules(2 * services);
  const auto begin = processor_time();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t at = i % services;
    sum += ++states[at].runs;
    states[at].checked = Duration(static_cast<std::int64_t>(i));
    for (std::size_t k = 2 * at; k < 2 * at + 2; ++k) rules[k].window.push((sum & 1U) != 0, 3);
  }
  benchmark::DoNotOptimize(sum);
  benchmark::DoNotOptimize(rules.data());
  return seconds_since(begin);
}

void observations(benchmark::State& state) {
  const auto services = static_cast<std::size_t>(state.range(0));
  const auto failing = static_cast<std::uint64_t>(state.range(1));
  const std::size_t before = heap_in_use();
  auto graph = make_graph(rules_of(services));
  const std::size_t with_graph = heap_in_use();
  Shell shell(graph);
  shell.observe(2 * services, failing);
  const std::size_t with_engine = heap_in_use();
  double ours = 0;
  double bare = 0;
  std::uint64_t done = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto begin = processor_time();
    const std::uint64_t count = shell.observe(kObservations, failing);
    ours += seconds_since(begin);
    bare += touch(services, count);
    done += count;
  }
  state.counters["obs/s"] = static_cast<double>(done) / ours;
  state.counters["ns/obs"] = ours / static_cast<double>(done) * 1e9;
  state.counters["ratio"] = bare / ours;
  state.counters["graph_B"] = static_cast<double>(with_graph - before) / static_cast<double>(services);
  state.counters["state_B"] = static_cast<double>(with_engine - with_graph) / static_cast<double>(services);
}
BENCHMARK(observations)
    ->ArgNames({"services", "failing"})
    ->ArgsProduct({{100, 1'000, 10'000, 100'000}, {0, 20}})
    ->Unit(benchmark::kMillisecond);

void next_deadline(benchmark::State& state) {
  Shell shell(make_graph(rules_of(static_cast<std::size_t>(state.range(0)))));
  shell.observe(static_cast<std::uint64_t>(state.range(0)), 0);
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    shell.now.wall += *shell.engine.next_deadline() - shell.now.mono;
    shell.now.mono = *shell.engine.next_deadline();
    shell.engine.handle(event::Wake{}, shell.now, shell);  // the known deadline is used up
    state.ResumeTiming();
    benchmark::DoNotOptimize(shell.engine.next_deadline());
  }
}
BENCHMARK(next_deadline)->Arg(1'000)->Arg(100'000);

void swap_of_one_service(benchmark::State& state) {
  const auto services = static_cast<std::size_t>(state.range(0));
  Shell shell(make_graph(rules_of(services)));
  double planned = 0;
  double applied = 0;
  double released = 0;
  std::size_t round = 0;
  for ([[maybe_unused]] auto _ : state) {
    RuleSet next = rules_of(services, ++round % services);
    auto before = shell.engine.graph();
    auto begin = processor_time();
    auto plan = plan_swap(*before, std::move(next));
    planned += seconds_since(begin);
    begin = processor_time();
    shell.swap(std::move(plan));
    applied += seconds_since(begin);
    begin = processor_time();
    before.reset();
    released += seconds_since(begin);
  }
  const auto mean_ms = [&](double total) { return total / static_cast<double>(state.iterations()) * 1e3; };
  state.counters["plan_ms"] = mean_ms(planned);
  state.counters["apply_ms"] = mean_ms(applied);
  state.counters["release_ms"] = mean_ms(released);
}
BENCHMARK(swap_of_one_service)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond)->Iterations(5);

/// Processor seconds a service of the turn in which all of `count` services are told to start.
double start_of_all(std::size_t count) {
  RuleSet rules = rules_of(count);
  for (auto& block : rules.services) {
    auto startable = std::make_shared<ServiceBlock>(*block);
    startable->programs.edit().start = engine::Command{.arguments = {"/usr/bin/start", block->name}};
    block = std::move(startable);
  }
  const auto graph = make_graph(std::move(rules));
  Shell shell(graph);
  const event::Command all{
      .id = CommandId{1}, .kind = event::Command::Kind::Start, .services = graph->order, .by = ByPerson{"root"}};
  const double begin = processor_time();
  shell.engine.handle(all, shell.now, shell);
  return seconds_since(begin) / static_cast<double>(count);
}

void command_for_all(benchmark::State& state) {
  constexpr std::size_t kFew = 1'000;
  double many = 0;
  double few = 0;
  for ([[maybe_unused]] auto _ : state) {
    many += start_of_all(static_cast<std::size_t>(state.range(0)));
    few += start_of_all(kFew);
  }
  state.counters["each_us"] = many / static_cast<double>(state.iterations()) * 1e6;
  state.counters["ratio"] = many / few;
}
BENCHMARK(command_for_all)->Arg(8'000)->Arg(64'000)->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
