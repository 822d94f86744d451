// SPDX-License-Identifier: MIT
// How fast a large rules file is cut into tokens and parsed, against a bare scan of its lines, taken in turns. `ratio`
// is the throughput of the one by that of the scan; `bytes_per_second` is of the text.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "config/syntax/parser.hpp"
#include "grammar/lexer.hpp"

namespace {

using namespace healer;

/// Check programs as people write them.
std::string rules(int services) {
  std::string out = "set daemon 30\nset log syslog\nset mailserver localhost\nset alert admin@example.com\n";
  for (int i = 0; i < services; ++i) {
    const auto name = "node" + std::to_string(i);
    out += "# is " + name + " there?\ncheck program ping_" + name +
           " with path \"/usr/bin/ansible-playbook ping_monitor.yml -e 'vmname=" + name +
           "'\"\n      with timeout 15 seconds\n    every 2 cycles\n    group nodes\n"
           "    if status != 0 for 3 cycles then exec \"/usr/local/bin/rebuild " +
           name +
           "\" as uid root and gid root repeat every 10 cycles\n      else if succeeded for 2 cycles then alert\n"
           "    if content = \"degraded\" 2 times within 5 cycles then alert\n\n";
  }
  return out;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::size_t scan(const std::string& text) {
  std::istringstream in(text);
  std::size_t found = 0;
  for (std::string line; std::getline(in, line);) found += line.empty() ? 0 : 1;
  return found;
}

void against_scan(benchmark::State& state, const std::string& text, const std::function<void()>& work) {
  double scanning = 0;
  double working = 0;
  for (auto _ : state) {
    scanning += seconds_of([&] { benchmark::DoNotOptimize(scan(text)); });
    const double one = seconds_of(work);
    working += one;
    state.SetIterationTime(one);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["ratio"] = scanning / working;
}

void lexing(benchmark::State& state) {
  const auto text = rules(static_cast<int>(state.range(0)));
  if (!grammar::lex(text).faults.empty()) std::abort();
  against_scan(state, text, [&] { benchmark::DoNotOptimize(grammar::lex(text)); });
}

void parsing(benchmark::State& state) {
  const auto text = rules(static_cast<int>(state.range(0)));
  against_scan(state, text, [&] {
    std::vector<config::Diagnostic> diagnostics;
    benchmark::DoNotOptimize(config::parse(0, text, diagnostics));
    if (!diagnostics.empty()) std::abort();
  });
}

BENCHMARK(lexing)->Arg(100)->Arg(10000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(parsing)->Arg(100)->Arg(10000)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
