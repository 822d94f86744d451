// SPDX-License-Identifier: MIT
// What /metrics says: how the daemon is and what it has done, in families of few samples however many services there
// are. Their names are part of the interface: dashboards and alerts have them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "control/supervisor.hpp"
#include "engine/rules/graph.hpp"
#include "engine/words/explain.hpp"
#include "web/metrics/exposition.hpp"

namespace healer::web {

/// Counts services by their state, a part of them at a time.
class StateCount {
 public:
  using Counts = std::array<std::uint64_t, static_cast<std::size_t>(engine::Condition::GivenUp) + 1>;

  /// Counts some more; begins anew where the rules are others. Whether all are counted.
  bool go_on(const engine::Engine& engine);
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  std::shared_ptr<const engine::Graph> graph_;
  std::size_t next_ = 0;
  Counts counts_{};
};

[[nodiscard]] std::string daemon_metrics(const control::Supervisor& daemon, const StateCount::Counts& services,
                                         Format format);

}  // namespace healer::web
