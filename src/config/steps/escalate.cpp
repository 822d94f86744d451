// SPDX-License-Identifier: MIT
// `heal with OTHER`.
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "config/compile/workflow.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "util/text.hpp"

namespace healer::grammar {

// clang-format off
struct escalate_name : own_name { static constexpr std::string_view kExpected = "the name of a workflow"; };
struct escalate_step : seq<text<"heal">, text<"with">, escalate_name> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool EscalateStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::escalate_step>(in, build, scratch);
  if (at) scratch.step.what = EscalateStepSyntax{build.word(at->end - 1)};
  return at.has_value();
}

void EscalateStepSyntax::check(StepChecker& checker) const { checker.workflow(workflow); }

void EscalateStepSyntax::check_place(const StepPlace& place, StepChecker& checker) const {
  if (place.is_last) return;
  checker.error(Code::WrongPlace, place.range,
                "'heal with' is not a step: it names the workflow that takes over when all tries of this one have "
                "failed",
                place.in_on_failure
                    ? "move it to the end of 'on failure'"
                    : fmt::format("write it after the steps: on failure heal with {}", printable(workflow.value)));
}

engine::step::Escalate EscalateStepSyntax::compile() const { return engine::step::Escalate{workflow.value}; }

std::string EscalateStepSyntax::title(const engine::step::Escalate& step) { return "heal with " + step.workflow; }

std::string EscalateStepSyntax::written(const engine::step::Escalate& step) {
  return "heal with " + written_name(step.workflow);
}

}  // namespace healer::config
