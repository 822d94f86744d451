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
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "engine/events/effect.hpp"
#include "engine/events/event.hpp"
#include "engine/facts.hpp"
#include "engine/healing/healings.hpp"
#include "engine/job.hpp"
#include "engine/parts/absent.hpp"
#include "engine/parts/alerts.hpp"
#include "engine/parts/arrivals.hpp"
#include "engine/parts/commands.hpp"
#include "engine/parts/composites.hpp"
#include "engine/parts/doubts.hpp"
#include "engine/parts/holds.hpp"
#include "engine/parts/leftovers.hpp"
#include "engine/parts/maintenance.hpp"
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
#include "engine/steps/step_end.hpp"
#include "util/rare.hpp"

namespace healer::engine {

struct Action;
struct Rule;
struct SlotChange;
struct Turn;

class Engine {
 public:
  /// A new engine over `graph`, with what an earlier one left in `saved` (a default one: nothing). It does nothing
  /// until event::Started. Requires: `graph` not null; `civil` callable.
  Engine(std::shared_ptr<const Graph> graph, CivilClock civil, SavedState saved, Instant now);
  /// Its parts refer to each other.
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

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
  [[nodiscard]] const std::map<std::uint64_t, Job>& jobs() const { return jobs_; }
  /// The program of a job's step, where that waits for what the machine lacks; else null.
  [[nodiscard]] const RunningAction* lacks(const Job& job) const;
  /// What earlier starts have left running.
  [[nodiscard]] const StartLeftovers& leftovers() const { return leftovers_; }
  /// Whose the processes are that pid files name.
  [[nodiscard]] const ProcessProofs& proofs() const { return proofs_; }
  /// Heartbeats and events, and what was heard of them.
  [[nodiscard]] const Arrivals& arrivals() const { return arrivals_; }
  /// Composites, and the health of all services as they count it.
  [[nodiscard]] const Composites& composites() const { return composites_; }
  /// Why it is not monitored; null: it is, or nobody knows.
  [[nodiscard]] const TakenOut* taken_out(ServiceId id) const;
  /// By which rule it was taken out of monitoring, and is not monitored now; null: by none.
  [[nodiscard]] const TakenOut* given_up(ServiceId id) const;
  /// The event as it may be recorded, where it tells what a step saves as a secret; nothing: as it is.
  [[nodiscard]] std::optional<Event> without_secrets(const Event& event) const;
  /// Healings, under way or held back, and what is remembered of others.
  [[nodiscard]] const Healings& healings() const { return healings_; }
  /// What each guard and brake says to a healing now.
  [[nodiscard]] std::vector<BrakeVerdict> verdicts(const Healing& healing, Instant now) const;
  /// What they would say if the service were to be healed so now.
  [[nodiscard]] std::vector<BrakeVerdict> preview_brakes(ServiceId service, const HealOrder& order, Instant now) const;
  /// How much of the group of each closed brake is not well now, for people, in their order.
  [[nodiscard]] std::vector<std::string> unwell_of_closed(Instant now) const;
  /// The name of this machine.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// What a step saves of the output of its program.
  [[nodiscard]] std::vector<Saving> savings_of(ActionId action, Instant now) const;
  /// Why healer would heal nothing now: it doubts what it sees. Empty: it does not.
  [[nodiscard]] std::string doubt(Instant now) const;
  /// Why what a rule has decided would not be done now.
  [[nodiscard]] const Holds& held_back() const { return holds_; }
  /// Cycles begun since the start; the first is 1.
  [[nodiscard]] std::uint64_t cycle(Instant now) const;
  [[nodiscard]] Instant started_at() const { return started_at_; }
  /// The time between two runs of a service; none for a cron schedule.
  [[nodiscard]] std::optional<Duration> period(ServiceId id) const;
  /// The time until the next run of a service; none where it is not scheduled, or runs in no minute of the next year.
  [[nodiscard]] std::optional<Duration> next_run(ServiceId id, Instant now) const;
  /// State of a service in the form in which it is saved.
  [[nodiscard]] SavedService save(ServiceId id, Instant now) const;

 private:
  class HealingContext;  // HealingWorld for one turn
  void on(const event::Started& event, Turn& turn);
  void on(const event::Wake& event, Turn& turn);
  void on(const event::Measured& event, Turn& turn);
  void on(const event::Arrived& event, Turn& turn);
  void on(const event::RowsRead& event, Turn& turn);
  void on(const event::ProcessDied& event, Turn& turn);
  void on(const event::NotSignalled& event, Turn& turn);
  void on(const event::Committed& event, Turn& turn);
  void on(const event::ActionStarted& event, Turn& turn);
  void on(const event::ActionWaits& event, Turn& turn);
  void on(const event::RunWaits& event, Turn& turn);
  void on(const event::RunWrote& event, Turn& turn);
  void on(const event::ActionReady& event, Turn& turn);
  void on(const event::ActionExtended& event, Turn& turn);
  void on(const event::ActionSilent& event, Turn& turn);
  void on(const event::ActionEnded& event, Turn& turn);
  void on(const event::Answered& event, Turn& turn);
  void on(const event::AlertTaken& event, Turn& turn);
  void on(const event::MailOutcome& event, Turn& turn);
  void on(const event::Swap& event, Turn& turn);
  void on(const event::ReloadFailed& event, Turn& turn);
  void on(const event::ListReported& event, Turn& turn);
  void on(const event::StateDamaged& event, Turn& turn);
  void on(const event::Command& event, Turn& turn);
  void on(const event::ListsDoubted& event, Turn& turn);
  void on(const event::Stopping& event, Turn& turn);

  void drain(Turn& turn);
  void on(const fact::RunDue& fact, Turn& turn);
  void on(const fact::RunAsked& fact, Turn& turn);
  void on(const fact::EventRefused& fact, Turn& turn);
  void on(const fact::StandingEnded& fact, Turn& turn);
  void on(const fact::JournalTurned& fact, Turn& turn);
  void on(const fact::NeverBegun& fact, Turn& turn);

  void save_services(Turn& turn);
  [[nodiscard]] SavedService save(ServiceId id, const Graph& graph, Instant now) const;

  // schedule (engine_schedule.cpp)
  void run_due(ServiceId id, Turn& turn);
  void sum_up_overruns(Turn& turn);
  void start_run(ServiceId id, bool counted, Reason reason, Turn& turn);
  Rare<Flight> cancel_flight(ServiceId id, Turn& turn);
  void begin(ServiceId id, Duration first, Turn& turn);
  bool go_on_in_phase(ServiceId id, Duration first);
  void reschedule(ServiceId id, std::optional<Duration> period_before, Instant now);

  // judging (engine_judge.cpp)
  void judge(ServiceId id, const Evidence& seen, bool counted, Reason reason, Turn& turn);
  void act(ServiceId id, const RuleDecision& decision, bool ends, Turn& turn);
  void take(ServiceId id, std::shared_ptr<const Evidence> kept, Turn& turn);
  [[nodiscard]] std::shared_ptr<const effect::Cause> reported_as_held(std::shared_ptr<const effect::Cause> cause,
                                                                      const Action& action, Hold held) const;

  // composites (engine_members.cpp)
  void judge_composite(ServiceId id, Turn& turn);
  void end_composite_run(ServiceId id, Turn& turn);

  // actions and commands (engine_action.cpp)
  void accept(ServiceId id, const Origin& by, Turn& turn);
  void command_acknowledge(const event::Command& command, Turn& turn);
  void note_outcome(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn);
  void note_outcome(const Job& job, bool good, Turn& turn);

  // jobs (engine_job.cpp)
  /// How the step of a job has ended; nothing: it waits for something.
  using Progress = std::optional<StepEnd>;
  static constexpr Progress kWaits = std::nullopt;
  void want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, bool again, Turn& turn);
  [[nodiscard]] std::string in_the_way(ServiceId id, ActionKind kind) const;
  [[nodiscard]] std::string own_obstacle(ServiceId id, Instant now) const;
  void begin_job(JobOrder order, Turn& turn);
  void start_needed_first(const JobOrder& order, std::vector<JobStep>& steps, Turn& turn);
  void go_on(Job& job, Progress progress, Turn& turn);
  void end_job(Job& living, StepEnd how, Turn& turn);
  Progress begin_step(Job& job, Turn& turn);
  Progress judge_step(Job& job, const ProcessFacts* process, Turn& turn);
  Progress act(Job& job, const ProcessFacts* process, Turn& turn);
  void check(Job& job, Turn& turn);
  void checked(Job& job, const Evidence& seen, Turn& turn);
  void run_program(Job& job, const Command& command, Turn& turn);
  void job_program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn);
  void note_last_words(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn);
  void set_cause(Job& job, const std::string& why) const;
  void overdue(Job& job, Turn& turn);
  void set_due(Job& job, std::optional<Duration> due);
  void wake_jobs(Turn& turn);
  [[nodiscard]] effect::SavedJob save(const Job& job, Instant now) const;
  void restore_jobs(Turn& turn);
  void command_jobs(const event::Command& command, Turn& turn);
  std::uint32_t join(ActionKind kind, std::vector<ServiceId>& services, const event::Command& command, Turn& turn);
  [[nodiscard]] bool is_brought_up(ServiceId id) const;
  [[nodiscard]] bool restarts_yet(const Job& job, ServiceId id) const;
  void end_rule_jobs(ActionKind kind, const std::vector<ServiceId>& services, const Origin& by, Turn& turn);
  void cut_job(Job& job, const std::vector<bool>& out, const std::string& why, Turn& turn);
  [[nodiscard]] std::string busy_with(ActionKind kind, const std::vector<ServiceId>& services) const;
  void cancel_job(const event::Command& command, Turn& turn);
  void fail_job(JobId id, const std::string& why, Turn& turn);
  [[nodiscard]] bool clear_way(Job& job, const Command& command, Turn& turn);
  void end_program(ActionId action, Turn& turn, const ForegroundSpec* spec = nullptr);
  [[nodiscard]] bool waits_for_left(Job& job, Turn& turn);
  [[nodiscard]] bool taken_up(const effect::SavedJob& job) const;
  void report_end(const Job& job, bool good, Turn& turn);

  // foreground processes (engine_foreground.cpp)
  void ask(ServiceId id, RunId run, Turn& turn);
  Progress begin_child_step(Job& job, Turn& turn);
  Progress judge_child_step(Job& job, Turn& turn);
  void start_child(Job& job, Turn& turn);
  void keep_watch(ServiceId id, Turn& turn);
  [[nodiscard]] std::optional<Evidence> with_last_status(ServiceId id, const Evidence& seen) const;
  void child_overdue(Job& job, Turn& turn);
  void child_reported(ServiceId id, Turn& turn);
  void child_started(ServiceId id, const event::ActionStarted& event, Turn& turn);
  void child_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn);
  void see_death(ServiceId id, Instant now);
  [[nodiscard]] std::optional<ServiceId> child_of(const effect::Exec& exec) const;
  void restore_child(const PendingExec& pending, bool may_start, Turn& turn);
  void release_child(ServiceId id, const ServiceBlock& before, Turn& turn);
  void end_child(ActionId action, const std::string& service, const ForegroundSpec* spec, Turn& turn);
  void keep_former(ServiceId id, Turn& turn);
  void forget_former(ServiceId id, Turn& turn);
  Progress stop_former(Job& job, Turn& turn);
  void find_child(ServiceId id);
  [[nodiscard]] bool is_up(ServiceId id) const;

  // deaths, backoff (engine_start.cpp)
  [[nodiscard]] bool in_schedule(ServiceId id, Instant now) const;
  [[nodiscard]] std::optional<Duration> backing_off(ServiceId id, Instant now) const;
  [[nodiscard]] bool left_alone(ServiceId id, Instant now) const;
  void settle(ServiceId id, const Evidence* missed, Turn& turn);
  [[nodiscard]] bool newly_missing(ServiceId id, const Evidence& seen, Instant now) const;
  [[nodiscard]] std::string missing_requirement(ServiceId id) const;
  [[nodiscard]] bool waits_for_needed(Job& job, Turn& turn);
  [[nodiscard]] Progress left_out(Job& job, Turn& turn);
  [[nodiscard]] std::optional<ServiceId> waits_for_job(const Job& job) const;
  void observe(ServiceId id, const Evidence& seen, Turn& turn);
  void note_end(ServiceId id, Duration lived, Turn& turn);
  void note_start(ServiceId id, bool good, Turn& turn);
  void note_started(const Job& job, const ProcessFacts& process, Turn& turn);
  [[nodiscard]] bool is_own_program(const Job& job, const ProcessFacts& process) const;
  void hold_step(Job& job, std::string failure, Duration pause, Turn& turn);
  void check_needed(ServiceId id, Instant now);
  void check_now(ServiceId id, Reason reason, Turn& turn);
  void wake_checks(Turn& turn);
  void wake_dependents(ServiceId id, Instant now);
  void wake_waiting(const std::vector<ServiceId>& ended, Instant now);

  // whether services are monitored (engine_monitoring.cpp)
  void monitor(ServiceId id, const Origin& by, Turn& turn, std::string text = {});
  [[nodiscard]] TakenOut taken_out_by(const effect::Cause& cause, Instant now, Duration lasting = Duration{0}) const;
  [[nodiscard]] std::shared_ptr<const effect::Cause> giving_up(ServiceId id, const effect::Cause& cause,
                                                               const Action& action) const;
  void unmonitor(ServiceId id, const TakenOut& how, Turn& turn);
  void unmonitor_one(ServiceId id, TakenOut how, Turn& turn);
  void report_taken_along(ServiceId id, const TakenOut& how, Turn& turn);
  void take_back(Turn& turn);
  void carry_taken_out(Turn& turn);
  void guess_taken_out(ServiceId id);

  // healing (engine_healing.cpp)
  void heal(ServiceId id, const Rule& rule, const HealOrder& order, std::shared_ptr<const effect::Cause> cause,
            Turn& turn);
  void command_healing(const event::Command& command, Turn& turn);
  void notify_healings(Turn& turn);
  void save_healings(Turn& turn);
  void healing_checked(ServiceId id, Duration began, const Evidence& seen, Turn& turn);
  void healing_program_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn);
  void recover_rules(ServiceId id, Turn& turn);
  void note_recovered(ServiceId id, Turn& turn);
  void resume_healings(Turn& turn);
  void wake_healings(Turn& turn);
  void reevaluate_healings(Turn& turn);
  [[nodiscard]] std::optional<Duration> time_releases(Instant now) const;
  bool cancel_healing(const event::Command& command, Turn& turn);
  std::vector<std::string> take_from_healings(const std::set<ServiceId>& services, const std::string& how, Turn& turn);
  void reload_healings(const std::set<HealingId>& taken, Turn& turn);
  void stop_healings(Turn& turn);
  void healing_lingers(const effect::Exec& exec, const std::string& what, Turn& turn);
  void restore_healing_program(const PendingExec& pending, Turn& turn);
  [[nodiscard]] std::optional<std::pair<std::size_t, const Rule*>> healing_rule(ServiceId id, Hash128 rule) const;

  void restore_acts(Turn& turn);
  void begin_afresh(ServiceId id);
  void restore(ServiceId id, const SavedService& saved, Instant now);
  void apply(const SlotChange& change, const Graph& before, Turn& turn);

  std::shared_ptr<const Graph> graph_;
  CivilClock civil_;
  SavedState found_;  // pending acts of an earlier engine, until Started
  IdSource ids_;
  std::vector<ServiceState> services_;
  std::map<std::uint64_t, Job> jobs_;
  std::set<std::pair<Duration, std::uint64_t>> job_due_;  // when a job wants to be woken
  Healings healings_;
  std::set<ActionId> healing_programs_;  // known, and their end will be told
  std::vector<event::Command> orders_;   // of healings, done at the end of the turn
  std::string host_;
  std::set<std::pair<WallTime, ServiceId>> returns_;  // when who is monitored again; some do not hold any more
  std::optional<Duration> return_at_;                 // mono: when the first of them is due, as far as is known
  Timetable timetable_;
  RuleStates rules_{graph_};
  Composites composites_{graph_, services_, rules_, timetable_};
  MaintenanceWindows maintenance_{graph_, civil_};
  Pauses pauses_{graph_, maintenance_};
  Arrivals arrivals_{graph_, services_, pauses_, maintenance_, healings_, programs_, ids_};
  Holds holds_{graph_, pauses_, maintenance_, healings_};
  RunningPrograms programs_{graph_, services_, rules_, holds_, ids_};
  StartLeftovers leftovers_{graph_, services_, programs_};
  ProcessProofs proofs_{graph_, services_, jobs_};
  PendingCommands commands_{graph_, services_, leftovers_};
  Alerts alerts_{graph_, maintenance_, rules_, ids_};
  Releases releases_{jobs_, healings_};
  AbsentServices absent_{graph_};
  SelfDoubts doubts_;
  bool running_ = false;
  bool stop_reported_ = false;
  Sequence next_sequence_ = 1;
  RecordNumber next_record_ = 1;
  Instant started_at_;
};

}  // namespace healer::engine
