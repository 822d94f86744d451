// SPDX-License-Identifier: MIT
// What metrics cost the loop. /metrics: milliseconds for one scrape, by the number of services; `ratio` is against a
// bare loop that touches the state of each service and of its rules. /metrics/services: bytes per second, and `ratio`
// against copying as many bytes line by line. `longest_ms` is the longest time that the loop is kept in one go.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon_world.hpp"
#include "engine/rules/kind.hpp"
#include "engine/rules/service.hpp"
#include "support/engine_world.hpp"
#include "web/metrics/daemon_metrics.hpp"
#include "web/metrics/service_series.hpp"

namespace {

using namespace healer;
using namespace healer::test;

/// Processor time of this thread, in seconds: what others do on the machine does not count.
double processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// So many processes with two rules each, of which the last look has found what it usually does.
std::unique_ptr<DaemonWorld> world_of(std::size_t count) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  services.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    services.push_back(service("service_" + std::to_string(i), {status_rule(Comparison::Equal, 1, {3, 3, Duration{0}}),
                                                                status_rule(Comparison::Equal, 2)}));
    services.back()->kind = kind_named("process");
  }
  auto world = std::make_unique<DaemonWorld>(rule_set(std::move(services), seconds{30}));
  world->act([](World& its) {
    its.advance(seconds{31});
    for (const effect::Measure& run : std::exchange(its.open, {})) {
      auto facts = std::make_shared<Facts>();
      facts->process = ProcessFacts{.pid = 1000 + run.service.number(), .start_ticks = 7, .attribute = {}};
      for (const Metric metric :
           {Metric::Cpu, Metric::TotalCpu, Metric::MemoryPercent, Metric::MemoryBytes, Metric::TotalMemory,
            Metric::TotalMemoryBytes, Metric::Children, Metric::Threads, Metric::FileDescriptors, Metric::Uptime})
        facts->metrics.set(metric, 1.25 * run.service.number());
      its.handle(event::measured(run.service, run.run,
                                 {.output = std::make_shared<const std::string>(), .facts = std::move(facts)}));
    }
    its.effects.clear();
  });
  return world;
}

/// The least that counting states must do.
double touch(const Engine& engine) {
  const double begin = processor_time();
  std::uint64_t sum = 0;
  for (const ServiceId id : engine.graph()->order) {
    sum += engine.service(id).monitored ? 1U : 0U;
    for (const RuleState& rule : engine.rules(id)) sum += rule.window.bits + static_cast<std::uint64_t>(rule.status);
  }
  benchmark::DoNotOptimize(sum);
  return processor_time() - begin;
}

void daemon_metrics(benchmark::State& state) {
  const auto world = world_of(static_cast<std::size_t>(state.range(0)));
  double ours = 0;
  double bare = 0;
  double longest = 0;
  std::size_t size = 0;
  for ([[maybe_unused]] auto _ : state)
    world->act([&](World& its) {
      const double begin = processor_time();
      web::StateCount count;
      for (double since = begin; !count.go_on(*its.engine); since = processor_time())
        longest = std::max(longest, processor_time() - since);
      size = web::daemon_metrics(world->supervisor(), count.counts(), web::Format::OpenMetrics).size();
      const double took = processor_time() - begin;
      state.SetIterationTime(took);
      ours += took;
      bare += touch(*its.engine);
    });
  state.counters["ms"] = ours / static_cast<double>(state.iterations()) * 1e3;
  state.counters["ratio"] = ours / bare;
  state.counters["longest_ms"] = longest * 1e3;
  state.counters["bytes"] = static_cast<double>(size);
}
BENCHMARK(daemon_metrics)->Arg(100)->Arg(100'000)->UseManualTime()->Unit(benchmark::kMillisecond);

/// As many lines of that length, copied.
double copy(std::size_t bytes) {
  const std::string line(80, 'x');
  const double begin = processor_time();
  std::string out;
  for (std::size_t done = 0; done < bytes; done += line.size()) {
    if (out.size() > 65'536) out.clear();
    out += line;
    benchmark::DoNotOptimize(out.data());
  }
  return processor_time() - begin;
}

void service_metrics(benchmark::State& state) {
  const auto world = world_of(static_cast<std::size_t>(state.range(0)));
  double ours = 0;
  double bare = 0;
  double longest = 0;
  std::size_t total = 0;
  for ([[maybe_unused]] auto _ : state)
    world->act([&](World&) {
      double sum = 0;
      std::size_t bytes = 0;
      const double start = processor_time();
      web::ServiceSeries stream(world->supervisor(), web::Format::Text,
                                state.range(1) == 0 ? web::service_families() : web::monit_families(), [] {});
      sum += processor_time() - start;
      std::string out;
      for (auto next = web::Stream::Next::More; next != web::Stream::Next::Done; out.clear()) {
        const double begin = processor_time();
        next = stream.pull(out, 65'536);
        const double took = processor_time() - begin;
        longest = std::max(longest, took);
        sum += took;
        bytes += out.size();
      }
      state.SetIterationTime(sum);
      ours += sum;
      total += bytes;
      bare += copy(bytes);
    });
  state.counters["MB/s"] = static_cast<double>(total) / ours / 1e6;
  state.counters["MB"] = static_cast<double>(total) / static_cast<double>(state.iterations()) / 1e6;
  state.counters["ratio"] = ours / bare;
  state.counters["longest_ms"] = longest * 1e3;
}
BENCHMARK(service_metrics)
    ->ArgNames({"services", "monit"})
    ->Args({1'000, 0})
    ->Args({100'000, 0})
    ->Args({100'000, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
