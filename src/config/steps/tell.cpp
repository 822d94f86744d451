// SPDX-License-Identifier: MIT
// `alert "text"`.
#include <string>

#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"

namespace healer::grammar {

// clang-format off
struct tell_step : seq<text<"alert">, own_text> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool TellStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::tell_step>(in, build, scratch);
  if (at) scratch.step.what = TellStepSyntax{build.word(at->end - 1)};
  return at.has_value();
}

engine::step::Tell TellStepSyntax::compile() const { return engine::step::Tell{text.value}; }

std::string TellStepSyntax::title(const engine::step::Tell& /*step*/) { return "alert"; }

std::string TellStepSyntax::written(const engine::step::Tell& step) { return "alert " + written_text(step.text); }

}  // namespace healer::config
