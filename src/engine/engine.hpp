// SPDX-License-Identifier: MIT
// The engine: a pure function (event, now) -> effects over an immutable graph.
//
// It knows neither clock nor file nor process nor socket. Everything it learns comes as an Event with the Instant at
// which it is handled, everything it wants is an Effect. Same events, same instants: same effects, on any machine.
//
// Services. A service is *initialising* until its first run was judged, then *running*; *unmonitored* services do not
// run. Runs. A run is Measure ... Measured. A service has at most one run in flight; a run that falls due meanwhile is
// left out and recorded as an overrun. Cycles keep a fixed rate: the k-th is due k cycle lengths after the first. Rules
// (Mode::Latched). Each has its own state and never touches another:
//
//            tolerance met by failed runs: fires, window becomes that one failure
//      Ok  ------------------------------------------------------------------------->  Failed
//          <-------------------------------------------------------------------------
//            a clear run and the recovery tolerance met: recovers, window is emptied
//
// While Failed, every run is counted since the firing (the firing is 1); `repeat every N` and reminders act on failing
// runs whose count is a multiple of N. In recovery, slots that no run has filled count as clear. This is Monit's
// counting. Mode::EachMatch and EachChange latch nothing: they act on each run that is true and meets the tolerance.
// Counted runs. Only runs on the schedule count. A run that a person asked for (validate) is judged, but moves no
// counter; rules that need just one run may fire or recover by it. Acting. All rules of a run are judged first, in the
// order of writing; then the actions go in that order, `unmonitor` last. A transition is committed before it acts: acts
// wait in the engine for Event::Committed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/facts.hpp"
#include "engine/healing/driver.hpp"
#include "engine/healing/healings.hpp"
#include "engine/job.hpp"
#include "engine/parts/absent.hpp"
#include "engine/parts/alerts.hpp"
#include "engine/parts/bringing/action_failures.hpp"
#include "engine/parts/bringing/children.hpp"
#include "engine/parts/bringing/jobs.hpp"
#include "engine/parts/bringing/starts.hpp"
#include "engine/parts/commands.hpp"
#include "engine/parts/composites.hpp"
#include "engine/parts/doubts.hpp"
#include "engine/parts/hearing/arrivals.hpp"
#include "engine/parts/holds.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/parts/maintenance.hpp"
#include "engine/parts/monitoring.hpp"
#include "engine/parts/pauses.hpp"
#include "engine/parts/programs.hpp"
#include "engine/parts/proofs.hpp"
#include "engine/parts/releases.hpp"
#include "engine/parts/rule_states.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/command.hpp"
#include "engine/rules/graph.hpp"
#include "engine/service_state.hpp"
#include "engine/state.hpp"
#include "util/hash.hpp"
#include "util/rare.hpp"

namespace healer::engine {

struct Action;
struct Rule;
struct SlotChange;
struct Turn;

/// What an engine knows of the daemon that it is in, and of the one before.
struct Life {
  enum class Stage : std::uint8_t { Loaded, Running, Stopping, Stopped };

  CivilClock civil;
  SavedState found;    ///< what an earlier engine has left, until event::Started
  std::string host;    ///< the name of this machine
  Hash128 state_word;  ///< as event::Started has it
  Instant started_at;  ///< until event::Started: when it was made
  Stage stage = Stage::Loaded;
  [[nodiscard]] bool runs() const { return stage == Stage::Running; }
};

class Engine {
 public:
  /// A new engine over `graph`, with what an earlier one left in `saved` (a default one: nothing). It does nothing
  /// until event::Started. Requires: `graph` not null; `civil` callable.
  Engine(std::shared_ptr<const Graph> graph, CivilClock civil, SavedState saved, Instant now);
  /// Its parts refer to each other.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// The one way in. Requires: `now.mono` never falls within a boot.
  void handle(const Event& event, Instant now, EffectSink& sink);

  /// The mono time at which event::Wake is wanted next; none: only other events matter.
  [[nodiscard]] std::optional<Duration> next_deadline() const;

  // Views: valid until the next handle().
  [[nodiscard]] const std::shared_ptr<const Graph>& graph() const { return graph_; }
  [[nodiscard]] const ServiceState& service(ServiceId id) const { return services_[id.index()]; }
  /// When it runs.
  [[nodiscard]] const Times& times(ServiceId id) const { return timetable_.times(id); }
  [[nodiscard]] std::span<const RuleState> rules(ServiceId id) const { return rules_.of(id); }
  /// People's pauses.
  [[nodiscard]] const Pauses& pauses() const { return pauses_; }
  [[nodiscard]] const MaintenanceWindows& maintenance() const { return maintenance_; }
  /// What people were told, and have acknowledged.
  [[nodiscard]] const Alerts& alerts() const { return alerts_; }
  /// What waits for the journal.
  [[nodiscard]] const Releases& releases() const { return releases_; }
  /// Services that are left out of the rules for now.
  [[nodiscard]] const AbsentServices& absent() const { return absent_; }
  /// Programs of rules, jobs and healings.
  [[nodiscard]] const RunningPrograms& programs() const { return programs_; }
  /// Starts, stops and restarts under way, by JobId.
  [[nodiscard]] const std::map<std::uint64_t, Job>& jobs() const { return jobs_.all(); }
  /// What earlier starts have left running.
  [[nodiscard]] const StartLeftovers& leftovers() const { return leftovers_; }
  /// Whose the processes are that pid files name.
  [[nodiscard]] const ProcessProofs& proofs() const { return proofs_; }
  /// Heartbeats and events, and what was heard of them.
  [[nodiscard]] const Arrivals& arrivals() const { return arrivals_; }
  /// Composites, and the health of all services as they count it.
  [[nodiscard]] const Composites& composites() const { return composites_; }
  /// Why services are not monitored.
  [[nodiscard]] const Monitoring& monitoring() const { return monitoring_; }
  /// Healings, under way or held back, and what is remembered of others.
  [[nodiscard]] const Healings& healings() const { return healing_.healings(); }
  /// What guards and brakes say, what healer doubts, and what is secret.
  [[nodiscard]] const HealingDriver& healing() const { return healing_; }
  /// The name of this machine.
  [[nodiscard]] const std::string& host() const { return life_.host; }
  /// Why what a rule has decided would not be done now.
  [[nodiscard]] const Holds& held_back() const { return holds_; }
  /// Cycles begun since the start; the first is 1.
  [[nodiscard]] std::uint64_t cycle(Instant now) const;
  [[nodiscard]] Instant started_at() const { return life_.started_at; }
  /// The time between two runs of a service; none for a cron schedule.
  [[nodiscard]] std::optional<Duration> period(ServiceId id) const;
  /// The time until the next run of a service; none where it is not scheduled, or runs in no minute of the next year.
  [[nodiscard]] std::optional<Duration> next_run(ServiceId id, Instant now) const;
  /// State of a service in the form in which it is saved, as the rules were that `graph` has.
  [[nodiscard]] SavedService save(ServiceId id, const Graph& graph, Instant now) const;

 private:
  void visit(const Event& event, Turn& turn);
  void on(const event::Started& event, Turn& turn);
  void on(const event::Wake& event, Turn& turn);
  void on(const event::Measured& event, Turn& turn);
  void on(const event::RowsRead& event, Turn& turn);
  void on(const event::ProcessDied& event, Turn& turn);
  void on(const event::Committed& event, Turn& turn);
  void on(const event::ActionStarted& event, Turn& turn);
  void on(const event::RunWaits& event, Turn& turn);
  void on(const event::RunWrote& event, Turn& turn);
  void on(const event::ActionReady& event, Turn& turn);
  void on(const event::ActionSilent& event, Turn& turn);
  void on(const event::ActionEnded& event, Turn& turn);
  void on(const event::Swap& event, Turn& turn);
  void on(const event::Command& event, Turn& turn);
  void on(const event::Stopping& event, Turn& turn);

  void drain(Turn& turn);
  void hand_on(Turn& turn);
  void on(const fact::RunAsked& fact, Turn& turn);
  void on(const fact::CheckWanted& fact, Turn& turn);
  void on(const fact::JobEnded& fact, Turn& turn);
  void on(const fact::ServiceWell& fact, Turn& turn);

  void save_services(Turn& turn);

  // schedule (engine_schedule.cpp)
  void run_due(ServiceId id, Turn& turn);
  void start_run(ServiceId id, bool counted, Reason reason, Turn& turn);
  Rare<Flight> cancel_flight(ServiceId id, Turn& turn);
  void begin(ServiceId id, Duration first, Turn& turn);

  // judging (engine_judge.cpp)
  void judge(ServiceId id, const Evidence& seen, bool counted, Reason reason, Turn& turn);
  void act(ServiceId id, const RuleDecision& decision, bool ends, Turn& turn);
  void take(ServiceId id, std::shared_ptr<const Evidence> kept, Turn& turn);

  // composites (engine_members.cpp)
  void judge_composite(ServiceId id, Turn& turn);
  void end_composite_run(ServiceId id, Turn& turn);

  // actions and commands (engine_action.cpp)
  void validate(const event::Command& command, Turn& turn);

  // starts, stops and restarts (engine_job.cpp)
  void want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, bool again, Turn& turn);
  void begin_job(JobOrder order, Turn& turn);
  void command_jobs(BringOrder order, Turn& turn);
  void command_cluster(const BringOrder& order, std::vector<ServiceId> services, Turn& turn);
  void cancel_job(const event::Command& command, Turn& turn);
  void restore_jobs(Turn& turn);

  // looks, foreground processes (engine_foreground.cpp)
  void ask(ServiceId id, RunId run, Turn& turn);
  void child_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn);

  // looks beside the schedule, whether services are monitored (engine_start.cpp)
  void check_now(ServiceId id, Reason reason, Turn& turn);
  void monitor(ServiceId id, const Origin& by, Turn& turn, std::string text = {});
  void unmonitor(ServiceId id, const TakenOut& how, Turn& turn);
  void unmonitor_one(ServiceId id, const TakenOut& how, Turn& turn);

  // healing (engine_healing.cpp)
  void notify_healings(Turn& turn);

  void restore_acts(Turn& turn);
  void begin_afresh(ServiceId id);
  void restore(ServiceId id, const SavedService& saved, Instant now);
  void apply(const SlotChange& change, const Graph& before, Turn& turn);

  std::shared_ptr<const Graph> graph_;
  Life life_;
  IdSource ids_;
  std::vector<ServiceState> services_;
  // The parts. What they are given of others they only read, and not before all are there.
  HealingDriver healing_;
  Timetable timetable_;
  RuleStates rules_{graph_};
  Composites composites_{graph_, services_, rules_, timetable_};
  MaintenanceWindows maintenance_{graph_, life_.civil};
  Pauses pauses_{graph_, maintenance_};
  Arrivals arrivals_{graph_, services_, pauses_, maintenance_, healing_.healings(), programs_, ids_};
  Holds holds_{graph_, pauses_, maintenance_, healing_.healings()};
  RunningPrograms programs_{graph_, services_, rules_, holds_, ids_};
  StartLeftovers leftovers_{graph_, services_, programs_};
  Jobs jobs_{graph_, services_, pauses_, programs_, starts_, children_, leftovers_, proofs_, commands_, ids_};
  ProcessProofs proofs_{graph_, services_, jobs_};
  Starts starts_{graph_, life_.civil, services_, rules_, timetable_, pauses_, proofs_, leftovers_};
  Children children_{graph_, services_, proofs_, absent_};
  ActionFailures failures_{graph_, services_, programs_};
  PendingCommands commands_{graph_, services_, leftovers_};
  Alerts alerts_{graph_, maintenance_, rules_, ids_};
  Monitoring monitoring_{graph_, services_, rules_, alerts_};
  Releases releases_;
  AbsentServices absent_{graph_};
  SelfDoubts doubts_;
};

}  // namespace healer::engine
