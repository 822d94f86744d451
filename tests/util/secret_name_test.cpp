// SPDX-License-Identifier: MIT
#include "util/secret_name.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace secret_name_test {

using namespace healer;

namespace {

/// "FILE NUMBER"; "wrong".
std::string read(std::string_view written) {
  const auto name = secret_name(written);
  return name ? name->file + " " + std::to_string(name->part) : "wrong";
}

}  // namespace

TEST_CASE("the name of a secret may name one of its parts", "[util]") {
  CHECK(read("cloudify") == "cloudify 0");
  CHECK(read("cloudify[1]") == "cloudify 1");
  CHECK(read("cloudify[12]") == "cloudify 12");
  for (const char* const wrong :
       {"a[]", "a[0]", "a[-1]", "a[x]", "a[1", "a1]", "[1]", "a[1]b", "a[1][2]", "a[ 1]", "a[99999999999999999999]"})
    CHECK(read(wrong) == "wrong");
}

TEST_CASE("commas separate the parts of a secret, and nothing is taken off them", "[util]") {
  CHECK(part_of("john,pass word ,default_tenant", 0) == "john,pass word ,default_tenant");
  CHECK(part_of("john,pass word ,default_tenant", 1) == "john");
  CHECK(part_of("john,pass word ,default_tenant", 2) == "pass word ");
  CHECK(part_of("john,pass word ,default_tenant", 3) == "default_tenant");
  CHECK(part_of("john,,", 3) == "");
  CHECK(part_of("john", 1) == "john");
  CHECK(part_of("", 1) == "");
  CHECK(!part_of("john", 2));
  CHECK(count_of_parts("a,b,c") == 3);
  CHECK(count_of_parts("") == 1);
}

}  // namespace secret_name_test
