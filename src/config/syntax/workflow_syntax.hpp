// SPDX-License-Identifier: MIT
// The syntax tree of healing: workflows, limits, and what `set healing` and `set maintenance` say.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "config/syntax/syntax_words.hpp"
#include "engine/healing/saving.hpp"
#include "engine/rules/healing_limits.hpp"
#include "engine/steps/bring.hpp"

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

// ---- steps

struct SavingSyntax {
  engine::Saving::From from = engine::Saving::From::Regex;
  Word what;
  Word name;
  bool secret = false;
};
struct JsonTestSyntax {
  Word filter;
  ComparisonWord comparison = ComparisonWord::Equal;
  Word value;
  bool quoted = false;
};
struct HttpRequestSyntax {
  Word method;  ///< in capitals
  Word url;
  Rare<Word> user, password;  ///< HTTP Basic; both or none
  std::vector<Word> headers;
  Rare<Word> body, body_file;
  bool follow = false;
  bool insecure = false;
  Rare<Located<std::uint64_t>> limit;  ///< bytes
};

struct ProgramStepSyntax {
  CommandSyntax command;
  std::vector<std::pair<Word, Word>> environment;
  Rare<Word> directory;
  std::vector<SavingSyntax> saves;
};
struct UntilSyntax {
  HttpRequestSyntax request;
  std::vector<JsonTestSyntax> met, failed;
  Rare<Located<Duration>> every, within;
  SourceRange range;
};
struct HttpStepSyntax {
  HttpRequestSyntax request;
  std::vector<Number> expect;
  std::vector<JsonTestSyntax> expect_json;
  std::vector<SavingSyntax> saves;
  Rare<UntilSyntax> until;
};
struct WaitStepSyntax {
  Located<Duration> length;
};
struct BringStepSyntax {
  engine::Bringing what = engine::Bringing::Restart;
  Word service;
};
struct TellStepSyntax {
  Word text;
};
struct RecoveredStepSyntax {
  Located<Duration> within;
  bool or_gone = false;
};
struct EscalateStepSyntax {
  Word workflow;
};
struct StepSyntax;
struct ParallelStepSyntax {
  std::vector<StepSyntax> steps;
};
struct StepSyntax {
  Rare<Word> name;
  std::variant<ProgramStepSyntax, HttpStepSyntax, WaitStepSyntax, BringStepSyntax, TellStepSyntax, RecoveredStepSyntax,
               EscalateStepSyntax, ParallelStepSyntax>
      what;
  Rare<Located<Duration>> timeout;
  Rare<Number> retries;
  Rare<Located<Duration>> pause;
  bool repeatable = false;
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

/// Calls `visit(step)` for each of these steps and those within them, in the order of writing.
template <typename Steps, typename Visit>
void for_each_step(Steps& steps, Visit&& visit) {
  for (auto& step : steps) {
    visit(step);
    if (auto* parallel = std::get_if<ParallelStepSyntax>(&step.what)) for_each_step(parallel->steps, visit);
  }
}

/// The same for all steps of a workflow.
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
