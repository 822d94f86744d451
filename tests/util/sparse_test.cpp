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

TEST_CASE("a member of a sparse value is set, and takes no place once all is the default again", "[util]") {
  struct Pair {
    int one = 1;
    std::string other;
    bool operator==(const Pair&) const = default;
  };
  Sparse<Pair> pair;
  const Pair* const none = &*pair;
  pair.set(&Pair::one, 1);
  CHECK(&*pair == none);
  pair.set(&Pair::one, 2);
  pair.set(&Pair::other, std::string("x"));
  CHECK(pair == Pair{2, "x"});
  pair.set(&Pair::other, std::string());
  CHECK(pair->one == 2);
  CHECK_FALSE(&*pair == none);
  pair.set(&Pair::one, 1);
  CHECK(&*pair == none);
}

}  // namespace sparse_test
