// SPDX-License-Identifier: MIT
// Healing: who is healed, when, and how far each healing has come. Pure, as the engine that it is a part of: what it
// learns is told by the calls, what it does goes through HealingWorld.
//
// Owns    the way of each healing from stage to stage, and the parts in engine/healing/parts, each of which owns the
//         rest that it is named for and never calls back.
// Hears   what rules and people want healed; runs, programs, answers, jobs; that what holds healings back may have
//         changed.
// Tells   what HealingWorld says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/event_names.hpp"
#include "engine/healing/healing.hpp"
#include "engine/healing/parts/askers.hpp"
#include "engine/healing/parts/brakes.hpp"
#include "engine/healing/parts/census.hpp"
#include "engine/healing/parts/claims.hpp"
#include "engine/healing/parts/closed_brakes.hpp"
#include "engine/healing/parts/confirmations.hpp"
#include "engine/healing/parts/memories.hpp"
#include "engine/healing/parts/recoveries.hpp"
#include "engine/healing/parts/requests.hpp"
#include "engine/healing/parts/running.hpp"
#include "engine/healing/parts/secrets.hpp"
#include "engine/healing/parts/targets.hpp"
#include "engine/healing/parts/waking.hpp"
#include "engine/healing/world.hpp"
#include "engine/state.hpp"

namespace healer::engine {

struct HealOrder;
struct Rule;
struct SavedState;

/// Of a program whose end nobody saw.
inline constexpr std::string_view kCutOff = "was cut off when healer ended, and may be half done";

/// How a program of a step has ended.
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

  // ---- view
  [[nodiscard]] bool idle() const { return running_.empty(); }
  [[nodiscard]] const std::map<HealingId, Healing>& all() const { return running_.all(); }
  [[nodiscard]] const TargetIndex& targets() const { return targets_; }
  [[nodiscard]] const Brakes& brakes() const { return brakes_; }
  [[nodiscard]] const Recoveries& recoveries() const { return recoveries_; }
  [[nodiscard]] const Askers& askers() const { return askers_; }
  [[nodiscard]] HealingMemoryView memory() const {
    return {.targets = memories_.targets(), .workflows = memories_.workflows(), .closed = closed_.all()};
  }
  /// The mono time at which wake() is wanted.
  [[nodiscard]] std::optional<Duration> next() const { return waking_.next(); }
  /// As Brakes::rests().
  [[nodiscard]] bool rests(std::string_view target, Instant now) const { return brakes_.rests(target, now); }
  /// Whether runs of services are to be told to checked().
  [[nodiscard]] bool follows_runs() const { return !running_.empty() || !memories_.targets().empty(); }

  // ---- life
  /// The services have changed: who is a target, and in which groups.
  void index(const Graph& graph);
  /// Goes on with what an earlier daemon has left: `found`, but for the healings. `lives`: whether a program is still
  /// known, and its end will be told.
  void resume(HealingWorld& world, const SavedState& found, const std::set<ActionId>& lives);
  /// The daemon is about to end: from now on nothing begins, and nobody asks whether what was begun is done.
  void stop(HealingWorld& world);
  /// The new rules are in force: what waits is judged again by them. `taken`: by taken_by().
  void reloaded(HealingWorld& world, const std::set<HealingId>& taken);

  // ---- what it hears
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
  /// A healing has the lock and the place that it has asked for; `denied`: others hold them, and it waits again.
  void claimed(HealingWorld& world, HealingId healing, std::uint64_t claim, std::optional<BrakeVerdict> denied = {});
  /// What world.bring() was to do is done, or has failed.
  void brought(HealingWorld& world, HealingId healing, std::size_t run, StepEnd how, const std::string& text);
  /// A rule of the service that stood failed does so no more.
  void recovered(HealingWorld& world, ServiceId service);
  /// The condition of a rule of a `check event` does not stand for that target any more. `lapsed`: why, where no event
  /// has said that all is well; what has not begun is dropped then, and people are told.
  void unsettled(HealingWorld& world, const Trigger& trigger, const std::string& target, const std::string& lapsed);
  /// What is under way goes on. Whether wake_waiting() is to follow, when what that has told was heard.
  [[nodiscard]] bool wake(HealingWorld& world);
  /// What waits may begin.
  void wake_waiting(HealingWorld& world);

  // ---- the words of people. What came of them, or why not: `good` says which.
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

 private:
  // start (healings_start.cpp)
  Asked join(HealingWorld& world, Healing& healing, const Trigger& trigger, const Origin& by, Overrides overrides);
  void consider(HealingWorld& world);
  bool consider(HealingWorld& world, Healing& healing);
  bool consider_place(HealingWorld& world, Healing& healing);
  bool wait_again(HealingWorld& world, Healing& healing);
  void confirmed(HealingWorld& world, Healing& healing);
  void claim(HealingWorld& world, Healing& healing, stage::Claiming::For next);
  void take(HealingWorld& world, Healing& healing, stage::Claiming::For next);
  bool judge_anew(HealingWorld& world, Healing& healing);

  // approval (healings_approval.cpp)
  void ask_for_approval(HealingWorld& world, Healing& healing);
  bool await_approval(HealingWorld& world, Healing& healing, const std::optional<BrakeVerdict>& brake);
  void ask_for_another_plan(HealingWorld& world, Healing& healing);

  // whose target was taken away (healings_abandon.cpp)
  [[nodiscard]] std::string abandon(HealingWorld& world, Healing& healing, const std::string& why);
  void end_abandoned(HealingWorld& world, Healing& healing);

  // steps (healings_steps.cpp)
  /// `doubts`: how often it was begun before, and nobody saw its end.
  void begin_guard(HealingWorld& world, Healing& healing, std::uint32_t doubts = 0);
  void guard_ended(HealingWorld& world, Healing& healing, const ProgramEnd& end);
  void refuse(HealingWorld& world, Healing& healing, const std::string& by, const std::string& why,
              std::string_view output);
  void begin_try(HealingWorld& world, Healing& healing);
  void go_on(HealingWorld& world, Healing& healing);
  void begin_step(HealingWorld& world, Healing& healing, const Step& step, StepRun& run);
  void escalate(HealingWorld& world, Healing& healing, const std::shared_ptr<const Workflow>& plan);
  void try_failed(HealingWorld& world, Healing& healing);
  void give_up(HealingWorld& world, Healing& healing);
  void end_others(HealingWorld& world, Healing& healing);
  void verify(HealingWorld& world, Healing& healing);
  void verify_all(HealingWorld& world);

  // the end (healings_end.cpp)
  void end(HealingWorld& world, Healing& healing, HealingEnd how, const std::string& why);

  RunningHealings running_;
  TargetIndex targets_;
  Census census_;
  HealingMemories memories_;
  ClosedBrakes closed_;
  Brakes brakes_;
  Confirmations confirmations_;
  Claims claims_;
  Recoveries recoveries_;
  HealingSecrets secrets_;
  StepRequests requests_;
  Askers askers_;
  WakeTimes waking_;
  bool stopping_ = false;
};

}  // namespace healer::engine
