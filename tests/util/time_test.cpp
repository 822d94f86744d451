// SPDX-License-Identifier: MIT
#include "util/time.hpp"

#include <catch2/catch.hpp>

namespace time_test {

using namespace healer;

TEST_CASE("durations read as a person would say them", "[util]") {
  CHECK(format_duration(milliseconds{90}) == "90 ms");
  CHECK(format_duration(milliseconds{1500}) == "1.5 s");
  CHECK(format_duration(milliseconds{1023}) == "1.023 s");
  CHECK(format_duration(seconds{15}) == "15 s");
  CHECK(format_duration(seconds{125}) == "2 m 5 s");
  CHECK(format_duration(hours{25}) == "1 d 1 h");
}

TEST_CASE("wall time is shown in the forms that people and programs expect", "[util]") {
  const WallTime when{milliseconds{1'795'235'064'123}};
  CHECK(format_iso(when) == "2026-11-21T04:24:24.123Z");
  CHECK(format_monit_date(utc_civil(when)) == "Sat, 21 Nov 2026 04:24:24");
  CHECK(format_civil(utc_civil(when), subsecond_ms(when)) == "2026-11-21 04:24:24.123");
}

TEST_CASE("a duration is read as a person would write it", "[util]") {
  const auto ms = [](std::string_view text) { return parse_duration(text).value_or(Duration{-1}).count(); };
  CHECK(ms("90 ms") == 90);
  CHECK(ms("2h") == 7'200'000);
  CHECK(ms(" 1.5 hours ") == 5'400'000);
  CHECK(ms("1 d 2 h") == 93'600'000);
  CHECK(ms("1d2h") == 93'600'000);
  CHECK(ms("3 Weeks") == 1'814'400'000);
  CHECK(ms("0s") == 0);
  for (const char* wrong :
       {"", " ", "5", "h", "-5 s", "5 parsecs", "nan s", "inf s", "1e99 weeks", "9999999999999 weeks", "5 s 3"})
    CHECK(ms(wrong) == -1);
}

TEST_CASE("parse_iso reads what format_iso writes", "[util]") {
  const WallTime when{milliseconds{1'795'235'064'123}};
  CHECK(parse_iso(format_iso(when)) == when);
  CHECK(parse_iso("1970-01-01T00:00:00.000Z") == WallTime{});
  for (const char* wrong : {"", "2026-11-21", "2026-13-21T04:24:24.123Z", "2026-02-30T04:24:24.123Z",
                            "2026-11-21T24:24:24.123Z", "2026-11-21T04:24:24.123+", "2026-11-2xT04:24:24.123Z"})
    CHECK_FALSE(parse_iso(wrong).has_value());
}

}  // namespace time_test
