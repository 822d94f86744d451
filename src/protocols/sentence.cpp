// SPDX-License-Identifier: MIT
#include "protocols/sentence.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::protocols {
namespace {

std::string_view family(Family family) {
  switch (family) {
    case Family::V4: return "v4";
    case Family::V6: return "v6";
    case Family::Any: break;
  }
  return "";
}

/// "[localhost]:80/path [TCP/IP TLS]", or the path of a socket.
std::string place(const ProbePlan& plan, bool with_request) {
  if (plan.transport == Transport::Unix) return plan.host;
  std::string request;
  if (with_request) {
    const auto found = std::ranges::find(plan.settings, "request", &Setting::word);
    if (found != plan.settings.end()) request = found->text.substr(0, found->text.find('?'));
  }
  return fmt::format("[{}]:{}{} [{}/IP{}{}]", plan.host, plan.port, request,
                     plan.transport == Transport::Udp ? "UDP" : "TCP", family(plan.family), plan.tls ? " TLS" : "");
}

/// Of what the kernel says as Monit tells it: "Connection refused".
std::string reason(const ProbePlan& plan, const ProbeResult& result) {
  if (result.phase != ProbePhase::Connect && plan.transport != Transport::Udp) return describe(plan, result);
  std::string text = result.text;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace

std::string monit_name(const Protocol& protocol) {
  if (protocol.name == "generic") return "generic";
  if (protocol.name == "apache-status") return "APACHESTATUS";
  std::string name(protocol.name);
  if (protocol.tls == TlsStart::Always && name.ends_with('s')) name.pop_back();
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return name;
}

std::string monit_time(microseconds time) {
  const bool is_long = time >= std::chrono::seconds{1};
  const std::int64_t unit = is_long ? 1'000'000 : 1'000;
  const std::string_view name = is_long ? "s" : "ms";
  if (time.count() % unit == 0) return fmt::format("{} {}", time.count() / unit, name);
  return fmt::format("{:.3f} {}", static_cast<double>(time.count()) / static_cast<double>(unit), name);
}

bool expires_soon(const ProbePlan& plan, const ProbeResult& result, WallTime now) {
  if (!plan.tls || !plan.tls->valid_days || !result.certificate || result.phase != ProbePhase::Tls) return false;
  return days_left(result.certificate->expires, now) < *plan.tls->valid_days &&
         result.text.starts_with("certificate expires");
}

bool mistimed(const ProbePlan& plan, const ProbeResult& result) {
  const auto& wanted = plan.response_time;
  return wanted && result.response && result.verdict == ProbeVerdict::Failed && result.phase == ProbePhase::Done &&
         !holds(wanted->op, result.response->count(), wanted->limit.count());
}

std::string time_sentence(const ProbePlan& plan, const ProbeResult& result) {
  if (!plan.response_time || !result.response) return {};
  return fmt::format("response time {} {} [time {} {}]", monit_time(*result.response),
                     result.verdict == ProbeVerdict::Passed ? "succeeded" : "doesn't match limit",
                     to_string(plan.response_time->op), monit_time(plan.response_time->limit));
}

std::string sentence(const ProbePlan& plan, const ProbeResult& result, WallTime now) {
  if (mistimed(plan, result)) return time_sentence(plan, result);
  const bool passed = result.verdict == ProbeVerdict::Passed;
  if (plan.transport == Transport::Ping) {
    if (!passed) return "ping test failed";
    return fmt::format("ping test succeeded [response time {}]", monit_time(result.response.value_or(microseconds{0})));
  }
  if (passed) return fmt::format("connection succeeded to {}", place(plan, false));
  if (expires_soon(plan, result, now))
    return fmt::format("certificate expiry in {} days matches check limit [valid > {} days]",
                       days_left(result.certificate->expires, now), *plan.tls->valid_days);
  return fmt::format("failed protocol test [{}] at {} -- {}", monit_name(*plan.protocol), place(plan, true),
                     reason(plan, result));
}

std::string name_of(const ProbePlan& plan) {
  if (plan.transport == Transport::Ping) return fmt::format("ping {}", plan.host);
  const bool silent = plan.protocol->name == "default" || plan.protocol->name == "generic";
  const std::string_view what = !silent                             ? plan.protocol->name
                                : plan.transport == Transport::Unix ? "unixsocket"
                                : plan.transport == Transport::Udp  ? "udp"
                                : plan.tls                          ? "tls"
                                                                    : "port";
  if (plan.transport == Transport::Unix) return fmt::format("{} {}", what, plan.host);
  const bool is_v6 = plan.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_v6 ? "{} [{}]:{}" : "{} {}:{}"), what, plan.host, plan.port);
}

}  // namespace healer::protocols
