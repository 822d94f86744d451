// SPDX-License-Identifier: MIT
#include "protocols/sentence.hpp"

#include <catch2/catch.hpp>

namespace sentence_test {

using namespace healer;
using namespace healer::protocols;
using std::chrono::microseconds;

namespace {

constexpr WallTime kNow{days{20'000}};

ProbeResult failed(ProbePhase phase, std::string text) {
  ProbeResult result{.verdict = ProbeVerdict::Failed, .phase = phase, .text = std::move(text)};
  result.address = "127.0.0.1:80";
  result.connect = microseconds{1'000};
  result.response = microseconds{1'500'000};
  return result;
}

}  // namespace

TEST_CASE("a probe is told as Monit tells it", "[protocols][probe]") {
  ProbePlan plan{.host = "shop", .port = 80, .protocol = find_protocol("http")};
  plan.settings = {{.word = "request", .text = "/health?token=secret"}};
  CHECK(sentence(plan, failed(ProbePhase::Connect, "connection refused"), kNow) ==
        "failed protocol test [HTTP] at [shop]:80/health [TCP/IP] -- Connection refused");
  CHECK(sentence(plan, {.verdict = ProbeVerdict::Passed, .phase = ProbePhase::Done}, kNow) ==
        "connection succeeded to [shop]:80 [TCP/IP]");
  plan.tls.emplace();
  plan.family = Family::V6;
  plan.protocol = find_protocol("https");
  CHECK(sentence(plan, {.verdict = ProbeVerdict::Passed, .phase = ProbePhase::Done}, kNow) ==
        "connection succeeded to [shop]:80 [TCP/IPv6 TLS]");
  CHECK(name_of(plan) == "https shop:80");
  const ProbePlan socket{.transport = Transport::Unix, .host = "/run/x", .protocol = find_protocol("default")};
  CHECK(sentence(socket, failed(ProbePhase::Connect, "no such file or directory"), kNow) ==
        "failed protocol test [DEFAULT] at /run/x -- No such file or directory");
  CHECK(name_of(socket) == "unixsocket /run/x");
}

TEST_CASE("late is what has answered well, and nothing else", "[protocols][probe]") {
  ProbePlan plan{.host = "shop", .port = 80, .protocol = find_protocol("http")};
  plan.response_time = {Operator::Less, microseconds{200'000}};
  const ProbeResult late = failed(ProbePhase::Done, "the response time is 1.5 s, not < 200 ms");
  CHECK(mistimed(plan, late));
  CHECK(sentence(plan, late, kNow) == "response time 1.500 s doesn't match limit [time < 200 ms]");
  for (const ProbePhase phase : {ProbePhase::Connect, ProbePhase::Tls, ProbePhase::Talk}) {
    const ProbeResult broken = failed(phase, "its status is 500");
    CHECK_FALSE(mistimed(plan, broken));
    CHECK(sentence(plan, broken, kNow).starts_with("failed protocol test [HTTP] at [shop]:80 [TCP/IP] -- "));
  }
  ProbeResult good{.verdict = ProbeVerdict::Passed, .phase = ProbePhase::Done};
  good.response = microseconds{780};
  CHECK(time_sentence(plan, good) == "response time 0.780 ms succeeded [time < 200 ms]");
}

TEST_CASE("a certificate that expires too soon is told apart from one that is wrong", "[protocols][probe]") {
  ProbePlan plan{.host = "shop", .port = 443, .protocol = find_protocol("https")};
  plan.tls.emplace().valid_days = 30;
  ProbeResult result = failed(ProbePhase::Tls, "certificate expires in 9 days, but must be valid for at least 30 days");
  result.certificate = {.subject = "shop", .issuer = "us", .expires = kNow + days{9} + hours{3}};
  CHECK(expires_soon(plan, result, kNow));
  CHECK(sentence(plan, result, kNow) == "certificate expiry in 9 days matches check limit [valid > 30 days]");
  result.text = "certificate is not for shop, but for bakery";
  CHECK_FALSE(expires_soon(plan, result, kNow));
}

}  // namespace sentence_test
