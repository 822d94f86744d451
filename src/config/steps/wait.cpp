// SPDX-License-Identifier: MIT
// `wait D`.
#include <string>

#include "config/compile/workflow.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"

namespace healer::grammar {

// clang-format off
struct wait_step : seq<text<"wait">, own_duration> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool WaitStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::wait_step>(in, build, scratch);
  if (at) scratch.step.what = WaitStepSyntax{parsing::last_duration(build, *at)};
  return at.has_value();
}

void WaitStepSyntax::check(StepChecker& checker) const { checker.positive(length); }

engine::step::Wait WaitStepSyntax::compile() const { return engine::step::Wait{in_bounds(length.value)}; }

std::string WaitStepSyntax::title(const engine::step::Wait& step) { return "wait " + config::written(step.length); }

std::string WaitStepSyntax::written(const engine::step::Wait& step) { return "wait " + config::written(step.length); }

}  // namespace healer::config
