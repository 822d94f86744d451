// SPDX-License-Identifier: MIT
// What answers mean, and when something is tried again.
#include <catch2/catch.hpp>

#include "delivery/contact.hpp"
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
  CHECK(judged(0) == Verdict{TryAgain{.why = "no answer", .is_of_server = true}});
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

TEST_CASE("what fails is left alone for longer each time, or as long as it wants, within bounds", "[rhythm]") {
  const Rhythm rhythm{.first = seconds{1}, .longest = seconds{3}, .longest_wanted = seconds{60}};
  const Duration now = hours{5};
  Tries tries;
  CHECK_FALSE(tries.rests(now));
  CHECK(tries.fail(rhythm, now) == seconds{1});
  CHECK(tries.fail(rhythm, now) == seconds{2});
  CHECK(tries.fail(rhythm, now) == seconds{3});
  CHECK(tries.rests(now + seconds{3} - milliseconds{1}));
  CHECK_FALSE(tries.rests(now + seconds{3}));
  CHECK(tries.fail(rhythm, now, seconds{40}) == seconds{40});
  CHECK(tries.fail(rhythm, now, seconds{0}) == seconds{1});
  CHECK(tries.fail(rhythm, now, hours{1}) == seconds{60});
  CHECK(is_too_long(rhythm, hours{1}));
  CHECK_FALSE(is_too_long(rhythm, seconds{60}));
  CHECK_FALSE(is_too_long(rhythm, {}));
}

TEST_CASE("an alert waits for a day; a mail until it was refused often enough", "[rhythm]") {
  CHECK_FALSE(is_given_up({}, hours{24} - milliseconds{1}, 1'000'000));
  CHECK(is_given_up({}, hours{24}));
  CHECK_FALSE(is_given_up(mail_kind().rhythm, days{365}, 7'199));
  CHECK(is_given_up(mail_kind().rhythm, Duration{0}, 7'200));
}

TEST_CASE(
    "a mail is refused for now by 4xx and for good by 5xx, and where nothing is said of it the server is at fault",
    "[rhythm]") {
  const auto says = [](std::uint16_t reply) {
    return mail_kind().judge({.status = reply, .why = "broken off", .words = "what it said"}, kNow);
  };
  CHECK(says(250) == Verdict{Taken{}});
  for (const int reply : {450, 451, 452, 499})
    CHECK(says(static_cast<std::uint16_t>(reply)) == Verdict{TryAgain{.why = "what it said"}});
  for (const int reply : {500, 550, 554, 599})
    CHECK(says(static_cast<std::uint16_t>(reply)) == Verdict{Final{"what it said"}});
  CHECK(says(0) == Verdict{TryAgain{.why = "broken off", .is_of_server = true}});
}
