// SPDX-License-Identifier: MIT
#include "ctl/probe.hpp"

#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <nlohmann/json.hpp>

#include "config/text/probe_text.hpp"
#include "control/wire.hpp"
#include "protocols/probe.hpp"
#include "runtime/clock.hpp"
#include "runtime/loop.hpp"
#include "runtime/net/connector.hpp"
#include "util/text.hpp"

namespace healer {
namespace {

using control::Json;
using protocols::ProbePhase;
using protocols::ProbePlan;
using protocols::ProbeResult;
using protocols::ProbeVerdict;
using protocols::Transport;
using std::chrono::microseconds;

Json time_or_null(const std::optional<microseconds>& time) {
  return time ? Json(static_cast<double>(time->count()) / 1000) : Json(nullptr);
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Whether the probe looks at the certificate and whose it is.
bool verifies(const ProbePlan& plan) { return plan.tls && (plan.tls->verify || !plan.tls->checksum.empty()); }

Json to_json(const ProbePlan& plan, const ProbeResult& result) {
  Json certificate = nullptr;
  if (result.certificate)
    certificate = {{"subject", result.certificate->subject},
                   {"issuer", result.certificate->issuer},
                   {"expires", format_iso(result.certificate->expires)},
                   {"days_left", protocols::days_left(result.certificate->expires, runtime::now().wall)},
                   {"verified", verifies(plan)}};
  const bool is_ping = plan.transport == Transport::Ping;
  return {{"version", control::kWireVersion},
          {"command", "probe"},
          {"host", plan.host},
          {"protocol", is_ping ? "ping" : std::string(plan.protocol->name)},
          {"verdict", to_string(result.verdict)},
          {"phase", to_string(result.phase)},
          {"text", describe(plan, result)},
          {"address", text_or_null(result.address)},
          {"addresses", result.addresses},
          {"attempt", result.attempt},
          {"resolve_ms", time_or_null(result.resolve)},
          {"connect_ms", time_or_null(result.connect)},
          {"tls_ms", time_or_null(result.tls)},
          {"first_byte_ms", time_or_null(result.first_byte)},
          {"response_ms", time_or_null(result.response)},
          {"tls_version", text_or_null(result.tls_version)},
          {"tls_cipher", text_or_null(result.tls_cipher)},
          {"certificate", certificate},
          {"pings_sent", is_ping ? Json(result.pings_sent) : Json(nullptr)},
          {"pings_lost", is_ping ? Json(result.pings_lost) : Json(nullptr)}};
}

std::string certificate_words(const protocols::CertificateFacts& certificate) {
  return fmt::format("{}, issued by {}, {}", certificate.subject.empty() ? "without a name" : certificate.subject,
                     certificate.issuer.empty() ? "nobody" : certificate.issuer,
                     protocols::expiry_words(certificate.expires, runtime::now().wall));
}

/// A line for each phase that was reached, and the verdict.
std::string table(const ProbePlan& plan, const ProbeResult& result) {
  std::string text;
  const auto line = [&](std::string_view name, const std::optional<microseconds>& time, const std::string& words) {
    text += fmt::format("{:<11} {:>8}  {}", name, time ? protocols::format_latency(*time) : "", words);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  };
  if (result.resolve)
    line("resolve", result.resolve,
         result.addresses == 0 ? "" : fmt::format("{} address{}", result.addresses, result.addresses == 1 ? "" : "es"));
  if (result.connect) line(plan.transport == Transport::Udp ? "open" : "connect", result.connect, result.address);
  if (result.tls) line("TLS", result.tls, fmt::format("{}, {}", result.tls_version, result.tls_cipher));
  if (result.certificate) line("certificate", std::nullopt, certificate_words(*result.certificate));
  if (result.certificate && !verifies(plan))
    line("", std::nullopt,
         fmt::format("not verified{}; to verify it, add: using tls with options {{ verify: enable }}",
                     plan.tls && plan.tls->valid_days ? " but for its date" : ", as in Monit"));
  if (result.first_byte) line("first byte", result.first_byte, "");
  if (result.attempt > 1) line("attempts", std::nullopt, std::to_string(result.attempt));
  line(to_string(result.verdict), result.response, describe(plan, result));
  return text;
}

}  // namespace

int probe(const std::string& host, const std::vector<std::string>& words, Output& output) {
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  config::ProbeReading read = config::read_probe(host, text);
  for (const config::Diagnostic& one : read.diagnostics) {
    if (output.json() && read.plan) continue;
    if (output.json()) {
      if (one.severity != config::DiagnosticSeverity::Error) continue;
      (void)output.fail({"usage", one.message, one.remedy});
      break;
    }
    std::fputs(fmt::format("healerctl: {}{}\n{}", read.plan ? "warning: " : "", printable(one.message),
                           config::excerpt(one, read.sources, false))
                   .c_str(),
               stderr);
  }
  if (!read.plan) return kExitUsage;
  const auto plan = std::make_shared<const ProbePlan>(*std::move(read.plan));

  runtime::Loop loop;
  runtime::Connector connector(loop);
  ProbeResult result;
  connector.probe(plan, [&](const ProbeResult& outcome) {
    result = outcome;
    loop.stop();
  });
  loop.run();

  if (output.json()) {
    output.print(control::to_line(to_json(*plan, result)) + "\n");
  } else {
    output.print(table(*plan, result));
  }
  return output.finish(result.verdict == ProbeVerdict::Passed ? kExitDone : kExitFailed);
}

}  // namespace healer
