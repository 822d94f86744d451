// SPDX-License-Identifier: MIT
// A simulation as it runs. Private to the simulator: simulator.cpp has the time, the daemon, people and the timeline,
// simulator_programs.cpp programs, requests and processes, simulator_lists.cpp lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "simulation/list_keeper.hpp"
#include "simulation/simulated_healing.hpp"
#include "simulation/simulated_world.hpp"
#include "simulation/simulator.hpp"

namespace healer::engine {

struct RuleSet;

/// A machine, a daemon and the people around them, from the beginning of a script to its end.
class Simulation final : public EffectSink {
 public:
  /// `lists`: null where no list ever says something else.
  Simulation(const RuleSet& rules, const Script& script, const CivilClock& civil, ListKeeper* lists)
      : graph_(make_graph(rules)),
        script_(script),
        civil_(civil),
        lists_(lists),
        world_(*graph_, script, kBegin),
        healing_(script) {}

  Timeline play();
  void emit(Effect effect) override { inbox_.push_back(std::move(effect)); }

 private:
  /// When something happens; what is decided at the same instant goes by class, then in order.
  struct Place {
    Duration when{0};
    int rank = 0;  // 0: the end of a run or action; 1: a command
    std::uint64_t number = 0;

    auto operator<=>(const Place&) const = default;
  };

  /// A program of an action that runs, whether or not a healer is there to see it; until healer knows of its end.
  struct Running {
    effect::Exec exec;
    std::optional<Bringing> step{};  // whose program it is; none: a rule's own
    Duration began{0};
    std::optional<Duration> ends{};  // none: not by itself
    bool over = false;
    event::ActionEnded end{};
    std::optional<std::pair<std::string, Duration>> heals{};  // a target, for so long
  };

  [[nodiscard]] Duration length() const;
  /// Until then, since the start, is shown what the last command has led to.
  [[nodiscard]] Duration afterword() const;
  /// Whether all is shown, where the end is `reached`: but what is started, stopped or restarted then, programs of
  /// actions that run then, and what is being healed, are shown to their end, if the script does not say how long it
  /// takes.
  bool shown(bool reached);
  /// Whether the scripts are used up, where they say how long it takes.
  [[nodiscard]] bool used_up() const;
  /// Notes how services are, for what the script expects of their states, before time goes on to `next` since the
  /// start; none: it is the end.
  void note_states(std::optional<Duration> next);
  void move_to(Duration mono);
  void plan(Duration when, int rank, std::function<void()> what);

  // ---- the daemon -------------------------------------------------------------------------------------------------
  void begin();
  void end(Duration away, bool reboot);
  void handle(const Event& event);
  /// Tells the daemon of this life something later.
  void tell(Duration when, std::function<void()> what);

  // ---- the world --------------------------------------------------------------------------------------------------
  void perform(const effect::Measure& start);
  void observe(const effect::Measure& start, const Evidence& seen);
  void perform(const effect::CancelRun& cancel);
  void perform(const effect::Exec& exec);
  /// It ends when `running` says so.
  void launch(Running running);
  /// The program of a guard or a step of a healing.
  void perform_step(const effect::Exec& exec, const ActionContext& origin);
  [[nodiscard]] TimelineEntry entry_of(const ActionContext& origin, std::string kind);
  /// All that looks at the target finds it well from now on: for `span`, or for good.
  void make_well(const std::string& target, Duration span);
  void set_scripted_states(const std::vector<ServiceId>& services, SimulatedWorld::ScriptedState scripted_state,
                           Duration span);
  /// A foreground process says that it is ready, where it lives to do so and its service waits for that.
  void signal_ready(ActionId id);
  /// The kind of the step whose program this is; none: it is a rule's own action.
  [[nodiscard]] std::optional<Bringing> step_of(const effect::Exec& exec) const;
  /// Which of the service's programs it is; empty: that of a rule's action.
  [[nodiscard]] std::string program_of(const effect::Exec& exec) const;
  /// A program has ended, whether or not healer is there to see it: what it was to do is done.
  void finish(ActionId id);
  /// A service was started: by a step that heals so, perhaps.
  void heal_by_start(ServiceId service);
  void perform(const effect::EndAction& end);
  void perform(const effect::Adopt& adopt);
  void perform(const effect::Watch& /*watch*/) {}  // a scripted process is well as long as it lives
  /// Tells the daemon of the end of a program, if it is known when that is: now, where it has been meanwhile.
  void watch(const Running& running);
  /// Its process comes up, if it is a process and does not run.
  void bring_up(ServiceId id, const std::string& how);
  /// Its process is gone, if there was one; the kernel tells healer at once.
  void take_down(ServiceId id, const std::string& how);
  void drop_process(ServiceId id, const std::string& how);
  void report_process(std::string kind, ServiceId id, std::int64_t pid, const std::string& how);
  void perform(const effect::Signal& signal);
  void perform(const effect::Alert& alert);
  void perform(const effect::Request& request);
  void perform(const effect::EndRequest&) {}
  void perform(const effect::Claim&) {}  // granted already
  void perform(const effect::Commit& commit);
  void perform(const effect::Note&) {}
  void perform(const effect::Reply& reply);
  void perform(const ScriptedCommand& command);
  void beat(const ScriptedCommand& command);
  void occurs(const ScriptedCommand& command);
  void fall_silent(ServiceId id);
  void another_hand(ServiceId id, ScriptedCommand::Kind kind);

  // ---- lists ------------------------------------------------------------------------------------------------------
  void begin_lists();
  void read_list(std::size_t list, const ListKeeper::Interval& of);
  void take(ListKeeper::Changes changes);
  void tell_rows(std::size_t list, const ListKeeper::Interval& of);
  [[nodiscard]] Evidence of_row(ServiceId id, Evidence seen) const;
  void see_rows();
  void change_list(const ScriptedCommand& command);
  /// The services of a command that are in the rules now. Says so where there are none.
  std::vector<ServiceId> there(const std::vector<std::string>& names);
  /// Whether the rules have the service still.
  [[nodiscard]] bool is_there(ServiceId id) const {
    return id.index() < graph_->slots.size() && graph_->slots[id.index()] != nullptr;
  }

  // ---- the timeline -----------------------------------------------------------------------------------------------
  void add(TimelineEntry entry, const Rule* rule);
  [[nodiscard]] const Rule* rule_of(ServiceId id, const Hash128& key) const;
  /// How many runs of a service have ended. Those of a composite the engine makes by itself.
  [[nodiscard]] std::uint64_t runs_of(ServiceId id) const;
  /// The run that a cause belongs to: the one that was judged last when the cause was first met.
  std::uint64_t run_of(const std::shared_ptr<const effect::Cause>& cause, ServiceId id);
  /// Whether another line tells the same: that of the program's start; of the end of a step's program that of its
  /// step, which is among the `later` records of the commit.
  [[nodiscard]] bool is_reported(const Record& record, std::span<const Record> later) const;
  /// Takes back what the journal says of the begin of what `told` is about to tell, a program or a request: `what`.
  void drop_begin(const TimelineEntry& report, std::string_view what);
  void report_record(const Record& record);
  [[nodiscard]] std::string counters(RecordKind kind, ServiceId id, const Rule& rule) const;

  std::shared_ptr<const Graph> graph_;
  const Script& script_;
  const CivilClock& civil_;
  ListKeeper* const lists_;
  SimulatedWorld world_;
  SimulatedHealing healing_;
  SavedState saved_;
  std::unique_ptr<Engine> engine_;  // null: healer is away
  Instant now_;
  Duration start_{0};
  std::optional<Instant> reached_;  // when the end was reached first
  std::uint64_t life_ = 0;
  std::uint64_t next_number_ = 1;
  std::size_t commands_left_ = 0;
  std::map<Place, std::function<void()>> happenings_;
  std::map<std::uint64_t, Running> running_;
  std::map<std::uint64_t, std::pair<std::string, std::string>> programs_;  // of healings: target and step, by action
  std::vector<Effect> inbox_;
  std::unordered_map<std::shared_ptr<const effect::Cause>, std::uint64_t> runs_of_causes_;
  std::vector<RuleState> before_;                   // of the service that is judged
  std::vector<std::optional<std::string>> states_;  // for the expectations of the script
  ServiceId judged_;
  Timeline timeline_;

  static constexpr Duration kBegin = hours{1};  // mono
  static constexpr std::string_view kGuard = "guard";
};

}  // namespace healer::engine
