// SPDX-License-Identifier: MIT
// The syntax tree of steps: what is written of each kind, and what NAME.cpp in this folder says of it. What a kind does
// not declare it has no need of; program, http and parallel are known to the passes themselves.
//
//   parse()         reads it; false, and the input where it was: it is another kind
//   kTexts          its texts in which values are filled in
//   check()         values that cannot be, and names that must be there: errors
//   check_place()   where it must not stand: errors
//   compile()       what the engine makes of it
//   title()         what a step is called that has no name of its own
//   written()       as the language reads it again, without name and terms
//   kChanges        it may change something
//   kVerifies       its end says that the target has recovered
//   kTellsPeople    all it does is to tell people its text
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/syntax/syntax_words.hpp"
#include "engine/healing/saving.hpp"
#include "engine/steps/step.hpp"

namespace healer::grammar {
class TokenInput;
}  // namespace healer::grammar

namespace healer::config {

namespace parsing {
struct Build;
struct WorkflowScratch;
}  // namespace parsing

class StepChecker;
struct StepPlace;

/// Where a text stands in which values are filled in.
enum class TextPlace : std::uint8_t { Argument, Environment, Directory, Url, Header, Body, BodyFile, Alert, Service };

/// One of a kind of step.
template <typename Kind>
struct FilledText {
  Word Kind::*text;
  TextPlace place;
};

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

/// `program "..."`, with what belongs to it.
struct ProgramStepSyntax {
  CommandSyntax command;
  std::vector<std::pair<Word, Word>> environment;
  Rare<Word> directory;
  std::vector<SavingSyntax> saves;

  static constexpr bool kChanges = true;
  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  /// The same of a guard, which saves nothing.
  void check_run(StepChecker& checker) const;
  [[nodiscard]] static std::string title(const engine::step::Program& step);
  [[nodiscard]] static std::string written(const engine::step::Program& step);
  /// What is written behind a command of a step, and of a guard: as whom it runs, with what and where.
  [[nodiscard]] static std::string written_options(const engine::step::Program& step);
};

struct UntilSyntax {
  HttpRequestSyntax request;
  std::vector<JsonTestSyntax> met, failed;
  Rare<Located<Duration>> every, within;
  SourceRange range;
};
/// `http METHOD "URL" ...`
struct HttpStepSyntax {
  HttpRequestSyntax request;
  std::vector<Number> expect;
  std::vector<JsonTestSyntax> expect_json;
  std::vector<SavingSyntax> saves;
  Rare<UntilSyntax> until;

  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  [[nodiscard]] engine::step::Http compile() const;
  [[nodiscard]] static std::string title(const engine::step::Http& step);
  [[nodiscard]] static std::string written(const engine::step::Http& step);
};

/// `wait D`
struct WaitStepSyntax {
  Located<Duration> length;

  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  [[nodiscard]] engine::step::Wait compile() const;
  [[nodiscard]] static std::string title(const engine::step::Wait& step);
  [[nodiscard]] static std::string written(const engine::step::Wait& step);
};

/// `start`, `stop`, `restart SERVICE`
struct BringStepSyntax {
  engine::Bringing what = engine::Bringing::Restart;
  Word service;

  static constexpr bool kChanges = true;
  static constexpr std::array<FilledText<BringStepSyntax>, 1> kTexts{{{&BringStepSyntax::service, TextPlace::Service}}};
  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  [[nodiscard]] engine::step::Bring compile() const;
  [[nodiscard]] static std::string title(const engine::step::Bring& step);
  [[nodiscard]] static std::string written(const engine::step::Bring& step);
};

/// `alert "text"`
struct TellStepSyntax {
  Word text;

  static constexpr bool kTellsPeople = true;
  static constexpr std::array<FilledText<TellStepSyntax>, 1> kTexts{{{&TellStepSyntax::text, TextPlace::Alert}}};
  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  [[nodiscard]] engine::step::Tell compile() const;
  [[nodiscard]] static std::string title(const engine::step::Tell& step);
  [[nodiscard]] static std::string written(const engine::step::Tell& step);
};

/// `recovered [or gone] within D`
struct RecoveredStepSyntax {
  Located<Duration> within;
  bool or_gone = false;

  static constexpr bool kVerifies = true;
  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  static void check_place(const StepPlace& place, StepChecker& checker);
  [[nodiscard]] engine::step::Recovered compile() const;
  [[nodiscard]] static std::string title(const engine::step::Recovered& step);
  [[nodiscard]] static std::string written(const engine::step::Recovered& step);
};

/// `heal with OTHER`
struct EscalateStepSyntax {
  Word workflow;

  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  void check(StepChecker& checker) const;
  void check_place(const StepPlace& place, StepChecker& checker) const;
  [[nodiscard]] engine::step::Escalate compile() const;
  [[nodiscard]] static std::string title(const engine::step::Escalate& step);
  [[nodiscard]] static std::string written(const engine::step::Escalate& step);
};

struct StepSyntax;
/// `parallel { ... }`, which is no kind of step to the grammar: it has neither name nor terms.
struct ParallelStepSyntax {
  std::vector<StepSyntax> steps;

  [[nodiscard]] static std::string title(const engine::step::Parallel& /*step*/) { return "parallel"; }
};

/// `note "text"`
struct NoteStepSyntax {
  Word text;

  static constexpr std::array<FilledText<NoteStepSyntax>, 1> kTexts{{{&NoteStepSyntax::text, TextPlace::Alert}}};
  static bool parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch);
  [[nodiscard]] engine::step::Note compile() const;
  [[nodiscard]] static std::string title(const engine::step::Note& step);
  [[nodiscard]] static std::string written(const engine::step::Note& step);
};

/// All kinds, in the order of engine::StepWhat, in which they are tried as well.
using StepKindSyntax = std::variant<ProgramStepSyntax, HttpStepSyntax, WaitStepSyntax, BringStepSyntax, TellStepSyntax,
                                    RecoveredStepSyntax, EscalateStepSyntax, ParallelStepSyntax, NoteStepSyntax>;

struct StepSyntax {
  Rare<Word> name;
  StepKindSyntax what;
  Rare<Located<Duration>> timeout;
  Rare<Number> retries;
  Rare<Located<Duration>> pause;
  bool repeatable = false;
  SourceRange range;
};

/// Calls `visit(step)` for each of these steps and those within them, in the order of writing.
template <typename Steps, typename Visit>
void for_each_step(Steps& steps, Visit&& visit) {
  for (auto& step : steps) {
    visit(step);
    if (auto* parallel = std::get_if<ParallelStepSyntax>(&step.what)) for_each_step(parallel->steps, visit);
  }
}

}  // namespace healer::config
