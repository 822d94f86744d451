// SPDX-License-Identifier: MIT
// `program "..."`. Its form and its actions are in grammar/workflow and config/syntax/parse_step, for a guard is one,
// too; who it runs as the compiler knows.
#include <algorithm>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "config/compile/workflow.hpp"
#include "config/passes/workflow_variables.hpp"
#include "config/steps/saving.hpp"
#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "config/syntax/vocabulary.hpp"
#include "util/text.hpp"

namespace healer::config {
namespace {

void check_environment(const Word& name, StepChecker& checker) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool valid = !name.value.empty() && is_letter(name.value.front()) &&
                     std::ranges::all_of(name.value, [&](char c) { return is_letter(c) || is_digit(c); });
  if (!valid)
    checker.error(Code::InvalidValue, name.range,
                  fmt::format("{} cannot be the name of an environment variable", in_quotes(name.value)),
                  "letters, digits and '_', the first no digit");
  else if (name.value.starts_with("MONIT_") || name.value.starts_with("HEALER_"))
    checker.error(Code::InvalidValue, name.range, fmt::format("{} is reserved for healer", in_quotes(name.value)),
                  "choose another name");
}

}  // namespace

bool ProgramStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  return parsing::match<grammar::program_step>(in, build, scratch);
}

void ProgramStepSyntax::check_run(StepChecker& checker) const {
  for (const std::string& argument : command.arguments)
    if (holds_secret(argument)) {
      checker.error(Code::ExposedSecret, command.range,
                    "a secret in the arguments of a program: every user of the machine may read them",
                    "write it into the environment: environment TOKEN \"${secret:NAME}\"");
      break;
    }
  if (directory && !directory->value.starts_with('/') && !holds_variable(directory->value))
    checker.error(Code::InvalidValue, directory->range,
                  fmt::format("{} is not an absolute path", in_quotes(directory->value)), "it begins with '/'");
  for (const auto& [name, value] : environment) check_environment(name, checker);
}

void ProgramStepSyntax::check(StepChecker& checker) const {
  check_run(checker);
  check_saves(saves, false, checker);
}

std::string ProgramStepSyntax::title(const engine::step::Program& step) {
  const std::string& path = step.command.arguments.front();
  return path.substr(path.rfind('/') + 1);
}

std::string ProgramStepSyntax::written_options(const engine::step::Program& step) {
  std::string text = config::written(*step.command.identity);
  for (const auto& [name, value] : step.environment)
    text += fmt::format(" environment {} {}", name, hidden_value(value));
  if (!step.directory.empty()) text += " directory " + written_text(step.directory);
  return text;
}

std::string ProgramStepSyntax::written(const engine::step::Program& step) {
  return fmt::format("program {}{}{}", config::written(step.command.arguments), written_options(step),
                     config::written(step.saves));
}

}  // namespace healer::config
