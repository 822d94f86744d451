// SPDX-License-Identifier: MIT
// The syntax tree of healing: workflows, limits, and what `set healing` and `set maintenance` say.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "config/steps/step_syntax.hpp"
#include "config/syntax/syntax_words.hpp"
#include "engine/rules/healing_limits.hpp"

namespace healer::config {

/// `limit 2 at once`, `limit 4 within 1 hour`, `limit 20% of group webboxes at once`.
struct HealingLimitSyntax {
  Number number;
  bool percent = false;
  Rare<Word> group;
  Rare<Located<Duration>> within;  ///< none: at once
  SourceRange range;
};

/// `more than 40% of group webboxes failed [until less than 20%]`.
struct ShareSyntax {
  Word above;  ///< as written, perhaps with a fraction
  Word group;
  Rare<Word> until;
  SourceRange range;
};

struct HealingModeSyntax {
  engine::HealingMode mode = engine::HealingMode::Automatic;
  SourceRange range;
};

struct GuardSyntax {
  ProgramStepSyntax program;
  Rare<Located<Duration>> timeout;
  bool once = false;
  SourceRange range;
};

struct BreakerSyntax {
  Number failed;
  Located<Duration> within;
};
struct ApprovalSyntax {
  Rare<Located<Duration>> within;
  bool else_run = false;
  Rare<ShareSyntax> when;
};

struct WorkflowSyntax {
  Word name;
  Rare<GuardSyntax> guard;
  std::vector<StepSyntax> steps;
  Rare<std::vector<StepSyntax>> on_failure, on_cancel;
  std::vector<HealingLimitSyntax> limits;
  std::vector<ShareSyntax> pauses;
  Rare<Located<Duration>> cooldown;
  Rare<Number> tries;
  std::vector<Number> ramp;
  Rare<Located<Duration>> probation;
  Rare<BreakerSyntax> breaker;
  Rare<ApprovalSyntax> approval;
  Rare<HealingModeSyntax> mode;
  bool broken = false;  ///< there was an error in it: nothing but its name is known
  SourceRange range;    ///< of its name and the word before it
};

// ---- set

struct SetHealingLimit {
  HealingLimitSyntax limit;
};
struct SetHealingMode {
  HealingModeSyntax mode;
};
/// `set healing only while gateway, clock`.
struct SetHealingOnlyWhile {
  std::vector<Word> services;
};
/// `set maintenance "0 2 * * sun" for 2 hours group webboxes`.
struct SetMaintenance {
  Word cron;
  Located<Duration> length;
  Rare<Word> group;
};

/// Calls `visit(step)` for each step of a workflow, also those within others, in the order of writing.
template <typename Workflow, typename Visit>
void for_each_step_of(Workflow& workflow, Visit&& visit) {
  for_each_step(workflow.steps, visit);
  if (workflow.on_failure) for_each_step(*workflow.on_failure, visit);
  if (workflow.on_cancel) for_each_step(*workflow.on_cancel, visit);
}

/// Calls `visit(program)` for each program of a workflow.
template <typename Workflow, typename Visit>
void for_each_program(Workflow& workflow, Visit&& visit) {
  if (workflow.guard) visit(workflow.guard->program);
  for_each_step_of(workflow, [&](auto& step) {
    if (auto* program = std::get_if<ProgramStepSyntax>(&step.what)) visit(*program);
  });
}

}  // namespace healer::config
