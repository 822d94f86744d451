// SPDX-License-Identifier: MIT
#include "runtime/net/traffic.hpp"

#include <catch2/catch.hpp>

namespace traffic_test {

using namespace healer;
using namespace healer::runtime;

namespace {

InterfaceSample sample(Duration taken, std::uint64_t bytes, std::uint64_t interface = 1) {
  return {.taken = taken, .interface = interface, .counters = {.bytes_in = bytes, .bytes_out = 2 * bytes}};
}

}  // namespace

TEST_CASE("A total over minutes counts from the beginning of the first one", "[runtime]") {
  Traffic traffic;
  // A hundred bytes a second, seen each ten seconds from half a minute on.
  for (int second = 30; second <= 200; second += 10)
    traffic.add(sample(seconds{second}, static_cast<std::uint64_t>(second) * 100), hours{1});
  CHECK(traffic.since(minutes{1}).bytes_in == 3000);  // what came before the first look of a minute is the minute's
  CHECK(traffic.since(minutes{1}).bytes_out == 6000);
  CHECK(traffic.since(minutes{2}).bytes_in == 9000);
  CHECK(traffic.since(minutes{3}).bytes_in == 15000);
  CHECK(traffic.since(minutes{4}).bytes_in == 17000);  // all there is
  CHECK(traffic.since(hours{1}).bytes_in == 17000);
  CHECK(traffic.since(Duration{0}).bytes_in == 17000);
}

TEST_CASE("A total begins at the first check", "[runtime]") {
  Traffic traffic;
  traffic.add(sample(seconds{5}, 1'000'000), hours{1});
  CHECK(traffic.since(hours{1}) == InterfaceCounters{});
}

TEST_CASE("Traffic between checks belongs to the minute of the next check", "[runtime]") {
  Traffic traffic;
  traffic.add(sample(minutes{1}, 100), hours{1});
  traffic.add(sample(minutes{9}, 600), hours{1});
  CHECK(traffic.since(minutes{1}).bytes_in == 500);
  traffic.add(sample(minutes{10}, 700), hours{1});
  CHECK(traffic.since(minutes{1}).bytes_in == 100);
  CHECK(traffic.since(minutes{2}).bytes_in == 600);
}

TEST_CASE("no more is kept than is asked for, and a day at most", "[runtime]") {
  Traffic traffic;
  for (int minute = 0; minute < 3000; ++minute)
    traffic.add(sample(minutes{minute}, static_cast<std::uint64_t>(minute)), minutes{5});
  CHECK(traffic.size() == 5);
  CHECK(traffic.since(minutes{5}).bytes_in == 5);
  for (int minute = 3000; minute < 6000; ++minute)
    traffic.add(sample(minutes{minute}, static_cast<std::uint64_t>(minute)), Duration{0});
  CHECK(traffic.size() == Traffic::kMostMinutes);
  CHECK(traffic.since(Duration{0}).bytes_in == Traffic::kMostMinutes);
  CHECK(traffic.since(hours{24}).bytes_in == Traffic::kMostMinutes);
  CHECK(traffic.since(hours{1}).bytes_in == 60);
}

TEST_CASE("counters that begin anew, and another interface of that name, begin a total anew", "[runtime]") {
  Traffic traffic;
  traffic.add(sample(seconds{1}, 1000), hours{1});
  traffic.add(sample(seconds{2}, 1500), hours{1});
  traffic.add(sample(seconds{3}, 20), hours{1});
  CHECK(traffic.since(hours{1}).bytes_in == 0);
  traffic.add(sample(seconds{4}, 50), hours{1});
  CHECK(traffic.since(hours{1}).bytes_in == 30);
  traffic.add(sample(seconds{5}, 5000, 2), hours{1});
  CHECK(traffic.since(hours{1}).bytes_in == 0);
}

}  // namespace traffic_test
