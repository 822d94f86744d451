// SPDX-License-Identifier: MIT
// `recovered within D`.
#include <string>

#include <spdlog/fmt/fmt.h>

#include "config/compile/workflow.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::grammar {

// clang-format off
struct recovered_gone : seq<text<"or">, text<"gone">> {};
struct recovered_word : text<"recovered"> {};
struct recovered_step : seq<recovered_word, opt<recovered_gone>, text<"within">, own_duration> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool RecoveredStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::recovered_step>(in, build, scratch);
  if (at)
    scratch.step.what = RecoveredStepSyntax{.within = parsing::last_duration(build, *at),
                                            .or_gone = iequals(build.text(at->begin + 1), "or")};
  return at.has_value();
}

void RecoveredStepSyntax::check(StepChecker& checker) const { checker.positive(within); }

void RecoveredStepSyntax::check_place(const StepPlace& place, StepChecker& checker) {
  if (place.in_parallel)
    checker.error(Code::WrongPlace, place.range, "'recovered' cannot be used in 'parallel'",
                  "write it after the steps that are to be done");
}

engine::step::Recovered RecoveredStepSyntax::compile() const {
  return engine::step::Recovered{.within = in_bounds(within.value), .or_gone = or_gone};
}

std::string RecoveredStepSyntax::title(const engine::step::Recovered& /*step*/) { return "recovered"; }

std::string RecoveredStepSyntax::written(const engine::step::Recovered& step) {
  return fmt::format("recovered {}within {}", step.or_gone ? "or gone " : "", config::written(step.within));
}

}  // namespace healer::config
