// SPDX-License-Identifier: MIT
// `http METHOD "URL" ...`: its form and its actions are in grammar/workflow and config/syntax/parse_step, for lists
// make requests, too.
#include <string>

#include "config/steps/step_syntax.hpp"
#include "config/syntax/parse_step.hpp"
#include "util/text.hpp"

namespace healer::config {

bool HttpStepSyntax::parse(grammar::TokenInput& in, parsing::Build& build, parsing::WorkflowScratch& scratch) {
  return parsing::match<grammar::http_step>(in, build, scratch);
}

std::string HttpStepSyntax::title(const engine::step::Http& step) { return "http " + to_lower(step.request.method); }

}  // namespace healer::config
