// SPDX-License-Identifier: MIT
// `start`, `stop`, `restart SERVICE`.
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
struct brought_name : own_name { static constexpr std::string_view kExpected = "the name of a service"; };
struct bring_word   : text<"start", "stop", "restart"> {};
struct bring_step   : seq<bring_word, brought_name, star<attempt_option>> {};
// clang-format on

}  // namespace healer::grammar

namespace healer::config {

bool BringStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  const auto at = parsing::match_tokens<grammar::bring_step>(in, build, scratch);
  if (!at) return false;
  const std::string word = to_lower(build.text(at->begin));
  scratch.step.what = BringStepSyntax{.what = word == "start"  ? engine::Bringing::Start
                                              : word == "stop" ? engine::Bringing::Stop
                                                               : engine::Bringing::Restart,
                                      .service = build.word(at->begin + 1)};
  return true;
}

void BringStepSyntax::check(StepChecker& checker) const { checker.service(service); }

engine::step::Bring BringStepSyntax::compile() const {
  return engine::step::Bring{.what = what, .service = service.value};
}

std::string BringStepSyntax::title(const engine::step::Bring& step) {
  return fmt::format("{} {}", verb(step.what), step.service);
}

std::string BringStepSyntax::written(const engine::step::Bring& step) {
  return fmt::format("{} {}", verb(step.what), written_name(step.service));
}

}  // namespace healer::config
