// SPDX-License-Identifier: MIT
#include "engine/timing/wheel.hpp"

#include <malloc.h>

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

namespace wheel_test {

using namespace healer;
using namespace healer::engine;

TEST_CASE("the wheel gives back everything at its time, and nothing earlier", "[engine]") {
  std::mt19937 random(1);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 50; ++round) {
    Wheel wheel;
    std::vector<Wheel::Entry> out;
    Duration now{pick(0, 1) == 0 ? 0 : 1'000'000'000};
    wheel.take_due(now, out);
    std::multimap<Duration, std::uint32_t> expected;
    for (int step = 0; step < 300; ++step) {
      for (int i = pick(0, 3); i > 0; --i) {
        const Duration due = now + milliseconds{pick(0, 4) == 0 ? pick(-50, 0) : pick(0, 200'000)};
        const auto service = static_cast<std::uint32_t>(pick(0, 1000));
        wheel.add(ServiceId{service}, due);
        expected.emplace(due, service);
      }
      REQUIRE(wheel.next() == (expected.empty() ? std::nullopt : std::optional(expected.begin()->first)));
      now += milliseconds{pick(0, 5) == 0 ? pick(0, 100'000) : pick(0, 900)};
      out.clear();
      wheel.take_due(now, out);
      std::multimap<Duration, std::uint32_t> got;
      for (const auto& entry : out) got.emplace(entry.due, entry.service.number());
      std::multimap<Duration, std::uint32_t> due(expected.begin(), expected.upper_bound(now));
      expected.erase(expected.begin(), expected.upper_bound(now));
      // Equal due times may come in any order: compare as sets of pairs.
      const std::vector<std::pair<Duration, std::uint32_t>> a(got.begin(), got.end()), b(due.begin(), due.end());
      REQUIRE(std::ranges::is_permutation(a, b));
    }
  }
}

TEST_CASE("many that are due at once keep no room in the slots that they have passed", "[engine]") {
  Wheel wheel;
  std::vector<Wheel::Entry> out;
  const std::size_t before = mallinfo2().uordblks;
  for (Duration now{0}; now < seconds{10}; now += milliseconds{10}) {
    for (std::uint32_t service = 0; service < 1000; ++service) wheel.add(ServiceId{service}, now + milliseconds{10});
    out.clear();
    wheel.take_due(now + milliseconds{10}, out);
    REQUIRE(out.size() == 1000);
  }
  CHECK(mallinfo2().uordblks < before + 1'000'000);  // 1,000 slots of 1,000 entries are 16 MB
}

}  // namespace wheel_test
