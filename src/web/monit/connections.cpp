// SPDX-License-Identifier: MIT
#include "web/monit/connections.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "engine/engine.hpp"
#include "engine/rules/service.hpp"
#include "protocols/probe.hpp"
#include "protocols/sentence.hpp"

namespace healer::web::monit {
namespace {

using engine::ConnectionSeen;
using protocols::ProbePlan;
using protocols::Transport;

Connection connection_of(const ProbePlan& plan) {
  Connection one{.host = plan.host,
                 .port = plan.port,
                 .request = {},
                 .protocol = plan.protocol != nullptr ? protocols::monit_name(*plan.protocol) : std::string(),
                 .type = plan.transport == Transport::Udp ? "UDP" : "TCP",
                 .family = plan.family == protocols::Family::V4   ? "v4"
                           : plan.family == protocols::Family::V6 ? "v6"
                                                                  : "",
                 .tls = plan.tls.has_value(),
                 .response = {},
                 .certificate_days = {}};
  if (plan.transport == Transport::Ping) one.form = Connection::Form::Ping;
  if (plan.transport == Transport::Unix) one.form = Connection::Form::Unix;
  const auto request = std::ranges::find(plan.settings, "request", &protocols::Setting::word);
  if (request != plan.settings.end()) one.request = request->text;
  return one;
}

}  // namespace

std::string Connection::ping_type() const { return "Ping" + (family.empty() ? family : family.substr(1)); }

std::string Connection::place() const {
  if (form == Form::Unix) return fmt::format("{} type {} protocol {}", host, type, protocol);
  return fmt::format("{}:{}{} type {}/IP{} {}protocol {}", failed ? fmt::format("[{}]", host) : host, port, request,
                     type, family, tls ? "using TLS " : "", protocol);
}

std::vector<Connection> connections_of(const Scene& scene, engine::ServiceId id) {
  const engine::ServiceBlock& block = scene.engine.graph()->at(id);
  const engine::ServiceState& state = scene.engine.service(id);
  const auto facts = state.last && state.monitored ? state.last->facts : nullptr;
  std::vector<Connection> all;
  for (std::size_t i = block.probes.size(); i-- > 0;) {
    Connection one = connection_of(*block.probes[i]);
    if (facts && i < facts->further->connections.size()) {
      const ConnectionSeen& seen = facts->further->connections[i];
      one.tried = seen.reach == engine::Reach::Failed || seen.reach == engine::Reach::Passed;
      one.failed = seen.reach == engine::Reach::Failed;
      if (seen.reach == engine::Reach::Passed) one.response = seen.response;
      if (seen.expires)
        one.certificate_days = std::max<std::int64_t>(0, protocols::days_left(*seen.expires, scene.now.wall));
    }
    all.push_back(std::move(one));
  }
  std::ranges::stable_sort(all, {}, &Connection::form);
  return all;
}

}  // namespace healer::web::monit
