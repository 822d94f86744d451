// SPDX-License-Identifier: MIT
// Healing: who is healed, when, and how far each healing has come. Pure, as the engine that it is a part of: what it
// learns is told by the calls, what it does goes through HealingWorld.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/events/event_names.hpp"
#include "engine/healing/healing.hpp"
#include "engine/healing/world.hpp"
#include "engine/state.hpp"

namespace healer::engine {

struct DamagedHealing;
struct HealOrder;
struct Rule;

/// Commands that a healing gives have numbers of their own: no client's reaches so far.
inline constexpr std::uint64_t kOfHealing = std::uint64_t{1} << 63;
[[nodiscard]] constexpr bool of_healing(CommandId command) { return (command.number() & kOfHealing) != 0; }

/// What one guard or brake says to a healing.
struct BrakeVerdict {
  Brake brake{};
  bool lets = true;
  std::string text;  ///< "2 of 2 at once", "another 4 m"
  /// After so long it lets it go by time alone; none: something else must happen, or nobody knows.
  std::optional<Duration> left{};
};

/// The reason of a healing that this brake holds back: "limit reached: 1 of 1 running".
[[nodiscard]] std::string reason_of(const BrakeVerdict& verdict);
/// What the rule that asked says today; null: it is gone, or heals no more.
[[nodiscard]] const HealOrder* order_of(const Graph& graph, const Trigger& trigger);

/// How a program of a step has ended.
/// Of a program whose end nobody saw.
inline constexpr std::string_view kCutOff = "was cut off when healer ended, and may be half done";

struct ProgramEnd {
  StepEnd end = StepEnd::Failed;  ///< Done: exited with status 0
  std::string text;               ///< "exited with status 3 after 5 s"
  std::string_view output;
  std::vector<std::optional<std::string>> saved{};  ///< of event::ActionEnded
  std::optional<Duration> elapsed{};                ///< how long it ran, where that was seen
};

class Healings {
 public:
  Healings(std::vector<Healing> healings, HealingMemory memory);

  /// The services have changed: who is a target, and in which groups.
  void index(const Graph& graph);
  /// The machine was restarted since the daemon before was `seen` for the last time: however far its clock has come,
  /// no more of a time that brakes go by is over than was then. Before resume().
  void carry(HealingWorld& world, WallTime seen);
  /// Goes on with what an earlier daemon has left. `lives`: whether a program is still known, and its end will be told.
  void resume(HealingWorld& world, const std::set<ActionId>& lives);
  /// The daemon is about to end: from now on nothing begins, and nobody asks whether what was begun is done.
  void stop(HealingWorld& world);

  /// What somebody has asked for.
  struct Asked {
    std::string text;
    std::optional<HealingId> healing{};  ///< what came of it is to be said behind `text`; none: that is all
    std::string after{};
  };
  /// A rule has fired, or a person asks (`rule` null, `by` the person): heal.
  Asked want(HealingWorld& world, ServiceId service, const Rule* rule, const HealOrder& order,
             std::shared_ptr<const effect::Cause> cause, const Origin& by, Overrides overrides = {});
  /// Begins of what a person has asked for all that may begin. What came of each, in words.
  std::vector<std::string> begin(HealingWorld& world, const std::vector<Asked>& all);
  /// Something that brakes or conditions ask for may have changed.
  void reevaluate(HealingWorld& world);
  /// A run of the service that began at `began` has ended. `clear`: no test of it held; nothing: it had no answer.
  void checked(HealingWorld& world, ServiceId service, Duration began, std::optional<bool> clear);
  /// After that, and what it has told: healings that have waited for the run before they begin.
  void confirm_by(HealingWorld& world, ServiceId service, Duration began);
  void program_ended(HealingWorld& world, ActionId action, const ProgramEnd& end);
  void answered(HealingWorld& world, const event::Answered& answer);
  /// What world.bring() was to do is done, or has failed.
  void brought(HealingWorld& world, HealingId healing, std::size_t run, StepEnd how, const std::string& text);
  /// What is journalled of a healing cannot be read: it is told as interrupted, and its target rests.
  void lost(HealingWorld& world, const DamagedHealing& damaged);
  /// The target rests for a cooldown, as what was journalled of its last healing is lost but for what is given.
  void rest(HealingWorld& world, const std::string& target, bool rehearsed, HealingEnd end = HealingEnd::Dropped,
            HealingId healing = {}, std::string_view workflow = {});
  /// A rule of the service that stood failed does so no more.
  void recovered(HealingWorld& world, ServiceId service);
  /// The condition of a rule of a `check event` does not stand for that target any more. `lapsed`: why, where no event
  /// has said that all is well; what has not begun is dropped then, and people are told.
  void unsettled(HealingWorld& world, const Trigger& trigger, const std::string& target, const std::string& lapsed);
  /// What is under way goes on. Whether wake_waiting() is to follow, when what that has told was heard.
  [[nodiscard]] bool wake(HealingWorld& world);
  /// What waits may begin.
  void wake_waiting(HealingWorld& world);
  /// Those that rules after an edit leave without a target.
  [[nodiscard]] std::set<HealingId> taken_by(const Graph& now, const Graph& next) const;
  /// What such rules end, for people: "healing 5 of n1 with rebuild: abandoned, as the rules no longer have it".
  [[nodiscard]] std::vector<std::string> lost_to(const Graph& now, const Graph& next) const;
  /// The new rules are in force: what waits is judged again by them. `taken`: by taken_by().
  void reloaded(HealingWorld& world, const std::set<HealingId>& taken);

  // The words of people. What came of them, or why not: `good` says which.
  struct Answer {
    bool good = true;
    std::string text;
  };
  /// `plan`: the beginning of the hash of the plan that was shown; empty: whatever it is.
  Answer approve(HealingWorld& world, HealingId healing, const std::string& by, std::string_view plan = {});
  Answer reject(HealingWorld& world, HealingId healing, const std::string& by);
  Answer cancel(HealingWorld& world, HealingId healing, const std::string& by);
  /// Closes an open breaker.
  Answer reset(HealingWorld& world, std::string_view workflow, const std::string& by);
  /// A person takes these services away, `how` says by what: "unmonitored by anna". What waits for them is dropped, and
  /// what runs is abandoned where nothing of its target is left. What that ends, for people.
  std::vector<std::string> taken_away(HealingWorld& world, const std::set<ServiceId>& services, const std::string& how);

  /// The mono time at which wake() is wanted.
  [[nodiscard]] std::optional<Duration> next() const { return next_; }
  /// Whether rules leave the target alone, except for alerts and execs: it is being healed, or was just now.
  [[nodiscard]] bool rests(std::string_view target, Instant now) const;
  /// Whether the runs of a service are a healing's, to see whether it has recovered.
  [[nodiscard]] bool verifies(ServiceId service) const { return verifying_.contains(service); }
  /// Whether what the program writes, or the request is answered, is saved as a secret.
  [[nodiscard]] bool saves_secret(ActionId action) const;
  /// Takes out what its step saves as a secret, and what others could learn that from; that there was something stays,
  /// and what the tests of an answer say of it. False: nothing of it is secret.
  bool leave_out_secrets(event::ActionEnded& end) const;
  bool leave_out_secrets(event::Answered& answer) const;
  /// Whether the program is one that was told to end.
  [[nodiscard]] bool ends(ActionId action) const;
  [[nodiscard]] bool idle() const { return healings_.empty(); }
  /// Whether runs of services are to be told to checked().
  [[nodiscard]] bool follows_runs() const { return !healings_.empty() || !memory_.targets.empty(); }
  [[nodiscard]] const std::map<HealingId, Healing>& all() const { return healings_; }
  [[nodiscard]] const HealingMemory& memory() const { return memory_; }
  /// Completes the program of a step that is released again: its environment and place are not saved with it. False: a
  /// secret that it needs is lost.
  [[nodiscard]] bool complete(const HealingWorld& world, effect::Exec& exec) const;
  /// What is to be saved of the output of a program, with values bound in its filters.
  [[nodiscard]] std::vector<Saving> savings_of(const HealingWorld& world, ActionId action) const;
  /// Whether the answer to a request is waited for.
  [[nodiscard]] bool awaits(ActionId request) const;
  /// What is to be answered, for people: "the answer to POST https://a/b (healing of web with rebuild, step "mark")".
  [[nodiscard]] std::vector<std::string> awaited() const;
  /// What has asked for a program or a request.
  struct ActionContext {
    const Healing* healing = nullptr;  ///< never null
    const Step* step = nullptr;        ///< null: its guard
    bool polls = false;                ///< the request asks whether what the step began is done
  };
  /// None: nothing that is under way. It holds until something is told to this.
  [[nodiscard]] std::optional<ActionContext> context_of(ActionId action) const;
  /// What each guard and brake says to a healing now, in their order.
  [[nodiscard]] std::vector<BrakeVerdict> verdicts(const HealingWorld& world, const Healing& healing) const;
  /// The same for people, between two turns: the groups are counted again.
  [[nodiscard]] std::vector<BrakeVerdict> fresh_verdicts(const HealingWorld& world, const Healing& healing) const;
  /// What opens a brake that holds a healing back, and what a person can do, for people: "it can begin in 4 m"; or
  /// empty.
  [[nodiscard]] static std::string way_out(const BrakeVerdict& brake, const Healing& healing);
  /// What they would say if the service were to be healed so now.
  [[nodiscard]] std::vector<BrakeVerdict> preview_brakes(const HealingWorld& world, ServiceId service,
                                                         const HealOrder& order) const;
  /// How much of the group of each closed brake is not well now, and when it opens, for people, in their order: "4 of 6
  /// in group nodes are not well; goes on at less than 20 %".
  [[nodiscard]] std::vector<std::string> unwell_of_closed(const HealingWorld& world) const;
  /// A group in any case as the rules write it; as given, where they have none of that name.
  [[nodiscard]] std::string written(std::string_view group) const;
  /// The services of a target, in the order of the files.
  [[nodiscard]] std::vector<ServiceId> services_of(const Graph& graph, std::string_view target) const;

 private:
  /// The fewest targets of a group that the brake of every workflow asks for.
  static constexpr std::size_t kFewest = 3;
  /// How many of a group's targets there are, how many of them are not well, and how many of those are paused.
  struct Census {
    std::size_t whole = 0;
    std::size_t unhealthy = 0;
    std::size_t paused = 0;
    [[nodiscard]] double percent() const {
      return whole == 0 ? 0 : 100.0 * static_cast<double>(unhealthy) / static_cast<double>(whole);
    }
    /// Without those that are paused.
    [[nodiscard]] double ill_percent() const {
      return whole == 0 ? 0 : 100.0 * static_cast<double>(unhealthy - paused) / static_cast<double>(whole);
    }
  };
  /// Which of a group's targets was judged longest ago, and when, in mono time; and when any other one was.
  struct Oldest {
    std::uint32_t target = 0;
    Duration when{0};
    Duration others{0};
  };
  /// How a target counts in a census.
  enum class Fitness : std::uint8_t {
    LeftOut,
    Well,
    Unwell,
    Paused  ///< not well, be it for that alone or for more
  };
  struct Target {
    std::string name{};                   ///< in lower case
    std::vector<ServiceId> services{};    ///< in the order of the files
    std::vector<std::uint32_t> groups{};  ///< places in `groups_`
    std::set<std::string> conflicts{};  ///< others that must not be healed at the same time: what holds it, or shares a
                                        ///< member with it. In lower case
    mutable Fitness fitness = Fitness::LeftOut;  ///< while `counted_`
  };
  struct Group {
    std::string name{};                    ///< in lower case
    std::string written{};                 ///< the same as the rules have it
    std::vector<std::uint32_t> targets{};  ///< places in `targets_`
    mutable Census census{};               ///< while `counted_`
    mutable std::optional<Oldest> oldest{};
  };
  /// How a service does while its recovery is awaited.
  struct Progress {
    HealingId healing;                      ///< that awaits it: a service is of one target, and a target in one healing
    Duration since{0};                      ///< mono: runs that began before do not count
    Duration checked{0};                    ///< mono: when a look was last asked for
    std::uint32_t clear = 0;                ///< runs in a row in which no test held
    std::optional<Duration> clear_since{};  ///< mono
  };

  [[nodiscard]] Duration cooldown_of(const Graph& graph, std::string_view target, std::string_view workflow) const;

  // start (healings_start.cpp)
  void consider(HealingWorld& world);
  bool consider(HealingWorld& world, Healing& healing);
  bool consider_undoing(HealingWorld& world, Healing& healing);
  bool consider_giving_up(HealingWorld& world, Healing& healing);
  void undo(HealingWorld& world, Healing& healing);
  bool wait_again(HealingWorld& world, Healing& healing);
  void confirm(HealingWorld& world, Healing& healing);
  void confirmed(HealingWorld& world, Healing& healing);
  void take(HealingWorld& world, Healing& healing);
  void keep_active(HealingWorld& world, const std::string& workflow);
  void watch_brakes(HealingWorld& world);
  [[nodiscard]] static bool trigger_stands(const HealingWorld& world, const Healing& healing, const Trigger& trigger);
  [[nodiscard]] std::vector<ServiceId> concerned(const HealingWorld& world, const Healing& healing) const;
  bool judge_anew(HealingWorld& world, Healing& healing);
  [[nodiscard]] bool condition_stands(const HealingWorld& world, const Healing& healing) const;
  [[nodiscard]] bool judged_since(const HealingWorld& world, const Healing& healing) const;
  [[nodiscard]] static bool nameless(const HealingWorld& world, const Healing& healing);
  [[nodiscard]] std::optional<BrakeVerdict> first_brake(const HealingWorld& world, const Healing& healing) const;
  [[nodiscard]] BrakeVerdict limit_verdict(const HealingWorld& world, const Healing& healing) const;
  [[nodiscard]] BrakeVerdict verdict_of(const HealingWorld& world, const Healing& healing, const HealingLimit& limit,
                                        bool of_workflow) const;
  [[nodiscard]] Census census(const HealingWorld& world, std::string_view group) const;
  [[nodiscard]] Fitness fitness(const HealingWorld& world, const Target& target) const;
  void count(const HealingWorld& world) const;
  void count(const Target& target, int sign) const;
  void count_again(const HealingWorld& world, std::string_view name) const;
  void forget_counts() const;
  [[nodiscard]] Duration judged(const HealingWorld& world, const Target& target) const;
  [[nodiscard]] const Oldest& oldest(const HealingWorld& world, const Group& group) const;
  [[nodiscard]] std::vector<std::pair<std::string, PauseWhile>> pauses_of(const Healing& healing) const;

  // approval (healings_approval.cpp)
  [[nodiscard]] bool wants_approval(const HealingWorld& world, const Healing& healing) const;
  void ask_for_approval(HealingWorld& world, Healing& healing);
  bool await_approval(HealingWorld& world, Healing& healing, const std::optional<BrakeVerdict>& brake);
  [[nodiscard]] bool is_braked(const HealingWorld& world, const Healing& healing) const;
  void ask_for_another_plan(HealingWorld& world, Healing& healing);

  // whose target was taken away (healings_abandon.cpp)
  [[nodiscard]] std::string abandon(HealingWorld& world, Healing& healing, const std::string& why);
  void end_abandoned(HealingWorld& world, Healing& healing);
  void end_what_lost_its_target(HealingWorld& world);
  [[nodiscard]] std::vector<ServiceId> checked_for(const HealingWorld& world, std::string_view target) const;
  [[nodiscard]] static bool is_gone(const Graph& graph, const Trigger& trigger);

  // steps (healings_steps.cpp)
  /// `doubts`: how often it was begun before, and nobody saw its end.
  void begin_guard(HealingWorld& world, Healing& healing, std::uint32_t doubts = 0);
  [[nodiscard]] bool has_secrets(HealingWorld& world, Healing& healing);
  void secrets_checked(HealingWorld& world, Healing& healing, const event::Answered& answer);
  void refuse(HealingWorld& world, Healing& healing, const std::string& by, const std::string& why,
              std::string_view output);
  void begin_try(HealingWorld& world, Healing& healing);
  void go_on(HealingWorld& world, Healing& healing);
  void begin_step(HealingWorld& world, Healing& healing, const Step& step, StepRun& run);
  void run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
                const std::string& text) {
    run_over(world, healing, step, run, how, text, terms_of(step));
  }
  void run_over(HealingWorld& world, Healing& healing, const Step& step, StepRun& run, StepEnd how,
                const std::string& text, StepTerms terms, std::optional<Duration> ran = {});
  void try_failed(HealingWorld& world, Healing& healing);
  void give_up(HealingWorld& world, Healing& healing);
  void end_others(HealingWorld& world, Healing& healing);
  [[nodiscard]] std::set<ServiceId> stopped_by(const HealingWorld& world, const Healing& healing) const;
  void verify(HealingWorld& world, Healing& healing);
  [[nodiscard]] bool is_gone(const HealingWorld& world, const Healing& healing) const;
  void verify_all(HealingWorld& world);
  void failed(HealingWorld& world, Healing& healing);
  void reached(HealingWorld& world, Healing& healing, HealingEnd how);
  void guard_ended(HealingWorld& world, Healing& healing, const ProgramEnd& end);
  void end(HealingWorld& world, Healing& healing, HealingEnd how, const std::string& why);
  void stop_verifying(const Healing& healing);
  [[nodiscard]] Variables variables(const HealingWorld& world, const Healing& healing, std::string_view step) const;
  /// What its steps have saved that nobody is to see.
  [[nodiscard]] const Variables& secrets(const Healing& healing) const;

  // requests (healings_requests.cpp)
  /// How often, and when next, it is asked whether what a step began is done.
  struct Poll {
    ActionId flight{};   ///< 0: none
    Duration next{0};    ///< mono
    std::string last{};  ///< what was said
  };
  void begin_request(HealingWorld& world, Healing& healing, const Step& step, StepRun& run);
  void poll(HealingWorld& world, Healing& healing, const Step& step, std::size_t run);
  void polled(HealingWorld& world, Healing& healing, const Step& step, std::size_t run, const event::Answered& answer);
  void request_answered(HealingWorld& world, Healing& healing, const Step& step, StepRun& run,
                        const event::Answered& answer);
  void request_lost(HealingWorld& world, Healing& healing, const Step& step, StepRun& run);
  void stop_polling(HealingWorld& world, const Healing& healing, std::size_t run);
  /// Why they cannot be saved: "has nothing to save as TOKEN"; empty: they are.
  [[nodiscard]] std::string save_values(Healing& healing, const std::vector<Saving>& saves,
                                        const std::vector<std::optional<std::string>>& values);
  /// Whose program, request or question it is; null: no step's.
  [[nodiscard]] const Step* asker(ActionId action) const;
  /// A step wants a value that nobody has. If a step that may be repeated had saved it, and it was lost with the
  /// daemon, that one is run again: true.
  bool save_again(HealingWorld& world, Healing& healing, const std::string& name);
  void come_back(Healing& healing);
  [[nodiscard]] std::string describe(const Healing& healing) const;
  void watch_only(HealingWorld& world, Healing& healing);

  [[nodiscard]] std::vector<HealingId> ids() const;
  Healing* find(HealingId id);
  Healing* of_action(ActionId action);
  WorkflowMemory& workflow_memory(std::string_view workflow);
  [[nodiscard]] const WorkflowMemory* workflow_memory(std::string_view workflow) const;
  void remember(HealingWorld& world, TargetMemory target);
  void note_recovery(HealingWorld& world, TargetMemory& memory);
  [[nodiscard]] std::string describe(const Census& count, std::string_view group) const;
  /// The same of a brake that is closed, with the limits of that, and when it opens.
  [[nodiscard]] std::string describe_closed(const Census& count, std::string_view group, double above,
                                            const std::optional<double>& until) const;
  [[nodiscard]] std::string came_to(HealingId id) const;
  [[nodiscard]] std::string left_alone(const HealingWorld& world, std::string_view workflow) const;
  [[nodiscard]] const TargetMemory* target_memory(std::string_view target, bool rehearsed) const;
  void note_held(HealingWorld& world, Healing& healing, const BrakeVerdict& brake);
  void plan_wake(const HealingWorld& world);
  [[nodiscard]] std::optional<Duration> asked_again(const HealingWorld& world) const;
  /// Null: there is none of that name, or it stands alone.
  [[nodiscard]] const Target* target(std::string_view name) const;
  [[nodiscard]] std::string target_of(const Graph& graph, const std::string& name) const;
  [[nodiscard]] bool is_in(std::string_view target, std::string_view group) const;
  /// Calls `visit` for each healing of the target, or of one that conflicts with it.
  void visit_rivals(std::string_view target, const std::function<void(const Healing&)>& visit) const;
  Healing& add(Healing healing);
  void remove(HealingId healing);

  std::map<HealingId, Healing> healings_;
  std::unordered_map<std::string, std::vector<HealingId>> of_target_;  // by name, in lower case
  HealingMemory memory_;
  // Of the graph.
  std::vector<Target> targets_;  // but those that stand alone
  std::size_t alone_ = 0;        // how many those are
  std::vector<Group> groups_;
  std::unordered_map<std::string, std::uint32_t> target_at_;  // by name, in lower case
  std::unordered_map<std::string, std::uint32_t> group_at_;
  // Of what is under way; not saved, for it is recreated.
  std::map<HealingId, std::map<ServiceId, Duration>> confirming_;  // looks that are awaited, and since when
  std::map<ServiceId, Progress> verifying_;
  std::map<std::pair<HealingId, std::size_t>, Poll> polls_;  // by run
  std::map<HealingId, Variables> secrets_;                   // that steps have saved: never written
  /// Whether the secrets of a plan can be read.
  struct SecretCheck {
    ActionId flight{};   ///< 0: nobody is asked
    Duration asked{0};   ///< mono
    bool there = false;  ///< it was so then
  };
  std::map<HealingId, SecretCheck> secret_checks_;      // of those that are about to begin
  std::unordered_map<std::uint32_t, Duration> judged_;  // when a service was judged last, while something waits
  bool stopping_ = false;
  mutable bool counted_ = false;  // the groups, in this turn
  bool must_reevaluate_ = false;
  std::optional<Duration> consider_at_;  // mono: when all that waits is asked again
  std::optional<Duration> next_;
};

}  // namespace healer::engine
