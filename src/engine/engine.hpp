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
#include "engine/events/evidence.hpp"
#include "engine/healing/healings.hpp"
#include "engine/job.hpp"
#include "engine/judging/health.hpp"
#include "engine/parts/presence.hpp"
#include "engine/parts/timetable.hpp"
#include "engine/reload/diff.hpp"
#include "engine/rules/command.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/graph.hpp"
#include "engine/state.hpp"
#include "engine/steps/step_end.hpp"
#include "util/rare.hpp"
#include "util/slim.hpp"
#include "util/sparse.hpp"

namespace healer::engine {

struct Action;
struct Row;
struct Rule;
struct RuleDecision;
struct SlotChange;

/// Why a decided action is not done.
enum class Hold : std::uint8_t { None, Dormant, Shadow, DryRun, AlreadyRunning, Passive, Paused, Maintenance, Healing };
[[nodiscard]] std::string_view to_string(Hold hold);

/// That looks at a service have no answer.
struct Unknown {
  WallTime since{};
  std::string why;  ///< of the last of them

  bool operator==(const Unknown&) const = default;
};

/// A pause as it holds for one service.
struct PauseInForce {
  const Pause* pause = nullptr;     ///< never null; until the engine changes
  const WidePause* wide = nullptr;  ///< whose it is; null: the service's own

  /// What is to be resumed to end it: "web", "--group webs", "all".
  [[nodiscard]] std::string resumed_by(std::string_view service) const;
  /// "", " with group webs", " with everything".
  [[nodiscard]] std::string with() const;
};

/// What few services have: what is wrong with one, and what people have said of it.
struct Trouble {
  Rare<Pause> pause;
  Rare<Acknowledgement> acknowledged;
  Rare<Unknown> unknown;  ///< the last look had no answer
  Rare<ActionFailure> action_failure;
  Rare<TakenOut> taken_out;    ///< why it is not monitored, where that is known
  std::string start_failure;   ///< why its last start failed; or empty
  std::string waits;           ///< why a start or restart that its rules want is not done now; or empty
  std::int64_t told_left = 0;  ///< a process that its former start has left, and that was told of
  Slim<Duration> lines_lost;   ///< mono: when it was last recorded that lines of its file may be missing

  bool operator==(const Trouble&) const = default;
};

/// The living state of a service, apart from its rules.
struct ServiceState {
  bool monitored = true;
  bool initialising = true;
  bool resting = false;            ///< no rule counts or stands failed
  bool saved_whole = false;        ///< in this boot: what it remembers may be saved alone from then on
  bool told_failure = false;       ///< people were told that a start or stop failed, and none has succeeded since
  Health told = Health::Unjudged;  ///< what the composites that it is a member of know of it
  Rare<Flight> flight;             ///< the run under way
  std::uint32_t first_rule = 0;    ///< into the engine's flat array of RuleState
  std::uint32_t rule_count = 0;
  std::uint64_t runs = 0;  ///< judged since the daemon started
  Memory memory;
  std::shared_ptr<const Evidence> last;  ///< the last that was judged; null: nothing was
  Slim<WallTime> last_when;
  RunId last_run;  ///< whose evidence that is
  Sparse<StartHistory> starts;
  Sparse<Trouble> trouble;
  Rare<KnownProcess> known;
  Rare<JobId> job;        ///< that it takes part in: no run is counted meanwhile
  Slim<Duration> looked;  ///< mono: when `last` was seen
  Presence presence;      ///< of its process
  Sparse<Child> child;    ///< of a foreground process
};

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

class Engine {
 public:
  /// A new engine over `graph`, with what an earlier one left in `saved` (a default one: nothing). It does nothing
  /// until event::Started. Requires: `graph` not null; `civil` callable.
  Engine(std::shared_ptr<const Graph> graph, CivilClock civil, SavedState saved, Instant now);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
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
  [[nodiscard]] std::span<const RuleState> rules(ServiceId id) const;
  [[nodiscard]] const std::unordered_map<std::uint64_t, RunningAction>& actions() const { return actions_; }
  /// Those of them whose cause is a service of that name (any case).
  [[nodiscard]] std::span<const ActionId> actions_of(std::string_view service) const;
  /// The firings that wait, by the name of the service in lower case, each in the order of decisions.
  [[nodiscard]] const std::unordered_map<std::string, std::vector<QueuedExec>>& queued() const { return queued_; }
  [[nodiscard]] std::span<const QueuedExec> queued_of(std::string_view service) const;
  /// The program that has to end before this one may be started: of the same branch of the same rule, or of a rule that
  /// was gone when this one began; null: none.
  [[nodiscard]] const RunningAction* in_the_way(const effect::Exec& exec) const;
  /// Starts, stops and restarts under way, by JobId.
  [[nodiscard]] const std::map<std::uint64_t, Job>& jobs() const { return jobs_; }
  /// The program of a job's step, where that waits for what the machine lacks; else null.
  [[nodiscard]] const RunningAction* lacks(const Job& job) const;
  /// What the last look has found left of an earlier start of a service that is not running: "process 7 (nginx: worker
  /// process) of its former start runs still"; or empty. What may yet come up is not among it: Trouble::waits.
  [[nodiscard]] std::string left_over(ServiceId id) const;
  /// Why the process that its pid file names may be another's, and what is to be done; empty: it is not in doubt.
  [[nodiscard]] std::string process_doubt(ServiceId id) const;
  [[nodiscard]] const std::vector<LeftProcess>& left_of(ServiceId id) const;
  /// Whether it is failed, as composites and brakes ask. A pause changes nothing of that, nor does a tolerance that is
  /// not met yet.
  [[nodiscard]] Health health(ServiceId id) const;
  /// Why it is not monitored; null: it is, or nobody knows.
  [[nodiscard]] const TakenOut* taken_out(ServiceId id) const;
  /// By which rule it was taken out of monitoring, and is not monitored now; null: by none.
  [[nodiscard]] const TakenOut* given_up(ServiceId id) const;
  /// Whether a person's pause of the service, of a group of its, or of everything is in force.
  [[nodiscard]] bool paused(ServiceId id, Instant now) const { return pause_of(id, now).has_value(); }
  /// Which that is: the narrowest of them.
  [[nodiscard]] std::optional<PauseInForce> pause_of(ServiceId id, Instant now) const;
  /// A person's pause of everything, if it is in force; null: none is.
  [[nodiscard]] const WidePause* pause_of_everything(Instant now) const;
  /// The pauses of everything and of groups that are in force.
  [[nodiscard]] std::vector<WidePause> wide_pauses(Instant now) const;
  /// The event as it may be recorded, where it tells what a step saves as a secret; nothing: as it is.
  [[nodiscard]] std::optional<Event> without_secrets(const Event& event) const;
  /// Whether the state cannot be written now, so that what is done and said is forgotten when healerd ends.
  [[nodiscard]] bool is_unjournalled() const { return journal_sick_; }
  /// Healings, under way or held back, and what is remembered of others.
  [[nodiscard]] const Healings& healings() const { return healings_; }
  /// What each guard and brake says to a healing now.
  [[nodiscard]] std::vector<BrakeVerdict> verdicts(const Healing& healing, Instant now) const;
  /// What they would say if the service were to be healed so now.
  [[nodiscard]] std::vector<BrakeVerdict> would_say(ServiceId service, const HealOrder& order, Instant now) const;
  /// How much of the group of each closed brake is not well now, for people, in their order.
  [[nodiscard]] std::vector<std::string> unwell_of_closed(Instant now) const;
  /// The name of this machine.
  [[nodiscard]] const std::string& host() const { return host_; }
  /// As Healings::lost_to(), by a swap to these rules.
  [[nodiscard]] std::vector<std::string> healings_lost_to(const Graph& next) const {
    return healings_.lost_to(*graph_, next);
  }
  /// What a step saves of the output of its program.
  [[nodiscard]] std::vector<Saving> savings_of(ActionId action, Instant now) const;
  /// Whether a maintenance window is in force for the service.
  [[nodiscard]] bool in_maintenance(ServiceId id, Instant now) const;
  /// Whether one of everything is.
  [[nodiscard]] bool all_in_maintenance(Instant now) const;
  /// Why healer would heal nothing now: it doubts what it sees. Empty: it does not.
  [[nodiscard]] std::string doubt(Instant now) const;
  /// Why an action of this kind of this rule would not be done now.
  [[nodiscard]] Hold hold(ServiceId service, const Rule& rule, const RuleState& state, ActionKind kind,
                          Instant now) const;
  /// Cycles begun since the start; the first is 1.
  [[nodiscard]] std::uint64_t cycle(Instant now) const;
  [[nodiscard]] Instant started_at() const { return started_at_; }
  /// The time between two runs of a service; none for a cron schedule.
  [[nodiscard]] std::optional<Duration> period(ServiceId id) const;
  /// The time until the next run of a service; none where it is not scheduled, or runs in no minute of the next year.
  [[nodiscard]] std::optional<Duration> next_run(ServiceId id, Instant now) const;
  /// State of a service in the form in which it is saved.
  [[nodiscard]] SavedService save(ServiceId id, Instant now) const;
  /// Rows of a list with this variable, in lower case, that are left out of the rules, and of which a service stood
  /// failed then.
  [[nodiscard]] std::set<std::string> failed_absent_rows(const std::string& list) const;

 private:
  struct Turn;  // what one handle() gathers: records, changed services, acts
  class Ward;   // HealingWorld for one turn
  /// The condition of a rule where it is one test of a figure, or whether it is gone: flat, for the common run in which
  /// nothing happens.
  struct PlainTest {
    enum class Kind : std::uint8_t { Other, Figure, Gone };
    double value = 0;
    Comparison comparison = Comparison::NotEqual;
    Metric what = Metric::Status;
    Kind kind = Kind::Other;

    auto operator<=>(const PlainTest&) const = default;
  };
  static PlainTest plain_test(const Rule& rule);
  void add_tests(const ServiceBlock& block);
  struct PendingCommand {
    event::Command command;
    std::uint32_t asked = 0;        // services of a validate
    std::uint32_t outstanding = 0;  // of their runs, or jobs
    std::map<ServiceId, std::string> failed{};
    std::vector<std::string> unmonitored{};  // that a validate leaves out
    /// What the jobs of a start, stop or restart have done to whom; to one that was as wanted already, nothing.
    struct Touched {
      bool stopped = false;
      bool started = false;
    };
    std::map<ServiceId, Touched> touched{};
    std::vector<std::string> ended{};  // healings, since people have taken their targets away by it
  };
  [[nodiscard]] std::string validated_text(const PendingCommand& command) const;
  [[nodiscard]] std::string done_text(const PendingCommand& command) const;
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<ServiceId>& services) const;

  void on(const event::Started& event, Turn& turn);
  void on(const event::Wake& event, Turn& turn);
  void on(const event::Measured& event, Turn& turn);
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
  void on(const event::ListTold& event, Turn& turn);
  void on(const event::StateDamaged& event, Turn& turn);
  void on(const event::Command& event, Turn& turn);
  void on(const event::ListsDoubted& event, Turn& turn);
  void on(const event::Stopping& event, Turn& turn);

  void save_services(Turn& turn);
  [[nodiscard]] SavedService save(ServiceId id, const Graph& graph, Instant now) const;

  // services that are left out (engine_absent.cpp)
  struct Absent {
    SavedService saved;
    std::shared_ptr<const Row> row{};  ///< null: it is none's, or none is known
    bool found = false;                ///< in the state: whose row it is, if any, nobody knows
  };
  void find_absent();
  [[nodiscard]] bool is_left_out(const ServiceBlock& block) const;
  void keep_absent(const ServiceBlock& block, SavedService saved);
  void take_back(ServiceId id, Instant now);
  void know_absent_rules();
  void forget_absent(Turn& turn);
  std::map<std::string, Absent> absent_;  ///< by name, as written

  // schedule (engine_schedule.cpp)
  void run_due(ServiceId id, Turn& turn);
  void sum_up_overruns(Turn& turn);
  void start_run(ServiceId id, bool counted, Reason reason, Turn& turn);
  Rare<Flight> cancel_flight(ServiceId id, Turn& turn);
  void begin(ServiceId id, Duration first);
  [[nodiscard]] bool keeps_phase(ServiceId id) const;
  bool go_on_in_phase(ServiceId id, Duration first);
  void reschedule(ServiceId id, std::optional<Duration> period_before, Instant now);

  // judging (engine_judge.cpp)
  [[nodiscard]] bool passes(const ServiceState& state, const Evidence& seen) const;
  [[nodiscard]] bool only_looks(ServiceId id, Reason reason, Instant now) const;
  void judge(ServiceId id, const Evidence& seen, bool counted, Reason reason, Turn& turn);
  void act(ServiceId id, const RuleDecision& decision, bool ends, Turn& turn);
  void tell_lines_lost(ServiceId id, const std::string& text, Turn& turn);
  void take(ServiceId id, std::shared_ptr<const Evidence> kept, Turn& turn);
  [[nodiscard]] std::shared_ptr<const effect::Cause> told_as_held(std::shared_ptr<const effect::Cause> cause,
                                                                  const Action& action, Hold held) const;
  void alert(std::vector<Recipient> recipients, std::shared_ptr<const effect::Cause> cause, Turn& turn);
  void instance_alert(const std::string& text, std::string_view action, Turn& turn, std::string_view event = {});
  void tell_people(ServiceId id, effect::Cause cause, EventKind event, effect::Cause::State state,
                   const std::string& text, Turn& turn, bool listed_only = false, std::string_view what = {});

  // composites (engine_members.cpp)
  void tell_owners(ServiceId id);
  void judge_composites(Turn& turn);
  void judge_composite(ServiceId id, Turn& turn);
  void end_composite_run(ServiceId id, Turn& turn);
  void all_composites_due();
  [[nodiscard]] bool waits_for_members(ServiceId id);
  /// `counts_nameless`: those too that only fail as no name server has answered.
  [[nodiscard]] Evidence look_at_members(ServiceId id, bool counts_nameless = true) const;
  [[nodiscard]] bool fails_nameless(ServiceId id) const;
  /// Whether the condition of a rule would not have held in the last run without what failed as no name server has
  /// answered: that says nothing of the other side.
  [[nodiscard]] bool holds_nameless(ServiceId id, const Rule& rule) const;

  // actions and commands (engine_action.cpp)
  void exec(ServiceId id, const Rule& rule, bool recovery, std::shared_ptr<const effect::Cause> cause, Turn& turn);
  RunningAction& add_action(effect::Exec exec, Instant now);
  RunningAction& restore_action(const PendingExec& pending, Instant now);
  struct RuleInForce {
    const Rule* rule = nullptr;
    const RuleState* state = nullptr;
  };
  [[nodiscard]] RuleInForce rule_of(const effect::Exec& exec) const;
  void queue(effect::Exec exec, Duration since, Turn& turn);
  void supersede(const effect::Exec& exec, Turn& turn);
  void drop(const effect::Exec& exec, std::string_view reason, Turn& turn);
  [[nodiscard]] std::string_view outdated(const effect::Exec& exec, Instant now) const;
  void run_queued(const std::string& service, Turn& turn);
  void accept(ServiceId id, const Origin& by, Turn& turn);
  void finish_validate(ServiceId id, bool failed, Turn& turn);
  void warn_long_actions(Turn& turn);
  void note_outcome(ServiceId id, const effect::Exec& exec, std::string_view failure, Turn& turn);
  void note_outcome(const Job& job, bool good, Turn& turn);
  bool cancel_queued(const event::Command& command, Turn& turn);

  // jobs (engine_job.cpp)
  struct Order;  // what a job is begun for
  /// How the step of a job has ended; nothing: it waits for something.
  using Progress = std::optional<StepEnd>;
  static constexpr Progress kWaits = std::nullopt;
  void want_job(ServiceId id, ActionKind kind, std::shared_ptr<const effect::Cause> cause, bool again, Turn& turn);
  [[nodiscard]] std::string in_the_way(ServiceId id, ActionKind kind) const;
  [[nodiscard]] std::string own_obstacle(ServiceId id, Instant now) const;
  void begin_job(Order order, Turn& turn);
  void start_needed_first(const Order& order, std::vector<JobStep>& steps, Turn& turn);
  void go_on(Job& job, Progress progress, Turn& turn);
  void end_job(Job& living, StepEnd how, Turn& turn);
  Progress begin_step(Job& job, Turn& turn);
  Progress judge_step(Job& job, const ProcessFacts* process, Turn& turn);
  Progress act(Job& job, const ProcessFacts* process, Turn& turn);
  void look(Job& job, Turn& turn);
  void looked(Job& job, const Evidence& seen, Turn& turn);
  void run_program(Job& job, const Command& command, Turn& turn);
  void job_program_ended(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn);
  void note_last_words(const effect::Exec& exec, const event::ActionEnded& end, Turn& turn);
  void blame(Job& job, const std::string& why) const;
  void overdue(Job& job, Turn& turn);
  void set_due(Job& job, std::optional<Duration> due);
  void wake_jobs(Turn& turn);
  [[nodiscard]] effect::SavedJob save(const Job& job, Instant now) const;
  [[nodiscard]] static WallTime begun(const Job& job, Instant now) { return now.wall - (now.mono - job.begun); }
  void restore_jobs(Turn& turn);
  void command_jobs(const event::Command& command, Turn& turn);
  std::uint32_t join(ActionKind kind, std::vector<ServiceId>& services, const event::Command& command, Turn& turn);
  [[nodiscard]] bool is_brought_up(ServiceId id) const;
  [[nodiscard]] bool restarts_yet(const Job& job, ServiceId id) const;
  void end_rule_jobs(ActionKind kind, const std::vector<ServiceId>& services, const Origin& by, Turn& turn);
  void cut_job(Job& job, const std::vector<bool>& out, const std::string& why, Turn& turn);
  [[nodiscard]] std::string busy_with(ActionKind kind, const std::vector<ServiceId>& services) const;
  void note_touched(const Job& job, bool good);
  void finish_command(CommandId id, ServiceId service, const std::string& failure, Turn& turn);
  void cancel_job(const event::Command& command, Turn& turn);
  void cancel_action(const event::Command& command, Turn& turn);
  void fail_job(JobId id, const std::string& why, Turn& turn);
  [[nodiscard]] bool clear_way(Job& job, const Command& command, Turn& turn);
  void end_program(ActionId action, Turn& turn, const ForegroundSpec* spec = nullptr);
  [[nodiscard]] bool waits_for_left(Job& job, Turn& turn);
  [[nodiscard]] bool taken_up(const effect::SavedJob& job) const;
  void tell_end(const Job& job, bool good, Turn& turn);

  // foreground processes (engine_foreground.cpp)
  void ask(ServiceId id, RunId run, Turn& turn);
  Progress begin_child_step(Job& job, Turn& turn);
  Progress judge_child_step(Job& job, Turn& turn);
  void start_child(Job& job, Turn& turn);
  void keep_watch(ServiceId id, Turn& turn);
  [[nodiscard]] std::optional<Evidence> with_last_status(ServiceId id, const Evidence& seen) const;
  void child_overdue(Job& job, Turn& turn);
  void child_told(ServiceId id, Turn& turn);
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
  [[nodiscard]] std::optional<Evidence> disproved(ServiceId id, const Evidence& seen, Turn& turn);
  [[nodiscard]] std::string why_spared(ServiceId id, const ProcessFacts& process) const;
  [[nodiscard]] bool was_just_started(ServiceId id) const;
  [[nodiscard]] std::string doubt_about(ServiceId id, const ProcessFacts& process) const;
  void accept_processes(const event::Command& event, Turn& turn);
  [[nodiscard]] std::string left_behind(ServiceId id) const;
  [[nodiscard]] bool left_long(ServiceId id, Instant now) const;
  void hold_step(Job& job, std::string failure, Duration pause, Turn& turn);
  void look_at_needed(ServiceId id, Instant now);
  void look_later(ServiceId id, Reason reason, Duration when) { timetable_.look_later(id, reason, when); }
  void look_now(ServiceId id, Reason reason, Turn& turn);
  void wake_looks(Turn& turn);
  void wake_dependents(ServiceId id, Instant now);
  void wake_waiting(const std::vector<ServiceId>& ended, Instant now);

  // whether services are monitored (engine_monitoring.cpp)
  void monitor(ServiceId id, const Origin& by, Turn& turn, std::string text = {});
  [[nodiscard]] TakenOut taken_out_by(const effect::Cause& cause, Instant now, Duration lasting = Duration{0}) const;
  [[nodiscard]] std::shared_ptr<const effect::Cause> giving_up(ServiceId id, const effect::Cause& cause,
                                                               const Action& action) const;
  void unmonitor(ServiceId id, const TakenOut& how, Turn& turn);
  void unmonitor_one(ServiceId id, TakenOut how, Turn& turn);
  void tell_taken_along(ServiceId id, const TakenOut& how, Turn& turn);
  void take_back(Turn& turn);
  void carry_taken_out(Turn& turn);
  void guess_taken_out(ServiceId id);

  // what people say of services, and maintenance (engine_pauses.cpp)
  void command_pause(const event::Command& command, Turn& turn);
  void command_resume(const event::Command& command, Turn& turn);
  void command_acknowledge(const event::Command& command, Turn& turn);
  void forget_acknowledgement(ServiceId id, Turn& turn);
  void carry_pauses(Turn& turn);
  [[nodiscard]] bool keeps_alert(ServiceId id) const;
  void keep_alert(ServiceId id, Instant now);
  void release_alerts(Turn& turn);

  // healing (engine_healing.cpp)
  void heal(ServiceId id, const Rule& rule, const HealOrder& order, std::shared_ptr<const effect::Cause> cause,
            Turn& turn);
  void command_healing(const event::Command& command, Turn& turn);
  void tell_healings(Turn& turn);
  void save_healings(Turn& turn);
  void healing_looked(ServiceId id, Duration began, const Evidence& seen, Turn& turn);
  void healing_program_ended(const effect::Exec& exec, const event::ActionEnded& event, Turn& turn);
  void recover_rules(ServiceId id, Turn& turn);
  void note_recovered(ServiceId id, Turn& turn);
  void note_doubts(Turn& turn);
  void resume_healings(Turn& turn);
  void wake_healings(Turn& turn);
  void stir_healings(Turn& turn);
  [[nodiscard]] std::optional<Duration> time_releases(Instant now) const;
  bool cancel_healing(const event::Command& command, Turn& turn);
  std::vector<std::string> take_from_healings(const std::set<ServiceId>& services, const std::string& how, Turn& turn);
  void reload_healings(const std::set<HealingId>& taken, Turn& turn);
  void stop_healings(Turn& turn);
  void healing_lingers(const effect::Exec& exec, const std::string& what, Turn& turn);
  void restore_healing_program(const PendingExec& pending, Turn& turn);
  [[nodiscard]] std::optional<std::pair<std::size_t, const Rule*>> healing_rule(ServiceId id, Hash128 rule) const;

  void set_free(Effect act, Turn& turn);
  void restore_acts(Turn& turn);
  void begin_afresh(ServiceId id);
  void adopt_block(ServiceId id);
  void restore(ServiceId id, const SavedService& saved, Instant now);
  void apply(const SlotChange& change, const Graph& before, Turn& turn);
  void compact();
  std::span<RuleState> rules_of(ServiceState& state);

  std::shared_ptr<const Graph> graph_;
  CivilClock civil_;
  SavedState found_;  // pending acts of an earlier engine, until Started
  std::vector<ServiceState> services_;
  std::set<std::pair<std::uint32_t, ServiceId>> composites_due_;  // to be looked at, by rank: members first
  std::vector<RuleState> rule_states_;
  std::set<PlainTest> plain_tests_;      // each once: many rules ask for the same
  std::vector<const PlainTest*> tests_;  // of the same rules: in plain_tests_
  std::size_t live_rules_ = 0;           // of rule_states_; the others are left over
  std::map<std::uint64_t, Job> jobs_;
  std::set<std::pair<Duration, std::uint64_t>> job_due_;  // when a job wants to be woken
  std::set<std::uint64_t> ending_;                        // programs that were told to end
  std::unordered_map<std::uint64_t, RunningAction> actions_;
  std::unordered_map<std::string, std::vector<ActionId>> actions_of_;  // by name of the service, in lower case
  std::unordered_map<std::string, std::vector<QueuedExec>> queued_;    // by the same; none is empty
  std::deque<std::pair<Duration, ActionId>> long_at_;                  // when to warn of those that still run then
  std::deque<std::pair<Sequence, Effect>> waiting_acts_;               // for Committed
  std::unordered_map<std::uint64_t, PendingCommand> commands_;
  std::unordered_map<std::uint32_t, std::vector<CommandId>> validating_;  // by service
  Healings healings_;
  std::set<ActionId> healing_programs_;                    // known, and their end will be told
  std::vector<event::Command> orders_;                     // of healings, done at the end of the turn
  std::vector<std::pair<Sequence, Effect>> unjournalled_;  // steps of healings that wait for the journal
  std::optional<std::pair<Duration, std::string>> doubt_;  // mono: until when, and why
  std::string host_;
  std::vector<std::string> doubted_lists_;
  std::set<std::pair<std::string, std::string>>
      missing_rows_;  // of lists, that were well before, or since: list and row
  [[nodiscard]] const std::vector<WallTime>& windows(Instant now) const;
  [[nodiscard]] std::optional<WallTime> window_ends(Instant now) const;
  mutable std::pair<std::int64_t, std::vector<WallTime>> maintenance_{-1, {}};  // of a minute: when each window ends
  std::set<ServiceId> keeps_alerts_;      // that a window holds: they are looked at when it is over
  std::optional<WallTime> first_window_;  // when the first of the windows ends that were open then
  std::optional<Duration> release_at_;    // mono: the same, as far as is known; none: no alert is held
  std::vector<WidePause> wide_pauses_;
  std::set<std::pair<WallTime, ServiceId>> returns_;  // when who is monitored again; some do not hold any more
  std::optional<Duration> return_at_;                 // mono: when the first of them is due, as far as is known
  Timetable timetable_;
  bool running_ = false;
  bool stop_told_ = false;
  bool journal_sick_ = false;
  std::optional<Duration> lack_noted_;  // mono: when it was last noted that a run waits
  std::uint64_t next_id_ = 1;
  Sequence next_sequence_ = 1;
  Instant started_at_;
};

}  // namespace healer::engine
