// SPDX-License-Identifier: MIT
// The processes of foreground services (`check process NAME with program "..."`): healer's own children. A start is an
// exec that runs as long as the service lives; nothing has to be looked for, since the runner tells of its start, its
// word that it is ready, and its end. What becomes of it then is the state machine of parts/presence.
//
// There is one at most: while any is there, ending too, or anything that it has left, none is started. It outlives the
// daemon: the next one adopts the exec, by its id.
//
// Owns    ServiceState::child of each service.
// Hears   what is told of such a process; that one begins, is to end, has lasted; a restart, a reload.
// Tells   nothing: what comes of its reaction is who asked's to do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct ForegroundSpec;
struct Graph;
struct PendingExec;
struct ServiceBlock;
struct Turn;
class AbsentServices;
class ProcessProofs;

class Children {
 public:
  /// Requires: all of them outlive it.
  Children(const std::shared_ptr<const Graph>& graph, std::vector<ServiceState>& services, const ProcessProofs& proofs,
           const AbsentServices& absent)
      : graph_(graph), services_(services), proofs_(proofs), absent_(absent) {}

  // ---- view
  [[nodiscard]] const Child& of(ServiceId id) const { return *services_[id.index()].child; }
  /// The service whose foreground process this exec is; none: of no service any more.
  [[nodiscard]] std::optional<ServiceId> owner(const effect::Exec& exec) const;
  /// What a look finds where no process runs.
  [[nodiscard]] Evidence no_process(ServiceId id) const;
  /// What a look has found that misses a foreground process, for what a failed start has left was looked for: how the
  /// process ended is known here. Nothing: there is nothing to be added.
  [[nodiscard]] std::optional<Evidence> with_last_status(ServiceId id, const Evidence& seen) const;

  // ---- what is told
  void begin(ServiceId id, ActionId action) { edit(id).begin(action); }
  ChildReaction started(ServiceId id, const event::ActionStarted& event, Turn& turn);
  /// It says that it is ready.
  ChildReaction ready(ServiceId id, Turn& turn);
  /// It has lasted as long as it takes to be ready; or its word may have gone unheard.
  void lasted(ServiceId id) { edit(id).on(ChildEvent::Lasted); }
  /// Its start was not done when an earlier daemon ended.
  void resume(ServiceId id) { edit(id).on(ChildEvent::Resumed); }
  /// It did not tell that it is well: it is ended for that, or that is known.
  void fall_silent(ServiceId id, bool ended) { edit(id).fall_silent(ended); }
  ChildReaction ended(ServiceId id, const std::string& how, std::optional<std::int64_t> status) {
    return edit(id).ended(how, status);
  }
  void forget_status(ServiceId id);
  /// While it is ready it must tell that it is well, as often as its rules say now.
  void keep_watch(ServiceId id, Turn& turn);
  /// Tells a program to end, foreground or not, once; one that still waits for its commit never begins. `spec`: of a
  /// foreground process whose service is gone.
  void end_program(ActionId action, Turn& turn, const ForegroundSpec* spec = nullptr);

  // ---- of former rules
  /// A service that was found by a pid file or pattern is to be healer's own child from now on: while the process runs
  /// that was found so, it is the service's, and none is started beside it. It is ended by signal, and its end is found
  /// by looks. Where this daemon has not looked yet, it is the one that an earlier daemon has found, if that still
  /// runs. What is known of it; nothing: there is none.
  [[nodiscard]] std::optional<KnownProcess> keep_former(ServiceId id, Turn& turn);
  /// A look has found that such a process is gone.
  void forget_former(ServiceId id) { edit(id).ended({}); }

  // ---- life
  /// An exec of an earlier daemon: the process is adopted if it lives. Where its service is gone it is ended; of
  /// several, which a journal that could not be written has left, the newest is kept. One whose start had failed was
  /// being ended.
  void restore(const PendingExec& pending, bool may_start, Turn& turn);
  void restore(ServiceId id, const SavedService& saved, bool same_boot);
  /// A reload has made another service of this one, or none: the process of the former is ended.
  void release(ServiceId id, const ServiceBlock& before, Turn& turn);
  /// After a reload: a service that was taken out of the rules and put back may find its former process ending.
  void find(ServiceId id, const Turn& turn);

 private:
  [[nodiscard]] Child& edit(ServiceId id) { return services_[id.index()].child.edit(); }
  void end_unwanted(ActionId action, const std::string& service, const ForegroundSpec* spec, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  std::vector<ServiceState>& services_;
  const ProcessProofs& proofs_;
  const AbsentServices& absent_;
};

}  // namespace healer::engine
