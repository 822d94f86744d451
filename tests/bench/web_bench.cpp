// SPDX-License-Identifier: MIT
// What a page of /api/v1/services costs on the loop, of few and of many services.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "web/api_world.hpp"

namespace {

using namespace healer;
using namespace healer::test;

RuleSet rules_of(std::size_t count) {
  std::vector<std::shared_ptr<ServiceBlock>> services;
  services.reserve(count);
  const Rule three = status_rule(Comparison::Equal, 1, {3, 3, Duration{0}});
  const Rule two = status_rule(Comparison::Equal, 2, {2, 5, Duration{0}});
  for (std::size_t i = 0; i < count; ++i) services.push_back(service("service_" + std::to_string(i), {three, two}));
  return rule_set(std::move(services), hours{1});
}

/// One that is made once for all benchmarks: each service has run, and passed.
ApiWorld& world_of(std::size_t count) {
  static std::map<std::size_t, std::unique_ptr<ApiWorld>> worlds;
  auto& world = worlds[count];
  if (!world) {
    world = std::make_unique<ApiWorld>(rules_of(count));
    world->daemon().cycle(0);
  }
  return *world;
}

void read_page(benchmark::State& state, const std::string& query, std::size_t pages_before = 0) {
  ApiWorld& world = world_of(static_cast<std::size_t>(state.range(0)));
  web::Request request{.path = "/api/v1/services", .query = {{"limit", "100"}}};
  if (const std::size_t equals = query.find('='); equals != std::string::npos)
    request.query.emplace_back(query.substr(0, equals), query.substr(equals + 1));
  std::size_t bytes = 0;
  world.daemon().act([&](World&) {
    const auto read = [&] {
      auto response = std::get<web::Response>(world.web().ask(request, [] {}));
      return body_of(response);
    };
    for (std::size_t i = 0; i < pages_before; ++i) {
      const std::string next = control::Json::parse(read()).at("next").get<std::string>();
      std::erase_if(request.query, [](const auto& one) { return one.first == "cursor"; });
      request.query.emplace_back("cursor", next);
    }
    for (auto turn : state) bytes = read().size();
  });
  state.counters["bytes"] = static_cast<double>(bytes);
}

void BM_page(benchmark::State& state) { read_page(state, ""); }
void BM_page_after_another(benchmark::State& state) { read_page(state, "", 5); }
void BM_page_of_failed(benchmark::State& state) { read_page(state, "state=failed"); }
void BM_page_of_names_with_text(benchmark::State& state) { read_page(state, "q=_9999"); }
void BM_page_by_state(benchmark::State& state) { read_page(state, "sort=state"); }
void BM_page_by_name(benchmark::State& state) { read_page(state, "sort=name"); }
void BM_page_of_whole_services(benchmark::State& state) { read_page(state, "fields=name,rules"); }

constexpr int kSome = 1'000;
constexpr int kMany = 100'000;
BENCHMARK(BM_page)->Arg(kSome)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_after_another)->Arg(kSome)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_of_failed)->Arg(kSome)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_of_names_with_text)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_by_state)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_by_name)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_page_of_whole_services)->Arg(kMany)->Unit(benchmark::kMillisecond);

}  // namespace
