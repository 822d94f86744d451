// SPDX-License-Identifier: MIT
#include "util/slim.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <optional>

#include "util/time.hpp"

namespace slim_test {

using namespace healer;

template <typename One, typename Other>
concept CanBeCompared = requires(const One& one, const Other& other) {
  one == other;
};

TEST_CASE("a slim value is a number or none, in the room of a number", "[slim]") {
  Slim<Duration> time;
  CHECK(sizeof time == sizeof(Duration));
  CHECK_FALSE(time);
  CHECK(time == std::nullopt);
  CHECK(time.value_or(Duration{3}) == Duration{3});
  CHECK_FALSE(time == Duration::min());  // none is no time
  time = Duration{0};
  REQUIRE(time);
  CHECK(*time == Duration{0});
  CHECK(std::optional<Duration>(time) == Duration{0});
  time = std::optional<Duration>();
  CHECK_FALSE(time.has_value());
  Slim<std::int64_t> number = 7;
  number.reset();
  CHECK(std::optional<std::int64_t>(number) == std::nullopt);
}

TEST_CASE("a slim point in time is any but the lowest", "[slim]") {
  Slim<WallTime> when;
  CHECK(sizeof when == sizeof(WallTime));
  CHECK_FALSE(when);
  when = WallTime{};
  REQUIRE(when);
  CHECK(when == WallTime{});
  CHECK(when->time_since_epoch() == Duration{0});
  CHECK_FALSE(when == Slim<WallTime>());
  when = std::nullopt;
  CHECK(when == Slim<WallTime>());
}

TEST_CASE("a slim number with a point may be the smallest above none", "[slim]") {
  Slim<double> number = std::numeric_limits<double>::min();
  CHECK(number.has_value());
  number.reset();
  CHECK(number.value_or(1.5) == 1.5);
}

TEST_CASE("a slim value is not compared with a std::optional, which would take it for its value", "[slim]") {
  STATIC_REQUIRE_FALSE(CanBeCompared<Slim<Duration>, std::optional<Duration>>);
  STATIC_REQUIRE(CanBeCompared<Slim<Duration>, Duration>);
}

}  // namespace slim_test
