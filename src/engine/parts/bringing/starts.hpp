// SPDX-License-Identifier: MIT
// What becomes of a service that was started: whether its process is there, its death, the backoff between starts that
// do not last, and what a start waits for.
//
// Owns    of each service ServiceState::starts and presence, and in its trouble: why its last start failed, why a start
//         waits, and which leftover of a former start was told of.
// Hears   what a look has told of its process; how a start went; a death, an end; a restart, a reload.
// Tells   LookWanted, of who waits for something that may have changed; FreshProcess, when a start has brought it up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct Turn;
class Pauses;
class ProcessProofs;
class RuleStates;
class StartLeftovers;
class Timetable;

class Starts {
 public:
  /// Requires: all of them outlive it.
  Starts(const std::shared_ptr<const Graph>& graph, const CivilClock& civil, std::vector<ServiceState>& services,
         const RuleStates& rules, const Timetable& timetable, const Pauses& pauses, const ProcessProofs& proofs,
         const StartLeftovers& leftovers)
      : graph_(graph),
        civil_(civil),
        services_(services),
        rules_(rules),
        timetable_(timetable),
        pauses_(pauses),
        proofs_(proofs),
        leftovers_(leftovers) {}

  // ---- view
  [[nodiscard]] const StartHistory& history(ServiceId id) const { return *services_[id.index()].starts; }
  /// Whether it serves, as far as is known.
  [[nodiscard]] bool is_up(ServiceId id) const;
  /// Whether the process of a service is looked after at any time: not outside a schedule of its own.
  [[nodiscard]] bool in_schedule(ServiceId id, Instant now) const;
  /// Whether its rules start nothing, whatever becomes of it.
  [[nodiscard]] bool left_alone(ServiceId id, Instant now) const;
  /// How long its rules do not start it yet; none: they may. A time further off than any backoff is one of a clock that
  /// was wrong.
  [[nodiscard]] std::optional<Duration> backing_off(ServiceId id, Instant now) const;
  /// Why a service cannot be started now: a process that must be up before it is not; empty: all are.
  [[nodiscard]] std::string missing_requirement(ServiceId id) const;
  /// What of its own keeps a rule's start or restart of a service from beginning now; empty: nothing.
  [[nodiscard]] std::string own_obstacle(ServiceId id, Instant now) const;
  /// Whether this look is the first to hear of the death of a process: where the kernel could not tell of it, or no
  /// healer ran.
  [[nodiscard]] bool newly_missing(ServiceId id, const Evidence& seen, Instant now) const;

  // ---- its process
  /// A look has told whether its process is there.
  void observe(ServiceId id, const Evidence& seen, Turn& turn);
  /// The end of its process was told, `how`.
  void died(ServiceId id, std::string how) { presence(id).on(PresenceEvent::Died, std::move(how)); }
  /// Another one was started, as a child.
  void child_started(ServiceId id) { presence(id).on(PresenceEvent::Started); }
  /// A death is not acted on yet: where an administrator restarts it by hand, the pid file names another process when
  /// the dust has settled. `missed`: it was a look that does not find it any more. Whether it has died nobody knows
  /// then: it may live on, and only its pid file be gone.
  void settle(ServiceId id, const Evidence* missed, Turn& turn);
  /// The rules mean another process from now on.
  void retarget(ServiceId id);

  // ---- starts
  /// A rule wants it started.
  void want(ServiceId id, Turn& turn);
  /// A counted run has seen that.
  void count_restart(ServiceId id, Turn& turn);
  /// Its process has ended after `lived`.
  void note_end(ServiceId id, Duration lived, Turn& turn);
  /// A start has brought it up, by the program `came_by` where it has a process.
  void note_started(ServiceId id, ActionId came_by, Turn& turn);
  /// A start has failed; nobody has cancelled it.
  void note_failed(ServiceId id, const std::string& why, Turn& turn);
  /// Its program may have left something that comes up yet.
  void note_left(ServiceId id, ActionId by, Instant now);
  /// As note_left(), of a start whose time nobody knows.
  void note_left(ServiceId id, ActionId by, Turn& turn);
  /// What a start has left has come up, or is not there any more.
  void forget_left(ServiceId id, Turn& turn);
  /// A person's word begins afresh.
  void begin_afresh(ServiceId id, Turn& turn);
  /// Only when its program was ended is known what it said: `silent` becomes `description` in why its start failed.
  void complete_failure(ServiceId id, std::string_view silent, std::string_view description);

  // ---- what waits
  /// Why a start or restart that its rules want is not done now. Whether that is news.
  [[nodiscard]] bool wait(ServiceId id, const std::string& why);
  void wait_no_more(ServiceId id) { services_[id.index()].trouble.set(&Trouble::waits, {}); }
  /// People were told of a process that its former start has left; 0: there is none any more.
  void reported_left(ServiceId id, std::int64_t pid) {
    services_[id.index()].trouble.set(&Trouble::reported_left, pid);
  }
  /// What a start of the service waits for is looked at again: a process that it needs, which may be looked at rarely;
  /// or itself, where an earlier start has left something.
  void check_needed(ServiceId id, Turn& turn);
  /// A job of these services has ended: what waited for that is looked at again.
  void wake_waiting(const std::vector<ServiceId>& ended, Turn& turn);

  // ---- life
  void restore(ServiceId id, const SavedService& saved, bool same_boot);

 private:
  [[nodiscard]] Presence& presence(ServiceId id) { return services_[id.index()].presence; }
  [[nodiscard]] StartHistory& edit(ServiceId id) { return services_[id.index()].starts.edit(); }
  void wake_dependents(ServiceId id, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  const CivilClock& civil_;
  std::vector<ServiceState>& services_;
  const RuleStates& rules_;
  const Timetable& timetable_;
  const Pauses& pauses_;
  const ProcessProofs& proofs_;
  const StartLeftovers& leftovers_;
};

}  // namespace healer::engine
