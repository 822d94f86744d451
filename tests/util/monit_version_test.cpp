// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "util/monit_version.hpp"

namespace monit_version_test {

using healer::monit_version;
using healer::MonitVersion;

TEST_CASE("a version of Monit stands for those up to the next one that differs") {
  for (const char* one : {"5.33", "5.33.0", "5.5", "5.27.2", "5.0"}) CHECK(monit_version(one) == MonitVersion::V5_33);
  for (const char* one : {"5.34", "5.34.3", "5.35.1", "5.99"}) CHECK(monit_version(one) == MonitVersion::V5_34);
  for (const char* one : {"6", "6.0", "6.0.0"}) CHECK(monit_version(one) == MonitVersion::V6);
  for (const char* one : {"6.1", "6.1.0", "6.10"}) CHECK(monit_version(one) == MonitVersion::V6_1);
}

TEST_CASE("An unknown version of Monit is refused") {
  for (const char* one : {"", "4.10", "7", "7.0", "6.", ".6", "6..1", "6.1.2.3", "six", "-6", "6.0-2", "5.33 "})
    CHECK_FALSE(monit_version(one));
}

TEST_CASE("a version is written as `set monit` has it") {
  for (const char* one : {"5.33", "5.34", "6", "6.1"}) CHECK(to_string(*monit_version(one)) == one);
}

}  // namespace monit_version_test
