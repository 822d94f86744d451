// SPDX-License-Identifier: MIT
#include "protocols/probe.hpp"

#include <spdlog/fmt/fmt.h>

namespace healer::protocols {
namespace {

std::string plural(long count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string describe_ping(const ProbePlan& plan, const ProbeResult& result) {
  if (result.verdict == ProbeVerdict::Passed) {
    std::string text =
        fmt::format("{} answered in {}", result.address, format_latency(result.response.value_or(microseconds{0})));
    if (result.pings_lost > 0)
      text += fmt::format(", {} of {} pings before it lost", result.pings_lost, result.pings_sent);
    return text;
  }
  if (result.address.empty()) return result.text;
  return fmt::format("{} {}", result.address.empty() ? plan.host : result.address, result.text);
}

}  // namespace

std::string_view to_string(ProbePhase phase) {
  switch (phase) {
    case ProbePhase::Resolve: return "resolve";
    case ProbePhase::Connect: return "connect";
    case ProbePhase::Tls: return "tls";
    case ProbePhase::Talk: return "talk";
    case ProbePhase::Done: return "done";
  }
  return "";
}

std::string_view to_string(ProbeVerdict verdict) {
  switch (verdict) {
    case ProbeVerdict::Passed: return "passed";
    case ProbeVerdict::Failed: return "failed";
    case ProbeVerdict::Unknown: return "unknown";
  }
  return "";
}

std::string fault(const ProbePlan& plan) {
  if (plan.host.empty()) return plan.transport == Transport::Unix ? "no path is given" : "no host is given";
  if (plan.transport == Transport::Ping) return {};
  if (plan.protocol == nullptr) return "no protocol is given";
  if (plan.transport != Transport::Unix && plan.port == 0) return "no port is given";
  if (plan.transport == Transport::Udp && !plan.protocol->datagrams)
    return fmt::format("protocol {} is not supported over UDP", plan.protocol->name);
  if (plan.transport == Transport::Unix && plan.protocol->only_datagrams)
    return fmt::format("protocol {} is spoken over UDP alone, and never through a unix socket", plan.protocol->name);
  if (plan.transport == Transport::Udp && plan.tls) return "TLS is not supported over UDP";
  return plan.protocol->fault != nullptr ? plan.protocol->fault(plan.settings) : std::string{};
}

std::string describe(const ProbePlan& plan, const ProbeResult& result) {
  if (plan.transport == Transport::Ping) return describe_ping(plan, result);
  if (result.phase == ProbePhase::Resolve) return result.text;
  if (result.phase == ProbePhase::Connect) return fmt::format("cannot connect to {}: {}", result.address, result.text);
  std::string text =
      fmt::format("connected to {} in {}", result.address, format_latency(result.connect.value_or(microseconds{0})));
  if (plan.transport == Transport::Udp) text = fmt::format("sent to {}", result.address);
  // A certificate is there once hands were shaken: what is wrong then is the certificate.
  if (result.phase == ProbePhase::Tls)
    return text + (result.certificate ? ", " : ", TLS handshake failed: ") + result.text;
  if (!result.text.empty()) text += ", " + result.text;
  if (result.verdict == ProbeVerdict::Passed && result.first_byte && result.response)
    text += fmt::format(", {} in all", format_latency(*result.response));
  return text;
}

std::string format_latency(microseconds time) {
  const auto us = static_cast<double>(time.count());
  if (us < 1'000) return fmt::format("{:.2f} ms", us / 1'000);
  if (us < 10'000) return fmt::format("{:.1f} ms", us / 1'000);
  if (us < 1'000'000) return fmt::format("{:.0f} ms", us / 1'000);
  return format_duration(std::chrono::round<milliseconds>(time));
}

int days_left(WallTime expires, WallTime now) {
  return static_cast<int>(std::chrono::floor<days>(expires - now).count());
}

std::string expiry_words(WallTime expires, WallTime now) {
  if (expires <= now) {
    const int ago = days_left(now, expires);
    return ago == 0 ? "expired within the last day" : fmt::format("expired {} ago", plural(ago, "day"));
  }
  const int left = days_left(expires, now);
  return left == 0 ? "expires within a day" : fmt::format("expires in {}", plural(left, "day"));
}

}  // namespace healer::protocols
