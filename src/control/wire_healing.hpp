// SPDX-License-Identifier: MIT
// Of control/wire: what is said about healing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/time.hpp"

namespace healer::control {

/// A person's pause.
struct PauseView {
  std::optional<WallTime> until;  ///< none: until it is ended
  std::string by;
  std::string by_kind;
  std::string reason;
  std::string scope{};  ///< "everything", or "group NAME": what is paused; empty: the service itself

  bool operator==(const PauseView&) const = default;
};

/// What one guard or brake says to a healing.
struct BrakeView {
  std::string brake;  ///< "limit", "cooldown", "pause while", ...
  bool lets = true;
  std::string text;                ///< why not, or who has overridden it; or empty
  std::optional<Duration> left{};  ///< after so long time alone opens it; none: it does not, or that is not known

  bool operator==(const BrakeView&) const = default;
};

/// A healing that is under way or waits.
struct HealingView {
  std::uint64_t id = 0;
  std::string target;
  std::string service;   ///< whose rule asks for it, or whom a person named
  std::string workflow;  ///< that was asked for
  std::string plan;      ///< that it goes by: another after an escalation
  std::string stage;     ///< "held back", "waits for approval", "runs the guard", "under way", ...
  bool waits = false;    ///< nothing of it is done now
  std::string mode;      ///< "automatic", "approval", "dry run", "shadow"
  std::string reason;    ///< what it waits for: "limit reached: 1 of 1 running"; or empty
  std::string hint;      ///< when that ends, and what a person can do: "it can begin in 4 m"; or empty
  WallTime asked{};
  std::string by;                      ///< "rule", or the person
  std::string by_kind;                 ///< "rule", "person"
  std::string rule;                    ///< or empty
  std::uint32_t round = 0;             ///< of the try; 0: none has begun
  std::uint32_t tries = 1;             ///< that it has
  std::uint32_t step = 0;              ///< under way, counted from 1; 0: none
  std::uint32_t steps = 0;             ///< of so many
  std::string doing;                   ///< the step under way, or "guard"; or empty
  std::string waits_for;               ///< what that waits for
  std::optional<WallTime> since;       ///< when that began; of one that is held back: since when
  std::optional<Duration> left;        ///< of the step, of the cooldown, until the approval is too late
  std::uint64_t action = 0;            ///< its program under way; 0: none
  std::int64_t pid = 0;                ///< of that; 0: not known (yet), or none
  std::string failure;                 ///< why its last step, try or guard has failed; or empty
  std::vector<std::string> overrides;  ///< that a person has overridden: "limit", "cooldown", "pause"
  std::string approved_by;
  std::string cancelled_by;
  std::string abandoned{};  ///< why nothing of it follows what is under way: its target was taken away; or empty
  std::string plan_hash{};  ///< of what it is to do, so much as an approval names; empty: it waits for none
  std::vector<std::string> plan_lines{};  ///< what it is to do, where it waits for approval

  bool operator==(const HealingView&) const = default;
};

/// A `pause while` that has closed.
struct ClosedBrakeView {
  std::string workflow;
  std::string group;  ///< empty: it is the rows of `list`
  std::string list;
  double above = 0;  ///< percent
  WallTime since{};
  std::string text{};  ///< how it is now: "4 of 6 in group nodes are not well"

  bool operator==(const ClosedBrakeView&) const = default;
};

/// A breaker that is open: nothing of the workflow starts until a person resets it.
struct OpenBreakerView {
  std::string workflow;
  std::uint64_t failed = 0;            ///< healings that it has counted
  std::optional<WallTime> failed_at;   ///< the last of them
  std::vector<std::string> targets{};  ///< whose healings these were, each once, as far as they are known

  bool operator==(const OpenBreakerView&) const = default;
};

/// A target that rests after a healing: for a while, or, where that did not help, until it has recovered.
struct CooldownView {
  std::string target;
  Duration left{0};
  std::optional<Duration> probation;  ///< what is left of it; none: there is none
  std::uint64_t healing = 0;
  std::string end;  ///< how that has ended: "recovered", "failed", ...
  WallTime ended{};
  bool rehearsed = false;        ///< it was a dry run: the next one waits, no real one
  bool until_recovered = false;  ///< it did not help: rules do not heal the target again before that has recovered

  bool operator==(const CooldownView&) const = default;
};

/// The end of `healing status`: what stands in the way of all.
struct HealingHolds {
  std::string doubt;              ///< why healer heals nothing now: it doubts what it sees; or empty
  std::vector<PauseView> pauses;  ///< of everything and of groups
  std::vector<ClosedBrakeView> closed;
  std::vector<OpenBreakerView> open;
  std::vector<CooldownView> cooldowns;
  std::vector<std::string> spent{};  ///< targets that stand failed, while their rules ask for no healing any more

  bool operator==(const HealingHolds&) const = default;
};

/// What has come of the healings with one workflow, ever.
struct WorkflowReport {
  std::string workflow;
  bool known = true;  ///< it is in the rules
  std::uint64_t proposed = 0;
  std::uint64_t would_run = 0;
  std::uint64_t approved = 0;
  std::uint64_t rejected = 0;
  std::uint64_t ran = 0;
  std::uint64_t recovered = 0;
  std::uint64_t failed = 0;
  std::uint64_t abandoned = 0;

  bool operator==(const WorkflowReport&) const = default;
};

/// Of `explain`: what a rule that heals would do now.
struct HealExplanation {
  std::string workflow;
  std::string target;
  std::string mode;                    ///< how far it may go: as in HealingView
  std::string guard;                   ///< the program that is asked before a try; empty: none
  std::optional<HealingView> healing;  ///< of it, under way or held back
  bool spent = false;                  ///< the rule stands failed, and asks for no healing before it fails again
  std::vector<BrakeView> brakes;       ///< what they say to it; of one that nobody has asked for, what they would say

  bool operator==(const HealExplanation&) const = default;
};

}  // namespace healer::control
