// SPDX-License-Identifier: MIT
// Whose the process is that a pid file names: the service's, a stranger's, or in doubt.
//
// Owns    the process that the pid file of each service was last found to name.
// Hears   what a check has seen; a person's word; a restart, a reload.
// Tells   nothing: who acts on a process asks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/rare.hpp"

namespace healer::engine {

struct Graph;
struct Turn;
class Jobs;

class ProcessProofs {
 public:
  /// Requires: all of them outlive it.
  ProcessProofs(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services, const Jobs& jobs)
      : graph_(graph), services_(services), jobs_(jobs) {}

  // ---- view
  /// Null: none is known.
  [[nodiscard]] const KnownProcess* known(ServiceId id) const {
    const Rare<KnownProcess>& known = known_[id.index()];
    return known ? &*known : nullptr;
  }
  /// Why the process of a service that has no stop program is not signalled; empty: it is.
  [[nodiscard]] std::string why_spared(ServiceId id, const ProcessFacts& process) const;
  /// Why the process that its pid file names may be another's, and what is to be done; empty: it is not in doubt.
  [[nodiscard]] std::string doubt(ServiceId id) const;

  // ---- what it hears
  /// What was seen of a service, without a process that is proved to be a stranger; nothing: as it is.
  [[nodiscard]] std::optional<Evidence> disproved(ServiceId id, const Evidence& seen, Turn& turn);
  /// A person says of the processes that pid files name that they are the services'.
  void accept(const event::Command& event, Turn& turn);
  /// It was found otherwise than by a pid file.
  void know(ServiceId id, KnownProcess process) { known_[id.index()] = process; }
  void forget(ServiceId id) { known_[id.index()].reset(); }

  void resize(std::size_t services) { known_.resize(services); }
  void restore(ServiceId id, const SavedService& saved, bool same_boot);
  void save(ServiceId id, SavedService& out) const { out.known = known_[id.index()]; }

 private:
  [[nodiscard]] bool was_just_started(ServiceId id) const;
  [[nodiscard]] std::string doubt_about(ServiceId id, const ProcessFacts& process) const;

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const Jobs& jobs_;
  std::vector<Rare<KnownProcess>> known_;  // by service
};

}  // namespace healer::engine
