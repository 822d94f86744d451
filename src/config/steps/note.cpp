// SPDX-License-Identifier: MIT
// `note "text"`.
#include <string>

#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"

namespace healer::grammar {

// clang-format off
struct note_step : seq<text<"note">, own_text> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool NoteStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::note_step>(in, build, scratch);
  if (at) scratch.step.what = NoteStepSyntax{build.word(at->end - 1)};
  return at.has_value();
}

engine::step::Note NoteStepSyntax::compile() const { return engine::step::Note{text.value}; }

std::string NoteStepSyntax::title(const engine::step::Note& /*step*/) { return "note"; }

std::string NoteStepSyntax::written(const engine::step::Note& step) { return "note " + written_text(step.text); }

}  // namespace healer::config
