// SPDX-License-Identifier: MIT
// Evidence that nobody has asked for: beats of heartbeats. A beat is due `every` after the one before, and missed
// `within` later; what is missed counts again each further `every`. Where healer was away, or did not look, a heartbeat
// has `within` once more.
//
//   begin --due--> missed --every--> missed ...      each is a run that counts, and so is each beat but `start`
//     ^ <--beat----- '
//   start .. beat   a run, whose time is known; where a rule asks for that, it is judged at each cycle meanwhile
//
// Owns    what is known of each heartbeat, and when it is to be judged next; events (occurrences.hpp).
// Hears   that a beat has arrived, that time goes by; which services begin, are not monitored any more, or are gone.
// Tells   RunDue, of each run. The reply to a beat is one of the turn's: it waits for the commit.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/events/event.hpp"
#include "engine/events/evidence.hpp"
#include "engine/heartbeat.hpp"
#include "engine/ids.hpp"
#include "engine/parts/hearing/occurrences.hpp"
#include "engine/service_state.hpp"
#include "util/slim.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct SavedService;
struct ServiceBlock;
struct Turn;

class Arrivals {
 public:
  /// Requires: all of them outlive it.
  Arrivals(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services, const Pauses& pauses,
           const MaintenanceWindows& maintenance, const Healings& healings, const RunningPrograms& programs,
           IdSource& ids)
      : graph_(graph), services_(services), events_(graph, services, pauses, maintenance, healings, programs, ids) {}

  /// Those of `check event`.
  [[nodiscard]] const Occurrences& events() const { return events_; }
  [[nodiscard]] Occurrences& events() { return events_; }

  // ---- view
  /// Null: the service is no heartbeat.
  [[nodiscard]] const Heartbeat* find(ServiceId id) const;
  /// Mono: when a heartbeat is missed; where it is missed, when it counts again. None: it is not judged.
  [[nodiscard]] std::optional<Duration> deadline(ServiceId id) const;
  /// How a heartbeat stands, for its rules. Requires: the service is one.
  [[nodiscard]] Evidence see(ServiceId id, Instant now) const;
  /// Mono: when something is due next; none: nothing is.
  [[nodiscard]] std::optional<Duration> next() const;

  // ---- what it hears
  void take(const event::Arrived& arrived, Turn& turn);
  /// Time has gone by.
  void hear_time(Turn& turn);
  /// A heartbeat is judged from now on, where it is monitored.
  void begin(ServiceId id, Turn& turn);
  /// It is not judged any more. What is heard of it is kept all the same.
  void stop(ServiceId id);
  /// Its rules have changed; `before` is what they said.
  void replace(ServiceId id, const ServiceBlock& before, Turn& turn);
  void restore(ServiceId id, const SavedService& saved);
  void save(ServiceId id, SavedService& saved) const;
  void remove(ServiceId id);

 private:
  struct Known {
    Heartbeat heartbeat;
    Duration since{0};        // mono, as are all of these: Heartbeat::since
    Slim<Duration> started;   // Heartbeat::started
    Slim<Duration> deadline;  // none: it is not judged
    Slim<Duration> look;      // when the time of its run is looked at next; none: no rule asks for it, or none is
    Slim<Duration> planned;   // the earlier of both, as it lies in due_
  };
  [[nodiscard]] bool times_runs(ServiceId id) const;
  void plan(ServiceId id, Known& known);
  void take_word(ServiceId id, const event::Arrived& arrived, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  std::map<ServiceId, Known> heartbeats_;
  std::set<std::pair<Duration, ServiceId>> due_;
  Occurrences events_;
};

}  // namespace healer::engine
