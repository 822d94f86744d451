// SPDX-License-Identifier: MIT
#include "util/few.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace few_test {

using namespace healer;

TEST_CASE("a list that is empty takes only a pointer, and reads like a std::vector", "[few]") {
  const Few<std::string> none;
  CHECK(sizeof none == sizeof(void*));
  CHECK(none.empty());
  CHECK(none.begin() == none.end());
  CHECK(none == std::vector<std::string>());
  CHECK(none == Few<std::string>(std::vector<std::string>()));

  const Few<std::string> some = {"a", "b"};
  CHECK(some.size() == 2);
  CHECK(some[1] == "b");
  CHECK(some.front() == "a");
  CHECK(some.at(1) == some.back());
  CHECK_THROWS(some.at(2));
  const std::vector<std::string>& all = some;
  CHECK(&all.front() == &some.front());
  CHECK_FALSE(some == none);
}

TEST_CASE("a list that is written is its own, and may become empty again", "[few]") {
  Few<std::string> one;
  one.push_back("a");
  Few<std::string> other = one;
  for (std::string& each : other) each = "b";
  CHECK(one == std::vector<std::string>{"a"});
  CHECK(other == std::vector<std::string>{"b"});
  other.edit().clear();
  CHECK(other == Few<std::string>());
  for (std::string& each : other) each = "never";
  one = {};
  CHECK(one.empty());
}

}  // namespace few_test
