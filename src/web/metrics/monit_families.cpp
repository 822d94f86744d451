// SPDX-License-Identifier: MIT
// The families of /metrics?compat=monit: names, labels and units of monit_exporter 0.3, which reads Monit's XML, so
// that dashboards and alerts made for it need no change. What Monit counts since a boot healer does not know.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"
#include "engine/judging/evaluate.hpp"
#include "engine/rules/attribute.hpp"
#include "engine/rules/metric.hpp"
#include "protocols/probe.hpp"
#include "util/text.hpp"
#include "web/metrics/service_series.hpp"
#include "web/monit/standing.hpp"

namespace healer::web {
namespace {

using engine::CheckKind;
using engine::Metric;
using protocols::ProbePlan;
using protocols::Transport;

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return result;
}

/// Monit does not tell TLS from plain TCP here.
std::string_view transport_name(const ProbePlan& plan) {
  if (plan.transport == Transport::Unix) return "UNIX";
  return plan.transport == Transport::Udp ? "UDP" : "TCP";
}

bool is_same(const ProbePlan& one, const ProbePlan& other) {
  return one.host == other.host && one.port == other.port && one.protocol == other.protocol &&
         transport_name(one) == transport_name(other);
}

/// 0: it is not; 1: it is; 2: it is, and its first check is not over.
std::string_view monitoring(const engine::ServiceState& state) {
  if (!state.monitored) return "0";
  return state.initialising ? "2" : "1";
}

void tell_check(const monit::Scene& scene, const ServiceSeen& seen, Exposition& out) {
  out.sample()
      .label("check_name", seen.block.name)
      .label("type", seen.block.kind->word)
      .label("monitored", monitoring(seen.state))
      .value(monit::status_of(scene, seen.id));
}

/// One value of a family, and what its label `type` calls it.
struct Typed {
  std::string_view type;
  Metric metric;
};

/// Of several rows of a type the first that is known: Monit has the same words where healer has several.
template <std::size_t kCount>
ServiceFamily typed(Family family, const std::array<Typed, kCount>& values) {
  return {family,
          [values](const ServiceSeen& seen, Exposition& out) {
            if (seen.facts == nullptr) return;
            std::string_view told;
            for (const Typed& one : values) {
              const auto value = one.type != told ? engine::figure_of(*seen.facts, one.metric) : std::nullopt;
              if (!value) continue;
              told = one.type;
              out.sample().label("check_name", seen.block.name).label("type", one.type).value(*value);
            }
          },
          [values](const CheckKind& kind) {
            return std::ranges::any_of(values, [&](const Typed& one) { return kind.find(one.metric) != nullptr; });
          }};
}

void tell_uptime(const ServiceSeen& seen, Exposition& out) {
  const auto value = seen.facts != nullptr ? engine::figure_of(*seen.facts, Metric::Uptime) : std::nullopt;
  if (value) out.sample().label("check_name", seen.block.name).value(*value);
}

/// In seconds; -1 where it has failed.
void tell_response_times(const ServiceSeen& seen, Exposition& out) {
  if (seen.facts == nullptr) return;
  const auto& connections = seen.facts->further->connections;
  const auto& probes = seen.block.probes;
  for (std::size_t i = 0; i < std::min(connections.size(), probes.size()); ++i) {
    const ProbePlan& plan = *probes[i];
    const auto is_told = [&](const engine::Probe& other) { return is_same(*other, plan); };
    const bool is_tried =
        connections[i].reach == engine::Reach::Passed || connections[i].reach == engine::Reach::Failed;
    if (plan.transport == Transport::Ping || !is_tried ||
        std::any_of(probes.begin(), probes.begin() + static_cast<std::ptrdiff_t>(i), is_told))
      continue;
    const bool is_unix = plan.transport == Transport::Unix;
    const std::string_view type = transport_name(plan);
    const std::string port = is_unix ? "" : std::to_string(plan.port);
    const bool passed = connections[i].reach == engine::Reach::Passed && connections[i].response;
    out.sample()
        .label("check_name", seen.block.name)
        .label("hostname", is_unix ? "" : plan.host)
        .label("path", is_unix ? plan.host : "")
        .label("port", port)
        .label("protocol", upper(plan.protocol->name))
        .label("type", type)
        .label("uri", is_unix ? "unix://" + plan.host : to_lower(type) + "://" + plan.host + ":" + port)
        .value(passed ? std::chrono::duration<double>(*connections[i].response).count() : -1.0);
  }
}

void tell_link_state(const ServiceSeen& seen, Exposition& out) {
  if (seen.facts == nullptr) return;
  const auto link = engine::attribute_of(*seen.state.last, engine::Attribute::Link);
  const std::string* const text = link ? engine::text_in(*link) : nullptr;
  if (text != nullptr) out.sample().label("check_name", seen.block.name).value(*text == "up");
}

void tell_link_statistics(const ServiceSeen& seen, Exposition& out) {
  struct Row {
    std::string_view direction, unit;
    Metric metric;
  };
  constexpr std::array<Row, 4> kRows{{{"download", "packets", Metric::DownloadPackets},
                                      {"download", "bytes", Metric::DownloadRate},
                                      {"upload", "packets", Metric::UploadPackets},
                                      {"upload", "bytes", Metric::UploadRate}}};
  if (seen.facts == nullptr) return;
  for (const Row& row : kRows)
    if (const auto value = seen.facts->metrics.get(row.metric))
      out.sample()
          .label("check_name", seen.block.name)
          .label("direction", row.direction)
          .label("unit", row.unit)
          .label("type", "now")
          .value(*value);
}

}  // namespace

std::vector<ServiceFamily> monit_families(const control::Supervisor& daemon) {
  const auto has_link = [](const CheckKind& kind) { return kind.traits.has_link; };
  return {
      {{"monit_service_check", kGauge, "Monit service check info"},
       [&daemon](const ServiceSeen& seen, Exposition& out) { tell_check(monit::Scene(daemon), seen, out); }},
      typed<3>({"monit_service_mem_bytes", kGauge, "Monit service mem info"},
               {{{"kilobyte", Metric::MemoryBytes},
                 {"kilobyte", Metric::SystemMemoryBytes},
                 {"kilobyte_total", Metric::TotalMemoryBytes}}}),
      typed<3>(
          {"monit_service_cpu_perc", kGauge, "Monit service CPU info"},
          {{{"percentage", Metric::Cpu}, {"percentage", Metric::SystemCpu}, {"percentage_total", Metric::TotalCpu}}}),
      // Monit's `bytes` are those of the disk; of a filesystem there are no others.
      typed<2>({"monit_service_write_bytes", kGauge, "Monit service Disk Writes Bytes"},
               {{{"write_count", Metric::DiskWriteRate}, {"write_count", Metric::WriteRate}}}),
      typed<2>({"monit_service_read_bytes", kGauge, "Monit service Disk Read Bytes"},
               {{{"read_count", Metric::DiskReadRate}, {"read_count", Metric::ReadRate}}}),
      {{"monit_service_uptime", kGauge, "Monit service uptime in seconds"},
       tell_uptime,
       [](const CheckKind& kind) { return kind.find(Metric::Uptime) != nullptr; }},
      {{"monit_service_port_response_times", kGauge, "Monit service port and unix socket checks response times"},
       tell_response_times,
       [](const CheckKind& kind) { return kind.connections.ports || kind.connections.unix_sockets; }},
      {{"monit_service_network_link_state", kGauge, "Monit service link states"}, tell_link_state, has_link},
      {{"monit_service_network_link_statistics", kGauge, "Monit service link statistics"},
       tell_link_statistics,
       has_link},
  };
}

}  // namespace healer::web
