// SPDX-License-Identifier: MIT
// Programs of rules, jobs and healings: which run or wait to, and the firings that wait for one to end.
//
//   run() --nothing of the same branch runs--> All: waits for its commit --started()--> runs --ended()--> gone
//     '---one still runs------> queued: the last of each branch; run_queued() makes another action of it
//
// Owns    the programs that are not known to have ended; the queued firings; which were told to end, and which have run
//         long.
// Hears   what rules, jobs and healings want to run and to end; what becomes of programs.
// Tells   nothing: what an end means is for whom the program ran.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct PendingExec;
struct Rule;
struct StopSignal;
struct Turn;
class Holds;
class RuleStates;

/// A started or waiting exec, for status and explain.
struct RunningAction {
  effect::Exec exec;
  bool started = false;
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  Duration since{0};          ///< mono time of its decision
  std::string waits;          ///< why it cannot be started, or found again, now; or empty
  std::string cancelled_by;   ///< the person who has ended it; or empty
  bool only_watched = false;  ///< not known to be started, and not to be: this daemon only looks whether it runs
};

/// A firing that waits for a program to end before it. It is saved, but not released yet. What was released may run
/// even where nobody knows of it, and never waits again: a new daemon takes it up at once. Set free it is another
/// action.
struct QueuedExec {
  effect::Exec exec;
  Duration since{0};  ///< mono time of its decision
};

/// What a program is called: "exec /bin/heal", or of a job "program /etc/init.d/web".
[[nodiscard]] std::string name_of(const effect::Exec& exec);

class RunningPrograms {
 public:
  /// Requires: all of them outlive it.
  RunningPrograms(const std::shared_ptr<const Graph>& graph, const std::vector<ServiceState>& services,
                  const RuleStates& rules, const Holds& holds, IdSource& ids)
      : graph_(graph), services_(services), rules_(rules), holds_(holds), ids_(ids) {}

  // ---- view
  /// By ActionId.
  [[nodiscard]] const std::unordered_map<std::uint64_t, RunningAction>& all() const { return all_; }
  /// Null: it is not known, or has ended.
  [[nodiscard]] const RunningAction* find(ActionId id) const;
  /// It waits for what the machine lacks; null: it does not, or is not known.
  [[nodiscard]] const RunningAction* lacking(ActionId id) const;
  /// Those whose cause is a service of that name (any case), there be one or not.
  [[nodiscard]] std::span<const ActionId> of(std::string_view service) const;
  /// The firings that wait, by the name of the service in lower case, each in the order of decisions.
  [[nodiscard]] const std::unordered_map<std::string, std::vector<QueuedExec>>& queued() const { return queued_; }
  [[nodiscard]] std::span<const QueuedExec> queued_of(std::string_view service) const;
  /// The program that has to end before this one may be started: of the same branch of the same rule, or of a rule that
  /// was gone when this one began; null: none.
  [[nodiscard]] const RunningAction* in_the_way(const effect::Exec& exec) const;
  /// The rule of a program as it is now; null: it is gone.
  [[nodiscard]] const Rule* rule_of(const effect::Exec& exec) const { return in_force(exec).rule; }
  [[nodiscard]] bool is_ending(ActionId id) const { return ending_.contains(id.number()); }
  /// Mono: when warn_long() is due; none: never.
  [[nodiscard]] std::optional<Duration> next() const;

  // ---- programs of rules
  void run(ServiceId id, const Rule& rule, bool recovery, std::shared_ptr<const effect::Cause> cause, Turn& turn);
  /// A program of the service has ended: the firings that waited for it are released, as far as they may still be done.
  /// Each is another action then, so that the state tells what may run from what cannot.
  void run_queued(const std::string& service, Turn& turn);
  /// What held the programs of events back may have ended.
  void run_held(Turn& turn);
  /// An earlier daemon has left it waiting.
  void queue(effect::Exec exec, Duration since, Turn& turn);
  /// A person ends the program of a rule's action, or takes a firing that waits out of the queue. A firing of the same
  /// rule that waits for its end is not done either.
  void cancel(const event::Command& command, Turn& turn);
  /// Of those that still run after an hour people are told once.
  void warn_long(Turn& turn);

  // ---- all programs
  RunningAction& add(effect::Exec exec, Instant now);
  /// One that an earlier daemon decided on. It is as old as its cause.
  void restore(const PendingExec& pending, bool only_watched, Instant now);
  /// It is to end, once. `signals`: those that a foreground process is ended by. False: it is not known, or ends
  /// already.
  bool end(ActionId id, std::vector<StopSignal> signals, Turn& turn);
  /// Null: it is not known.
  const RunningAction* started(const event::ActionStarted& event, Turn& turn);
  void waits(const event::ActionWaits& event, Turn& turn);
  /// It is not known any more.
  [[nodiscard]] std::optional<RunningAction> ended(ActionId id, Turn& turn);

 private:
  struct InForce {
    const Rule* rule = nullptr;
    const RuleState* state = nullptr;
  };
  [[nodiscard]] InForce in_force(const effect::Exec& exec) const;
  void supersede(const effect::Exec& exec, Turn& turn);
  void drop(const effect::Exec& exec, std::string_view reason, Turn& turn);
  [[nodiscard]] std::string_view outdated(const effect::Exec& exec, Instant now) const;
  [[nodiscard]] bool is_event_held(const effect::Exec& exec, Instant now) const;
  bool cancel_queued(const event::Command& command, Turn& turn);

  const std::shared_ptr<const Graph>& graph_;
  const std::vector<ServiceState>& services_;
  const RuleStates& rules_;
  const Holds& holds_;
  IdSource& ids_;
  std::unordered_map<std::uint64_t, RunningAction> all_;
  std::unordered_map<std::string, std::vector<ActionId>> by_service_;  // by its name in lower case
  std::unordered_map<std::string, std::vector<QueuedExec>> queued_;    // by the same; none is empty
  std::deque<std::pair<Duration, ActionId>> long_at_;                  // when to warn of those that still run then
  std::set<std::uint64_t> ending_;                                     // that were told to end
};

}  // namespace healer::engine
