// SPDX-License-Identifier: MIT
// A healing: one target, one plan, from the firing of a rule or a person's word to its end. The same struct is what
// runs and what the journal holds, written whole at each of its turns. Where it stands is a variant (stage.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/events/act.hpp"
#include "engine/events/origin.hpp"
#include "engine/healing/brake.hpp"
#include "engine/healing/deadline.hpp"
#include "engine/healing/overrides.hpp"
#include "engine/healing/stage.hpp"
#include "engine/ids.hpp"
#include "engine/rules/workflow.hpp"
#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// Values by name, for `${NAME}` and HEALER_NAME.
using Variables = std::map<std::string, std::string, std::less<>>;

struct Settings;

/// What became of a step, for people.
struct StepOutcome {
  std::uint32_t round = 1;  ///< of the try
  std::string name;
  bool good = false;
  Duration took{0};
  std::string text;  ///< "exited with status 3 after 5 s"
  bool operator==(const StepOutcome&) const = default;
};

/// How a healing has ended.
enum class HealingEnd : std::uint8_t {
  Verified,     ///< all steps done, the target has recovered
  Done,         ///< all steps done; no step verifies
  Failed,       ///< the last try has failed, and `on failure`, if there is one, is over
  Refused,      ///< the guard let no other try go
  Cancelled,    ///< by a person
  Rejected,     ///< a person has not approved it, or nobody has in time
  Interrupted,  ///< healer could not go on with it
  Dropped,      ///< it never began: its condition stands no more
  WouldRun,     ///< a dry run
  Abandoned,    ///< its target was taken away: by a person, or by an edit of the rules
  Called        ///< it had failed, and the plan that it went on with has called a person
};
/// "recovered", "done", "failed", ..., "would have run", "abandoned", "a person was called".
[[nodiscard]] std::string_view to_string(HealingEnd end);

/// A rule that asked for a healing, or a person.
struct Trigger {
  std::string service;
  Hash128 rule;  ///< zero: a person's word

  bool operator==(const Trigger&) const = default;
};

struct Healing {
  /// In the order of the alternatives of HealingStage.
  enum class Stage : std::uint8_t {
    Held,
    Approval,
    Confirming,
    Claiming,
    Guarding,
    Stepping,
    Between,
    Failing,
    Cancelling
  };

  HealingId id;
  std::string target;                          ///< as written; compared without case
  std::string service;                         ///< whose rule it was, or whom a person named
  Hash128 rule;                                ///< zero: a person's word
  Origin by;                                   ///< a rule, or the person
  std::shared_ptr<const effect::Cause> cause;  ///< never null
  std::string workflow;                        ///< that was asked for; the plan is another's after an escalation
  std::shared_ptr<const Workflow> plan;        ///< never null: the one that it began with, or will
  bool dry_run = false;                        ///< by its rule: `heal with W dry run`
  Overrides overrides;
  std::string overridden_by{};                ///< who has overridden brakes
  std::vector<Trigger> also{};                ///< who has asked for the same since
  Variables row{};                            ///< of the `for each`, as its row was when it was asked for
  WallTime asked{};                           ///< when it was decided on
  HealingMode mode = HealingMode::Automatic;  ///< as it goes; settled when it leaves Held

  HealingStage at{};  ///< where it stands

  std::string approved_by;
  bool approved_early = false;           ///< while a brake held it: the approval lasts until that lets it go
  bool seen = false;                     ///< its groups have been judged since it was asked for
  bool refused = false;                  ///< people were told that its guard refused it
  bool notified_long = false;            ///< people were told that it waits
  std::optional<WallTime> held_since{};  ///< since when something holds it back

  std::uint32_t round = 0;  ///< of the try; 0: none has begun
  std::vector<StepOutcome> outcomes;
  Variables saved;      ///< by steps; what is secret is not in it
  WallTime begun{};     ///< when its first guard was asked, or else its first try began
  std::string failure;  ///< why its try has failed
  std::string cancelled_by;
  std::string abandoned{};    ///< why it ends as soon as what is under way has: its target was taken away
  std::uint64_t queued = 0;   ///< whose place in the queue it has taken over; 0: its own
  bool escalated = false;     ///< its plan is that of an escalation
  bool cleared = false;       ///< an event has said that all is well since it began
  bool in_probation = false;  ///< its target had been healed so just before: `on failure` is its answer
  Hash128 identity{};         ///< made once, at its birth, by identity_of(): ${HEALING} is uuid_of() of it

  [[nodiscard]] Stage stage() const { return static_cast<Stage>(at.index()); }
  /// Of a stage in which it waits; null: it does not.
  [[nodiscard]] stage::Waiting* waiting() { return part_of<stage::Waiting>(at); }
  [[nodiscard]] const stage::Waiting* waiting() const { return part_of<stage::Waiting>(at); }
  /// Of a stage in which steps are gone through; null: it is in none.
  [[nodiscard]] stage::Progress* progress() { return part_of<stage::Progress>(at); }
  [[nodiscard]] const stage::Progress* progress() const { return part_of<stage::Progress>(at); }
  /// What it waits for, for people; empty: nothing that a stage says.
  [[nodiscard]] const std::string& reason() const;
  /// The brake whose reason that is.
  [[nodiscard]] std::optional<Brake> held_by() const;
  /// Held: after a refusal; Between: the cooldown; Approval: the time for it.
  [[nodiscard]] std::optional<Deadline> not_before() const;
  /// The runs of its guard, or of the step that it is at.
  [[nodiscard]] std::span<StepRun> under_way();
  [[nodiscard]] std::span<const StepRun> under_way() const;
  /// Of the stage: what is gone through.
  [[nodiscard]] const std::vector<Step>& steps() const;
  /// The step that it is at. Requires: something of it is under way.
  [[nodiscard]] const Step& step() const { return steps()[progress()->position]; }
  /// Whether a person wants it: no rule need stand failed.
  [[nodiscard]] bool by_person() const {
    return rule == Hash128{} || std::ranges::any_of(also, [](const Trigger& one) { return one.rule == Hash128{}; });
  }
  /// Whether something was done to its target: a try has begun, of this plan or of the one before an escalation.
  [[nodiscard]] bool has_begun() const { return round > 0 || escalated; }
  /// Whether nothing of it has begun, nor is its guard asked: by the rules that are in force it may be dropped.
  [[nodiscard]] bool is_yet_to_begin() const { return stage() < Stage::Guarding && !has_begun(); }
  /// Says what it waits for: where that is a brake, its reason. Requires: it waits.
  void wait_for(std::string why, std::optional<Brake> brake = {}) {
    waiting()->reason = std::move(why);
    waiting()->held_by = brake;
  }
  /// It waits for brakes, where one of its kind does.
  void wait_with(stage::Waiting what);
  /// The same for what it waits for already; what people were asked for is asked for anew.
  void ask_anew();
  /// Whether nothing else may be done to its target.
  [[nodiscard]] bool locks() const { return !rehearses() && (stage() >= Stage::Claiming || has_begun()); }
  /// Whether it counts as one `at once`.
  [[nodiscard]] bool has_place() const { return stage() >= Stage::Claiming && stage() != Stage::Between; }
  [[nodiscard]] bool waits() const { return !has_place(); }
  /// Whether it was cancelled, and waits for a place to undo what it did.
  [[nodiscard]] bool is_to_undo() const { return waits() && !cancelled_by.empty(); }
  /// Whether nothing of it is begun any more.
  [[nodiscard]] bool is_abandoned() const { return !abandoned.empty(); }
  /// Who is older goes first.
  [[nodiscard]] std::uint64_t place_in_queue() const { return queued != 0 ? queued : id.number(); }
  /// Whether nothing of it acts on the world.
  [[nodiscard]] bool rehearses() const { return mode == HealingMode::DryRun || mode == HealingMode::Shadow; }
};
/// The most careful of all modes that apply to a healing of that plan. `dry_run`: its rule says so.
[[nodiscard]] HealingMode mode_of(const Workflow& plan, const Settings& settings, bool dry_run);
/// A group of targets, for people: "group nodes"; "list NODE" where it is the rows of a `for each`, whose group has no
/// name that can be written.
[[nodiscard]] std::string group_text(std::string_view group);
/// The variable of the list whose rows the group is; empty: it is one that is written.
[[nodiscard]] std::string_view list_of(std::string_view group);
/// "held back", "waits for approval", ..., as each stage says it.
[[nodiscard]] std::string_view to_string(Healing::Stage stage);

/// What is remembered of a target when its healing has ended.
struct TargetMemory {
  std::string target;
  bool rehearsed = false;  ///< of dry runs, which have a memory of their own
  Deadline cooldown;
  std::optional<Deadline> probation{};
  std::shared_ptr<const Workflow> plan{};  ///< whose `on failure` answers a failure in probation
  HealingId healing;
  HealingEnd end = HealingEnd::Done;
  WallTime ended{};
  bool recovered = false;  ///< since then none of the target's rules that start something stood failed, if only once
  bool operator==(const TargetMemory&) const = default;
  /// Whether it was not seen to do what it was for, and the target has not recovered since: no rule starts anything
  /// then.
  [[nodiscard]] bool in_vain() const {
    return !rehearsed && !recovered && end != HealingEnd::Verified && end != HealingEnd::WouldRun &&
           end != HealingEnd::Dropped && end != HealingEnd::Abandoned;
  }
};

/// What is remembered of a workflow.
struct WorkflowMemory {
  std::string workflow;
  /// When a try began, and of which target.
  struct Try {
    WallTime when{};
    std::string target;
    bool rehearsed = false;
    bool operator==(const Try&) const = default;
  };
  std::vector<Try> tries;             ///< the latest last: as far back as a limit looks
  std::vector<WallTime> failures;     ///< for its breaker
  std::vector<std::string> failed{};  ///< the targets of these, as far as they are known: the last ones
  bool open = false;                  ///< its breaker: nothing starts until a person resets it
  std::uint32_t ramp = 0;             ///< index of the step it is at
  std::uint32_t verified = 0;         ///< recoveries in that step
  WallTime active{};                  ///< when something was healed or held last
  /// Counts for `healing report`.
  struct Counts {
    std::uint64_t proposed = 0, would_run = 0, approved = 0, rejected = 0, ran = 0, recovered = 0, failed = 0,
                  abandoned = 0;
    bool operator==(const Counts&) const = default;
  } counts;
  bool operator==(const WorkflowMemory&) const = default;
  /// The targets whose healings its breaker has counted, each once, as far as they are known.
  [[nodiscard]] std::vector<std::string> failed_targets() const;
};

/// A `pause while` that has closed, and has not opened yet.
struct ClosedBrake {
  std::string workflow;
  std::string group;
  double above = 0;
  std::optional<double> until{};
  WallTime since{};
  bool notified = true;  ///< people know: not while all that is not well is only paused
  bool operator==(const ClosedBrake&) const = default;
};

/// All that healing keeps over a restart, beside the healings.
struct HealingMemory {
  std::vector<TargetMemory> targets;
  std::vector<WorkflowMemory> workflows;
  std::vector<ClosedBrake> closed;
  bool operator==(const HealingMemory&) const = default;
};

}  // namespace healer::engine
