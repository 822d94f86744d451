// SPDX-License-Identifier: MIT
// Healings within the engine: what they are told of a turn, and what they have done in it.
//
// Owns    the healings; which programs of them an earlier daemon has left.
// Hears   what rules and people want healed; runs, programs, answers, jobs; that what holds them back may have changed.
// Tells   LookWanted; JobLeft, of a job that it does not want any more; ServiceWell, of what it has healed. What is to
// be
//         started or stopped is an order of the turn.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/facts.hpp"
#include "engine/healing/healings.hpp"
#include "engine/ids.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Graph;
struct HealOrder;
struct OrderEnded;
struct PendingExec;
struct Rule;
struct Turn;
class AbsentServices;
class Alerts;
class Arrivals;
class Composites;
class Jobs;
class MaintenanceWindows;
class Monitoring;
class Pauses;
class Releases;
class RuleStates;
class RunningPrograms;
class SelfDoubts;
class Starts;

/// What healings read of the rest of the engine.
struct HealingViews {
  const std::shared_ptr<const Graph>& graph;
  const std::vector<ServiceState>& services;
  const RuleStates& rules;
  const Composites& composites;
  const Pauses& pauses;
  const MaintenanceWindows& maintenance;
  const RunningPrograms& programs;
  const Jobs& jobs;
  const Starts& starts;
  const Monitoring& monitoring;
  const Alerts& alerts;
  const Arrivals& arrivals;
  const AbsentServices& absent;
  const SelfDoubts& doubts;
  const Releases& releases;
  const std::string& host;
  const Hash128& state_word;
  const Instant& started_at;
};

class HealingDriver {
 public:
  /// Requires: all of `views` and `ids` outlive it.
  HealingDriver(SavedState& found, HealingViews views, IdSource& ids);

  // ---- view
  [[nodiscard]] const Healings& healings() const { return healings_; }
  /// What each guard and brake says to a healing now.
  [[nodiscard]] std::vector<BrakeVerdict> verdicts(const Healing& healing, Instant now) const;
  /// What they would say if the service were to be healed so now.
  [[nodiscard]] std::vector<BrakeVerdict> preview_brakes(ServiceId service, const HealOrder& order, Instant now) const;
  /// How much of the group of each closed brake is not well now, for people, in their order.
  [[nodiscard]] std::vector<std::string> unwell_of_closed(Instant now) const;
  /// The healings that a swap to these rules leaves without a target.
  [[nodiscard]] std::set<HealingId> taken_by(const Graph& next) const;
  /// What such a swap ends, for people: "healing 5 of n1 with rebuild: abandoned, as the rules no longer have it".
  [[nodiscard]] std::vector<std::string> lost_to(const Graph& next) const;
  /// What a step saves of the output of its program.
  [[nodiscard]] std::vector<Saving> savings_of(ActionId action, Instant now) const;
  /// Why healer would heal nothing now: it doubts what it sees. Empty: it does not.
  [[nodiscard]] std::string doubt(Instant now) const;
  /// The event as it may be recorded, where it tells what a step saves as a secret; nothing: as it is.
  [[nodiscard]] std::optional<Event> without_secrets(const Event& event) const;
  /// Whether a run has found nothing by which a rule of the service would fail; nothing: it had no answer. `before` is
  /// what was seen before that; null: nothing.
  [[nodiscard]] std::optional<bool> is_clear(ServiceId id, const Evidence& seen, const Evidence* before) const;

  // ---- what it hears
  void want(ServiceId id, const Rule& rule, const HealOrder& order, std::shared_ptr<const effect::Cause> cause,
            Turn& turn);
  void command(const event::Command& command, Turn& turn);
  /// A person cancels a healing, or what is meant is its program; false: there is none.
  bool cancel(const event::Command& command, Turn& turn);
  /// A run of the service that began at `began` has ended. `clear`: by is_clear(), where it is asked for.
  void checked(ServiceId id, Duration began, std::optional<bool> clear, Turn& turn);
  /// As Healings::confirm_by().
  void confirm_by(ServiceId id, Duration began, Turn& turn);
  void program_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn);
  /// A program that was to end has not: people are told, once. Nothing else is done to its target until it has.
  void program_lingers(const effect::Exec& exec, const std::string& what, Turn& turn);
  void answered(const event::Answered& event, Turn& turn);
  void claimed(const event::Claimed& event, Turn& turn);
  void denied(const event::Denied& event, Turn& turn);
  /// What its orders have come to.
  void brought(const std::vector<OrderEnded>& ended, Turn& turn);
  /// A rule of the service has recovered: a target whose healing did not help may be healed by rules again.
  void recovered(ServiceId id, Turn& turn);
  /// The condition of a rule of a `check event` does not stand for its target any more.
  void unsettled(const fact::StandingEnded& fact, Turn& turn);
  /// Something that holds healings back may have changed.
  void reevaluate(Turn& turn);
  /// As Healings::wake(), and wake_waiting().
  [[nodiscard]] bool wake(Turn& turn);
  void wake_waiting(Turn& turn);
  void stop(Turn& turn);
  /// A person stops or unmonitors these services: what healings that ends.
  std::vector<std::string> take_away(const std::set<ServiceId>& services, const std::string& how, Turn& turn);

  // ---- life
  void index() { healings_.index(*views_.graph); }
  /// The program of a guard or step that an earlier daemon has decided on. It is started at most once, ever: where it
  /// was, it is found again.
  void restore_program(const PendingExec& pending, Turn& turn);
  void resume(const SavedState& found, Turn& turn);
  void reload(const std::set<HealingId>& taken, Turn& turn);
  /// What has changed in this turn.
  void save(Turn& turn) const;

 private:
  class Context;  // HealingWorld for one turn
  struct Question;

  [[nodiscard]] std::optional<std::pair<std::size_t, const Rule*>> rule_of(ServiceId id, Hash128 rule) const;
  [[nodiscard]] std::optional<Duration> time_releases(Instant now) const;

  HealingViews views_;
  IdSource& ids_;
  Healings healings_;
  std::set<ActionId> lives_;  // programs that are known, and their end will be told
};

}  // namespace healer::engine
