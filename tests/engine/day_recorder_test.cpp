// SPDX-License-Identifier: MIT
// Which runs are recorded: those that the engine awaits, with when they began.
#include <catch2/catch.hpp>

#include "replay/day_recorder.hpp"

namespace day_recorder_test {

using namespace healer;
using namespace healer::engine;
using std::chrono::milliseconds;

namespace {

constexpr ServiceId kOne{0};
constexpr ServiceId kOther{1};

struct Bench {
  std::vector<recorded::Item> items;
  DayRecorder observer{[this](recorded::Item&& item) { items.push_back(std::move(item)); }};

  void begin(ServiceId service, std::uint64_t run, int at) {
    observer.comes_out(effect::Measure{.service = service, .run = RunId{run}}, {.mono = milliseconds{at}});
  }
  /// When the run began that is recorded to have ended; none: nothing was recorded.
  std::optional<Duration> end(ServiceId service, std::uint64_t run) {
    items.clear();
    observer.goes_in(event::measured(service, RunId{run}, Evidence{}), std::nullopt, {.mono = milliseconds{9999}});
    if (items.empty()) return std::nullopt;
    const auto& ran = std::get<recorded::Ran>(items.back().what);
    CHECK(ran.service == service.number());
    return ran.begun;
  }
};

}  // namespace

TEST_CASE("a run is recorded once, with its beginning, and only for whom it was begun", "[witness]") {
  Bench bench;
  bench.begin(kOne, 1, 10);
  bench.begin(kOther, 2, 20);
  CHECK_FALSE(bench.end(kOther, 1));
  CHECK(bench.end(kOne, 1) == milliseconds{10});
  CHECK_FALSE(bench.end(kOne, 1));
  CHECK(bench.end(kOther, 2) == milliseconds{20});
  bench.observer.made({});
  CHECK_FALSE(bench.end(kOther, 2));
}

TEST_CASE("Checks of a job run beside a scheduled run, in any order; at most four per service", "[witness]") {
  Bench bench;
  for (int run = 1; run <= 5; ++run) bench.begin(kOne, static_cast<std::uint64_t>(run), run);
  CHECK_FALSE(bench.end(kOne, 1));  // not awaited any more
  CHECK(bench.end(kOne, 3) == milliseconds{3});
  CHECK(bench.end(kOne, 5) == milliseconds{5});
  bench.begin(kOne, 6, 6);
  CHECK(bench.end(kOne, 2) == milliseconds{2});
  CHECK(bench.end(kOne, 6) == milliseconds{6});
  CHECK(bench.end(kOne, 4) == milliseconds{4});
  CHECK_FALSE(bench.end(kOne, 4));
}

TEST_CASE("a run that is cancelled is recorded as one that saw nothing", "[witness]") {
  Bench bench;
  bench.begin(kOne, 1, 10);
  bench.observer.comes_out(effect::CancelRun{.service = kOne, .run = RunId{1}}, {.mono = milliseconds{30}});
  REQUIRE(bench.items.size() == 1);
  CHECK(std::get<recorded::Ran>(bench.items.front().what).seen == nullptr);
  CHECK_FALSE(bench.end(kOne, 1));
}

}  // namespace day_recorder_test
