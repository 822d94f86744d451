// SPDX-License-Identifier: MIT
#include "util/sparse.hpp"

#include <catch2/catch.hpp>
#include <string>

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

}  // namespace sparse_test
