// SPDX-License-Identifier: MIT
#include "util/shared.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace shared_test {

using namespace healer;

TEST_CASE("An unwritten value is the default and takes only a pointer", "[shared]") {
  const Shared<std::vector<std::string>> one;
  CHECK(sizeof(one) == sizeof(void*));
  CHECK(one->empty());
  CHECK(one == Shared<std::vector<std::string>>{});
  CHECK(one == std::vector<std::string>{});
}

TEST_CASE("copies share a value until one of them is written", "[shared]") {
  Shared<std::string> one = std::string("text");
  const Shared<std::string> copy = one;
  CHECK(&*copy == &*std::as_const(one));
  *one += " more";
  CHECK(*std::as_const(one) == "text more");
  CHECK(*copy == "text");
  CHECK(one != copy);

  const std::string* const own = &*std::as_const(one);
  one->push_back('.');
  CHECK(&*std::as_const(one) == own);

  one = copy;
  CHECK(one == copy);
  const Shared<std::string> moved = std::move(one);
  CHECK(&*moved == &*copy);
}

}  // namespace shared_test
