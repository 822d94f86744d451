// SPDX-License-Identifier: MIT
// Metrics with a series for each service, as a stream: families one after another, each of all services. What they are
// is a list of families; what one says of a service is a function, which adds no sample where nothing is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/supervisor.hpp"
#include "engine/events/evidence.hpp"
#include "engine/rules/graph.hpp"
#include "engine/rules/kind.hpp"
#include "engine/rules/service.hpp"
#include "engine/service_state.hpp"
#include "web/message.hpp"
#include "web/metrics/exposition.hpp"

namespace healer::web {

/// A service, as a family sees it.
struct ServiceSeen {
  const engine::Engine& engine;
  engine::ServiceId id;
  const engine::ServiceBlock& block;
  const engine::ServiceState& state;
  const engine::Facts* facts;  ///< that hold now; null: nothing is known
  Instant now;
};

struct ServiceFamily {
  Family family;
  std::function<void(const ServiceSeen&, Exposition&)> tell;
  /// Which kinds of services it tells of, so that others are not visited; empty: all.
  std::function<bool(const engine::CheckKind&)> of{};
};

/// Streams the families. Who is told of is settled when it begins; a service that goes meanwhile is left out from then
/// on.
class ServiceSeries final : public Stream {
 public:
  /// `preface`: what comes before them. Requires: `daemon` outlives it.
  ServiceSeries(const control::Supervisor& daemon, Format format, std::vector<ServiceFamily> families, Wake wake,
                std::string preface = {});
  Next pull(std::string& out, std::size_t budget) override;

 private:
  const std::vector<engine::ServiceId>& services_of(const ServiceFamily& family);
  void tell(const ServiceFamily& family, engine::ServiceId id);

  const control::Supervisor& daemon_;
  std::shared_ptr<const engine::Graph> graph_;
  std::vector<ServiceFamily> families_;
  Exposition out_;
  Wake wake_;
  std::string preface_;
  std::vector<std::vector<engine::ServiceId>> by_kind_;       ///< in the order of all_kinds(); empty: not sorted yet
  std::vector<engine::ServiceId> chosen_;                     ///< of the family under way, where it is not of all kinds
  const std::vector<engine::ServiceId>* services_ = nullptr;  ///< of the family under way; null: it has not begun
  std::size_t family_ = 0;
  std::size_t service_ = 0;
};

/// What /metrics/services says.
[[nodiscard]] std::vector<ServiceFamily> service_families();
/// What /metrics?compat=monit says of services: as monit_exporter 0.3 names it.
[[nodiscard]] std::vector<ServiceFamily> monit_families();

}  // namespace healer::web
