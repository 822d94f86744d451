// SPDX-License-Identifier: MIT
#include "protocols/probe.hpp"

#include <catch2/catch.hpp>

namespace probe_test {

using namespace healer;
using namespace healer::protocols;
using std::chrono::microseconds;

TEST_CASE("results are told in words", "[protocols][probe]") {
  ProbePlan plan{.host = "shop", .port = 443, .protocol = find_protocol("https")};
  ProbeResult result{
      .verdict = ProbeVerdict::Failed, .phase = ProbePhase::Tls, .text = "certificate expired 3 days ago"};
  result.address = "10.0.0.7:443";
  result.connect = microseconds{3'000};
  result.certificate = CertificateFacts{};
  // There is one once the handshake is done.
  CHECK(describe(plan, result) == "connected to 10.0.0.7:443 in 3.0 ms, certificate expired 3 days ago");
  result.certificate.reset();
  result.text = "the server does not speak TLS";
  CHECK(describe(plan, result) ==
        "connected to 10.0.0.7:443 in 3.0 ms, TLS handshake failed: the server does not speak TLS");
  result.phase = ProbePhase::Connect;
  result.text = "connection refused";
  CHECK(describe(plan, result) == "cannot connect to 10.0.0.7:443: connection refused");
  result.phase = ProbePhase::Done;
  result.verdict = ProbeVerdict::Passed;
  result.text = "HTTP status 200";
  result.first_byte = microseconds{20'000};
  result.response = microseconds{25'300};
  CHECK(describe(plan, result) == "connected to 10.0.0.7:443 in 3.0 ms, HTTP status 200, 25 ms in all");
  plan.transport = Transport::Ping;
  result = {.verdict = ProbeVerdict::Passed, .phase = ProbePhase::Done, .address = "10.0.0.7"};
  result.response = microseconds{480};
  CHECK(describe(plan, result) == "10.0.0.7 answered in 0.48 ms");
}

TEST_CASE("how long a certificate is valid is told in whole days", "[protocols][probe]") {
  const WallTime now{days{20'000}};
  CHECK(expiry_words(now - days{3} - hours{2}, now) == "expired 3 days ago");
  CHECK(expiry_words(now - days{3}, now) == "expired 3 days ago");
  CHECK(expiry_words(now - days{1} - hours{1}, now) == "expired 1 day ago");
  CHECK(expiry_words(now - hours{1}, now) == "expired within the last day");
  CHECK(expiry_words(now + hours{1}, now) == "expires within a day");
  CHECK(expiry_words(now + days{1} + hours{1}, now) == "expires in 1 day");
  CHECK(days_left(now + days{30}, now) == 30);
  CHECK(days_left(now + days{30} - seconds{1}, now) == 29);
}

TEST_CASE("plans that cannot be are refused", "[protocols][probe]") {
  CHECK(fault({.host = "x", .port = 0, .protocol = find_protocol("default")}) == "no port is given");
  CHECK(fault({.transport = Transport::Udp, .host = "x", .port = 80, .protocol = find_protocol("http")}) ==
        "protocol http is not supported over UDP");
  CHECK(fault({.transport = Transport::Unix, .protocol = find_protocol("default")}) == "no path is given");
  CHECK(fault({.transport = Transport::Unix, .host = "/run/x", .protocol = find_protocol("snmp")}) ==
        "protocol snmp is spoken over UDP alone, and never through a unix socket");
  CHECK(fault({.transport = Transport::Unix, .host = "/run/x", .protocol = find_protocol("dns")}).empty());
  CHECK(fault({.transport = Transport::Ping, .host = "x"}).empty());
}

TEST_CASE("short times are told with what matters", "[protocols][probe]") {
  CHECK(format_latency(microseconds{123}) == "0.12 ms");
  CHECK(format_latency(microseconds{3'456}) == "3.5 ms");
  CHECK(format_latency(microseconds{34'567}) == "35 ms");
  CHECK(format_latency(microseconds{1'234'567}) == "1.2 s");
}

}  // namespace probe_test
