// SPDX-License-Identifier: MIT
#include "runtime/inspection/network_inspection.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "engine/judging/evaluate.hpp"
#include "engine/rules/service.hpp"
#include "runtime/inspector_bench.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

namespace network_inspection_test {

using namespace healer;
using namespace healer::engine;
using namespace healer::runtime;
using namespace healer::test;

namespace {

/// A folder in which an interface `n0` is as the kernel shows one.
struct Interfaces {
  Interfaces() {
    std::filesystem::create_directories(folder.path() / "n0" / "statistics");
    for (const std::string counter : {"rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "rx_errors", "tx_errors"})
      say("statistics/" + counter, "0");
    say("operstate", "up");
    say("ifindex", "7");
    say("speed", "100");
    say("duplex", "full");
  }

  void say(const std::string& file, const std::string& text) { write_file(folder.path() / "n0" / file, text + "\n"); }
  [[nodiscard]] NetworkInspection inspection(const std::string& name = "n0") const {
    return inspect_network({.name = name, .address = {}}, folder.path());
  }

  TemporaryDirectory folder;
};

std::optional<Value> attribute(const Facts& facts, Attribute what) {
  for (const auto& [one, value] : facts.attributes)
    if (one == what) return value;
  return std::nullopt;
}

InterfaceSample sample(std::int64_t speed, bool both_ways, InterfaceCounters counters = {}) {
  return {.taken = counters == InterfaceCounters{} ? Duration{1000} : Duration{3000},
          .interface = 1,
          .counters = counters,
          .speed = speed,
          .both_ways = both_ways};
}

}  // namespace

TEST_CASE("an interface tells its link, what it can carry and what it has carried", "[runtime]") {
  Interfaces all;
  all.say("statistics/rx_bytes", "18446744073709551615");
  all.say("statistics/tx_packets", "12");
  all.say("statistics/rx_errors", "3");
  const NetworkInspection inspection = all.inspection();
  CHECK(inspection.answer == Answer::Present);
  CHECK(inspection.up);
  CHECK(attribute(inspection.facts, Attribute::Link) == Value(std::string("up")));
  CHECK(attribute(inspection.facts, Attribute::LinkSpeed) == Value(std::int64_t{100}));
  CHECK(attribute(inspection.facts, Attribute::LinkMode) == Value(std::string("full")));
  REQUIRE(inspection.sample);
  CHECK(inspection.sample->interface == 7);
  CHECK(inspection.sample->counters.bytes_in == 18446744073709551615U);
  CHECK(inspection.sample->counters.packets_out == 12);
  CHECK(inspection.sample->counters.errors_in == 3);
}

TEST_CASE("a link is down by the kernel's word, and so is one on a link that is down", "[runtime]") {
  Interfaces all;
  for (const std::string state : {"up", "unknown", "dormant", "testing"}) {
    all.say("operstate", state);
    CHECK(all.inspection().up);
  }
  for (const std::string state : {"down", "lowerlayerdown", "notpresent"}) {
    all.say("operstate", state);
    const NetworkInspection inspection = all.inspection();
    CHECK(inspection.answer == Answer::Present);
    CHECK(attribute(inspection.facts, Attribute::Link) == Value(std::string("down")));
    CHECK_FALSE(attribute(inspection.facts, Attribute::LinkSpeed));
    CHECK(inspection.sample);
  }
}

TEST_CASE("not every driver knows what its link can carry", "[runtime]") {
  Interfaces all;
  for (const std::string speed : {"-1", "0", "junk", "", "4294967295000000000000"}) {
    all.say("speed", speed);
    const NetworkInspection inspection = all.inspection();
    CHECK(inspection.up);
    CHECK(inspection.sample->speed == 0);
    CHECK_FALSE(attribute(inspection.facts, Attribute::LinkSpeed));
  }
  std::filesystem::remove(all.folder.path() / "n0" / "speed");
  CHECK(all.inspection().sample->speed == 0);
  all.say("speed", "10");
  all.say("duplex", "half");
  CHECK_FALSE(all.inspection().sample->both_ways);
  all.say("duplex", "unknown");
  CHECK(all.inspection().sample->both_ways);
}

TEST_CASE("an interface that is gone is absent, and nothing is known where none is shown", "[runtime]") {
  const Interfaces all;
  const NetworkInspection gone = all.inspection("n1");
  CHECK(gone.answer == Answer::Absent);
  CHECK(gone.output == "link data collection failed -- Cannot read " + (all.folder.path() / "n1").string() +
                           "/operstate -- No such file or directory");
  CHECK_FALSE(gone.sample);
  for (const std::string name : {"..", ".", "n0/../n0", "/n0"}) CHECK(all.inspection(name).answer == Answer::Absent);
  std::filesystem::remove_all(all.folder.path());
  CHECK(all.inspection().answer == Answer::Unknown);
}

TEST_CASE("a counter that cannot be read is not taken for 0", "[runtime]") {
  Interfaces all;
  all.say("statistics/rx_bytes", "8000000000000");
  REQUIRE(all.inspection().sample);
  all.say("statistics/rx_bytes", "");
  const NetworkInspection inspection = all.inspection();
  CHECK(inspection.answer == Answer::Present);  // the link is there
  CHECK_FALSE(inspection.sample);
}

TEST_CASE("an interface is found by an address, however it is written", "[runtime]") {
  const auto answer = [](const std::string& address) {
    return inspect_network({.name = {}, .address = address}).answer;
  };
  CHECK(answer("127.0.0.1") == Answer::Present);
  CHECK(answer("192.0.2.77") == Answer::Absent);
  CHECK(answer("localhost") == Answer::Absent);
  CHECK(answer("fe80::77%none") == Answer::Absent);
  if (std::filesystem::exists("/proc/net/if_inet6") && answer("::1") == Answer::Present)
    CHECK(answer("0:0::1") == Answer::Present);
  CHECK(inspect_network({.name = {}, .address = "192.0.2.77"}).output ==
        "link data collection failed -- Address 192.0.2.77 not found");
}

TEST_CASE("what goes over an interface is told by the second, and in parts of what it can carry", "[runtime]") {
  const InterfaceCounters counters{
      .bytes_in = 2'000'000, .bytes_out = 500'000, .packets_in = 20, .packets_out = 10, .errors_in = 1};
  const auto means = [&](std::int64_t speed, bool both_ways) {
    Facts facts;
    add_means(facts, sample(speed, both_ways), sample(speed, both_ways, counters));
    return facts;
  };
  const Metrics full = means(10, true).metrics;
  CHECK(full.get(Metric::DownloadRate) == 1'000'000.0);
  CHECK(full.get(Metric::UploadRate) == 250'000.0);
  CHECK(full.get(Metric::DownloadPackets) == 10.0);
  CHECK(full.get(Metric::UploadPackets) == 5.0);
  CHECK(full.get(Metric::DownloadSaturation).value() == Approx(80));
  CHECK(full.get(Metric::UploadSaturation).value() == Approx(20));
  CHECK_FALSE(full.get(Metric::Saturation));
  CHECK(means(10, false).metrics.get(Metric::Saturation).value() == Approx(100));
  CHECK_FALSE(means(10, false).metrics.get(Metric::UploadSaturation));
  CHECK(means(0, true).metrics.get(Metric::DownloadSaturation) == 0.0);
  CHECK_FALSE(attribute(means(10, true), Attribute::LinkErrors));  // one in two seconds

  Facts facts;
  add_means(facts, sample(10, true), sample(10, true, {.bytes_in = 1, .errors_in = 4}));
  CHECK(attribute(facts, Attribute::LinkErrors) == Value(std::string("2 download errors detected")));
  Facts anew;
  add_means(anew, sample(10, true, counters), sample(10, true, {.bytes_in = 1}));
  CHECK(anew.metrics == Metrics{});
}

TEST_CASE("the loopback is up; its totals are those that rules ask for", "[runtime]") {
  InspectorBench bench;
  auto block = InspectorBench::block(kind_named("network"));
  block->other.edit().interface.name = "lo";
  CHECK(attribute_of(bench.see(block), Attribute::Link) == Value(std::string("up")));
  CHECK(bench.see(block).facts->further->totals.empty());
  InspectorBench::asking(block, Total{.what = Metric::TotalDownload, .span = hours{1}});
  const Total total{.what = Metric::TotalDownload, .span = hours{1}};
  CHECK(value_of(bench.see(block), total) >= 0);
  block->other.edit().interface.name = "no such";
  const Evidence& seen = bench.see(block);
  CHECK(seen.answer == Answer::Absent);
  CHECK(*seen.output ==
        "link data collection failed -- Cannot read /sys/class/net/no such/operstate -- No such file or directory");
  CHECK_FALSE(value_of(seen, total));
}

}  // namespace network_inspection_test
