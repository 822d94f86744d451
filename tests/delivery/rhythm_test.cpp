// SPDX-License-Identifier: MIT
// What answers mean, and when something is tried again.
#include <catch2/catch.hpp>

#include "delivery/rhythm.hpp"

using namespace healer;
using namespace healer::delivery;

namespace {

const WallTime kNow = std::chrono::sys_days{std::chrono::year{1994} / 11 / 6} + hours{8} + minutes{49} + seconds{37};

Verdict judged(std::uint16_t status, std::string after = {}) {
  return by_status({.status = status, .why = "no answer", .retry_after = std::move(after)}, kNow);
}

}  // namespace

TEST_CASE("any 2xx is taken; what may pass is tried again; all else is final", "[rhythm]") {
  for (const int status : {200, 201, 202, 204, 299})
    CHECK(std::holds_alternative<Taken>(judged(static_cast<std::uint16_t>(status))));
  for (const int status : {408, 429, 500, 502, 503, 599})
    CHECK(std::holds_alternative<TryAgain>(judged(static_cast<std::uint16_t>(status))));
  for (const int status : {101, 301, 302, 307, 308, 400, 401, 403, 404, 410, 422})
    CHECK(std::holds_alternative<Final>(judged(static_cast<std::uint16_t>(status))));
  CHECK(judged(0) == Verdict{TryAgain{"no answer"}});
  CHECK(judged(404) == Verdict{Final{"it answered 404"}});
  CHECK(judged(302) == Verdict{Final{"it answered 302, a redirect, which is not followed"}});
}

TEST_CASE("a server says how long it is left alone, in seconds or by a date", "[rhythm]") {
  CHECK(judged(429, "30") == Verdict{TryAgain{"it answered 429", seconds{30}}});
  CHECK(retry_after(" 0 ", kNow) == seconds{0});
  CHECK(retry_after("Sun, 06 Nov 1994 08:50:07 GMT", kNow) == seconds{30});
  CHECK(retry_after("Sunday, 06-Nov-94 08:50:07 GMT", kNow) == seconds{30});
  CHECK(retry_after("Sun Nov  6 08:50:07 1994", kNow) == seconds{30});
  CHECK_FALSE(retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kNow));  // past
  for (const char* text : {"", "soon", "-5", "1.5", "Sun, 31 Feb 1994 08:50:07 GMT", "Sun, 06 Nov 1994 25:50:07 GMT"})
    CHECK_FALSE(retry_after(text, kNow));
  CHECK(retry_after("99999999999999999999", kNow) == days{365});
  CHECK(judged(429, "soon") == Verdict{TryAgain{"it answered 429"}});
}

TEST_CASE("pauses grow up to the longest", "[rhythm]") {
  const Rhythm rhythm;
  CHECK(pause(rhythm, 1) == seconds{1});
  CHECK(pause(rhythm, 2) == seconds{2});
  CHECK(pause(rhythm, 9) == seconds{256});
  CHECK(pause(rhythm, 10) == minutes{5});
  CHECK(pause(rhythm, 4'000'000'000) == minutes{5});
}

TEST_CASE("an alert waits for a day", "[rhythm]") {
  CHECK_FALSE(is_overdue({}, hours{24} - milliseconds{1}));
  CHECK(is_overdue({}, hours{24}));
}
