// SPDX-License-Identifier: MIT
// Values that are mostly not there: Slim, Sparse.
#include "util/sparse.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "util/slim.hpp"
#include "util/time.hpp"

namespace sparse_test {

using namespace healer;

TEST_CASE("a sparse value is the default until it is another, and copies are independent", "[util]") {
  Sparse<std::string> one;
  CHECK(one->empty());
  CHECK(sizeof one == sizeof(void*));
  Sparse<std::string> other = one;
  other.edit() += "x";
  CHECK(*other == "x");
  CHECK(one == std::string());
  CHECK_FALSE(one == other);
  one = other;
  other = std::string();
  CHECK(*one == "x");
  CHECK(other == Sparse<std::string>());
  one.edit().clear();
  CHECK(one == other);  // by value, not by where it lies
}

TEST_CASE("a slim value is a number or none, in the room of a number", "[util]") {
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

}  // namespace sparse_test
