// SPDX-License-Identifier: MIT
#include "runtime/net/pinger.hpp"

#include "probes.hpp"

namespace pinger_test {

using namespace healer;
using namespace healer::test;
using runtime::Address;
using runtime::PingAnswer;
using runtime::Pinger;

namespace {

/// Whether this test may ping; else it says that it is skipped.
bool may_ping(Prober& prober) {
  const ProbeResult result = prober.run("127.0.0.1", "ping");
  if (result.verdict == ProbeVerdict::Unknown) WARN("SKIPPED: " + result.text);
  return result.verdict != ProbeVerdict::Unknown;
}

}  // namespace

TEST_CASE("a host that is there answers", "[ping]") {
  Prober prober;
  if (!may_ping(prober)) return;
  for (const std::string host : {"127.0.0.1", "127.1.2.3", "::1"}) {
    const ProbeResult result = prober.run(host, "ping");
    CAPTURE(host);
    CHECK(result.verdict == ProbeVerdict::Passed);
    CHECK(result.address == host);
    CHECK(result.pings_sent == 1);
    CHECK(result.pings_lost == 0);
    REQUIRE(result.response);
    CHECK(result.response->count() > 0);
  }
  CHECK(prober.run("127.0.0.1", "ping size 8").verdict == ProbeVerdict::Passed);
  CHECK(prober.run("127.0.0.1", "ping size 1492 count 1").verdict == ProbeVerdict::Passed);
  CHECK(prober.run("::1", "ping6 size 1492").verdict == ProbeVerdict::Passed);
  CHECK(prober.run("127.0.0.1", "ping address 127.0.0.9").verdict == ProbeVerdict::Passed);
  CHECK(prober.run("::1", "ping address ::1").verdict == ProbeVerdict::Passed);
  CHECK(prober.run("127.0.0.1", "ping6").text == "127.0.0.1 is not an IPv6 address");
}

TEST_CASE("a host that is not there fails after its pings", "[ping]") {
  Prober prober;
  if (!may_ping(prober)) return;
  // Nobody has this address, and the machine says so at once, or sends it where nobody answers.
  const ProbeResult result = prober.run("240.0.0.1", "ping count 2 timeout 20 ms");
  CHECK(result.verdict == ProbeVerdict::Failed);
  CHECK(result.address == "240.0.0.1");
  CHECK(result.pings_sent >= 1);
  CHECK(result.pings_lost == result.pings_sent);
}

TEST_CASE("a ping from an address that this machine does not hold says nothing about the host", "[ping]") {
  Prober prober;
  if (!may_ping(prober)) return;
  for (const auto& [host, source] : {std::pair{"127.0.0.1", "192.0.2.77"}, {"::1", "2001:db8::77"}}) {
    const ProbeResult result = prober.run(host, std::string("ping address ") + source);
    CHECK(result.verdict == ProbeVerdict::Unknown);
    CHECK(result.text == std::string("cannot send from ") + source + ": cannot assign requested address");
    CHECK(result.pings_sent == 0);
  }
  // It holds this one, but no way leads from there to others.
  CHECK(prober.run("240.0.0.1", "ping address 127.0.0.1 count 1 timeout 20 ms").verdict == ProbeVerdict::Failed);
}

TEST_CASE("each address of a name is pinged until one answers", "[ping]") {
  const DatagramServer names([](const std::string& question) {
    return dns_answer(question, {"240.0.0.1", "127.0.0.3"}, 60);
  });
  Prober prober({.resolver = {.servers = "127.0.0.1:" + std::to_string(names.port())}});
  if (!may_ping(prober)) return;
  const ProbeResult result = prober.run("two.test", "ping count 1 timeout 1 second");
  CHECK(result.verdict == ProbeVerdict::Passed);
  CHECK(result.address == "127.0.0.3");
}

TEST_CASE("thousands of pings are in flight, and each gets its own answer", "[ping]") {
  Prober prober;
  if (!may_ping(prober)) return;
  constexpr unsigned kHosts = 5000;
  std::vector<int> answers(kHosts, 0);
  unsigned answered = 0;
  for (unsigned i = 0; i < kHosts; ++i) {
    in_addr address{htonl(0x7f010000U + i)};
    prober.connector().probe(plan_of(Address(address).text(), "ping timeout 60 seconds"),
                             [&, i](const ProbeResult& result) {
                               answers[i] += result.verdict == ProbeVerdict::Passed &&
                                                     result.address == Address(in_addr{htonl(0x7f010000U + i)}).text()
                                                 ? 1
                                                 : 100;
                               ++answered;
                             });
  }
  CHECK(run_until(prober.loop(), [&] { return answered == kHosts; }));
  CHECK(std::ranges::all_of(answers, [](int one) { return one == 1; }));
  CHECK(prober.connector().in_flight() == 0);
}

TEST_CASE("A cancelled ping is reported to nobody", "[ping]") {
  Prober prober;
  if (!may_ping(prober)) return;
  runtime::Loop loop;
  Pinger pinger(loop);
  int answered = 0;
  const auto tell = [&](const Result<PingAnswer>&) { ++answered; };
  const auto id = pinger.ping({.host = *Address::parse("127.0.0.1"), .source = {}}, tell);
  pinger.cancel(id);
  CHECK(pinger.in_flight() == 0);
  pinger.ping({.host = *Address::parse("127.0.0.2"), .source = {}}, tell);
  CHECK(run_until(loop, [&] { return answered > 0; }));
  run_for(loop, Duration{10});
  CHECK(answered == 1);
}

}  // namespace pinger_test
