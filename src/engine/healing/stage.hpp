// SPDX-License-Identifier: MIT
// The stages of a healing: each with what belongs to it alone. What outlasts a stage stands beside it in Healing.
//
//   stage       leads to
//   Held        Approval, where it is wanted; Confirming; Claiming, where a person wants it; ended: dropped, refused,
//               would have run
//   Approval    Held, or Between after an escalation: approved; ended: rejected
//   Confirming  Claiming: the target fails still; Held: it does not, or something else holds it; ended: dropped
//   Claiming    Guarding, Stepping, Failing, as it was claimed for; Held, Between: denied, or something holds it again
//   Guarding    Stepping: the guard lets it go, or it was cancelled after a try; Held, Between: it does not, or
//   something
//               holds it again; ended: refused
//   Stepping    Between: a step failed, and tries are left; Failing: none is left, or it is a try for a person whose
//               target is well; Cancelling; ended: verified, done, failed
//   Between     Claiming; Approval, of another plan or where the mode has changed; ended: done, refused
//   Failing     Between: it goes on with another plan; Cancelling; ended: failed
//   Cancelling  ended: cancelled
//
// A person cancels it wherever it is; before a try has begun it ends at once. What does nothing to its target (a dry
// run, a plan that only alerts) claims nothing: it passes Claiming within the turn. One whose target is taken away ends
// as abandoned, from wherever it is, when what is under way has ended; one that has not begun is dropped. From Claiming
// on its target is locked; from then on, but for Between, it holds a place in the limits.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/healing/brake.hpp"
#include "engine/healing/deadline.hpp"
#include "engine/steps/step_run.hpp"

namespace healer::engine {

/// A secret that a step had saved is lost, as healer was restarted: that step is run again, and then it goes on here.
struct Detour {
  std::uint32_t position = 0;
  bool of_plan = false;  ///< the step is one of the plan's own, whatever the stage
  std::vector<StepRun> under_way;
  bool operator==(const Detour&) const = default;
};

namespace stage {

/// Of a stage in which it waits.
struct Waiting {
  std::string reason{};                  ///< what it waits for
  std::optional<Brake> held_by{};        ///< whose reason that is, if a brake's
  std::optional<Deadline> not_before{};  ///< when it is asked for again
  bool operator==(const Waiting&) const = default;
};

/// Of a stage in which steps are gone through.
struct Progress {
  std::uint32_t position = 0;  ///< in Healing::steps()
  std::vector<StepRun> under_way{};
  std::optional<Detour> detour{};
  bool operator==(const Progress&) const = default;
};

/// Brakes hold it, or were not asked yet.
struct Held : Waiting {
  static constexpr std::string_view kWord = "held";
  static constexpr std::string_view kText = "held back";
};

/// People are asked, until `not_before` at most.
struct Approval : Waiting {
  static constexpr std::string_view kWord = "approval";
  static constexpr std::string_view kText = "waits for approval";
};

/// Its target is checked once more.
struct Confirming {
  static constexpr std::string_view kWord = "confirming";
  static constexpr std::string_view kText = "checks the target once more";
  static inline const std::string kReason = "its target is checked once more";
  bool operator==(const Confirming&) const = default;
};

/// Lock and place are asked for.
struct Claiming {
  static constexpr std::string_view kWord = "claiming";
  static constexpr std::string_view kText = "asks for its lock and its place";
  /// What follows.
  enum class For : std::uint8_t {
    Try,        ///< what it is there for: its guard, a try; where its target failed in its probation, `on failure`
    OnFailure,  ///< of a try that is not tried again
    Undo        ///< `on cancel`
  } next = For::Try;
  bool operator==(const Claiming&) const = default;
};

/// Its guard runs.
struct Guarding {
  static constexpr std::string_view kWord = "guarding";
  static constexpr std::string_view kText = "runs the guard";
  StepRun run{};
  bool operator==(const Guarding&) const = default;
};

/// A try: the steps of the plan.
struct Stepping : Progress {
  static constexpr std::string_view kWord = "stepping";
  static constexpr std::string_view kText = "under way";
};

/// Between two tries, or between two plans: it waits for the brakes of the next one.
struct Between : Waiting {
  static constexpr std::string_view kWord = "between";
  static constexpr std::string_view kText = "waits for its next try";
};

/// `on failure`.
struct Failing : Progress {
  static constexpr std::string_view kWord = "failing";
  static constexpr std::string_view kText = "on failure";
};

/// `on cancel`.
struct Cancelling : Progress {
  static constexpr std::string_view kWord = "cancelling";
  static constexpr std::string_view kText = "on cancel";
};

}  // namespace stage

using HealingStage = std::variant<stage::Held, stage::Approval, stage::Confirming, stage::Claiming, stage::Guarding,
                                  stage::Stepping, stage::Between, stage::Failing, stage::Cancelling>;

/// What all stages of a sort have; null: it is none of them.
template <typename Sort, typename Stage>
[[nodiscard]] auto* part_of(Stage& stage) {
  using Part = std::conditional_t<std::is_const_v<Stage>, const Sort, Sort>;
  return std::visit(
      []<typename One>(One& one) -> Part* {
        if constexpr (std::derived_from<std::remove_const_t<One>, Sort>)
          return &one;
        else
          return nullptr;
      },
      stage);
}

}  // namespace healer::engine
