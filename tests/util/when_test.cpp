// SPDX-License-Identifier: MIT
#include "util/when.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace healer;

namespace {

// Tuesday, 2026-11-24 10:30 UTC.
const WallTime kNow = *parse_iso("2026-11-24T10:30:00.000Z");

/// Two hours east; from 2026-11-23 on one hour.
CivilTime eastern(WallTime when) {
  const seconds offset = when < *parse_iso("2026-11-23T00:00:00.000Z") ? hours{2} : hours{1};
  CivilTime civil = utc_civil(when + offset);
  civil.offset = offset;
  return civil;
}

std::string meant(std::string_view text, const CivilClock& civil = utc_civil) {
  const auto when = parse_when(text, kNow, civil);
  return when ? format_iso(*when) : "none";
}

}  // namespace

TEST_CASE("Times are parsed as people write them") {
  CHECK(meant("now") == "2026-11-24T10:30:00.000Z");
  CHECK(meant("2 hours") == "2026-11-24T08:30:00.000Z");
  CHECK(meant("2 hours ago") == "2026-11-24T08:30:00.000Z");
  CHECK(meant("90m") == "2026-11-24T09:00:00.000Z");
  CHECK(meant(" 2 Days AGO ") == "2026-11-22T10:30:00.000Z");
  CHECK(meant("today") == "2026-11-24T00:00:00.000Z");
  CHECK(meant("Yesterday") == "2026-11-23T00:00:00.000Z");
  CHECK(meant("yesterday 14:30") == "2026-11-23T14:30:00.000Z");
  CHECK(meant("yesterday at 14:30") == "2026-11-23T14:30:00.000Z");
  CHECK(meant("08:00") == "2026-11-24T08:00:00.000Z");
  CHECK(meant("11:00:05") == "2026-11-23T11:00:05.000Z");
  CHECK(meant("last tuesday") == "2026-11-17T00:00:00.000Z");
  CHECK(meant("monday") == "2026-11-23T00:00:00.000Z");
  CHECK(meant("last wed 7:15") == "2026-11-18T07:15:00.000Z");
  CHECK(meant("2026-11-20") == "2026-11-20T00:00:00.000Z");
  CHECK(meant("2026-11-20 08:00") == "2026-11-20T08:00:00.000Z");
  CHECK(meant("2026-11-20T08:00:01.5Z") == "2026-11-20T08:00:01.500Z");
}

TEST_CASE("they are local times, on the day on which the clocks change too") {
  CHECK(meant("2026-11-20 08:00", eastern) == "2026-11-20T06:00:00.000Z");
  CHECK(meant("today", eastern) == "2026-11-23T23:00:00.000Z");
  CHECK(meant("2026-11-24 08:00", eastern) == "2026-11-24T07:00:00.000Z");
  CHECK(meant("2026-11-20 08:00Z", eastern) == "2026-11-20T08:00:00.000Z");
}

TEST_CASE("A text that is no time is refused") {
  for (const std::string_view text :
       {"", "someday", "last", "last week", "25:00", "8", "8:60", "2026-02-30", "2026-13-01", "yesterday noon", "ago",
        "-2 hours", "tu", "08:00 today", "2026-11-20Z", "Z"})
    CHECK(meant(text) == "none");
}
