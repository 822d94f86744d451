// SPDX-License-Identifier: MIT
// `program "..."`: its form and its actions are in grammar/workflow and config/syntax/parse_step, for a guard is one,
// too.
#include <string>

#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"

namespace healer::config {

bool ProgramStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  return parsing::match<grammar::program_step>(in, build, scratch);
}

std::string ProgramStepSyntax::title(const engine::step::Program& step) {
  const std::string& path = step.command.arguments.front();
  return path.substr(path.rfind('/') + 1);
}

}  // namespace healer::config
