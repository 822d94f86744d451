// SPDX-License-Identifier: MIT
// check program NAME with path "PROGRAM": a program answers, by its exit status and what it writes.
#include <algorithm>
#include <array>

#include "engine/rules/kind.hpp"
#include "engine/rules/service.hpp"

namespace healer::checks {

using namespace engine;

namespace {

constexpr std::array kQuantities{
    Quantity{.metric = Metric::Status, .words = "status", .event = EventKind::Status},
};

constexpr std::array kAttributes{
    AttributeRow{.attribute = Attribute::Status,
                 .words = "status",
                 .topic = "a status",
                 .changes = true,
                 .event = EventKind::Status},
};

Plan plan(const ServiceBlock& block) {
  const auto compares = [](const Test& test) { return std::holds_alternative<OutputChanged>(test); };
  measure::Run run;
  for (const Rule& rule : block.rules) run.output = run.output || std::ranges::any_of(rule->condition->tests, compares);
  return {.parts = {run}};
}

}  // namespace

extern const CheckKind kProgram;
constinit const CheckKind kProgram{
    .word = "program",
    .target = Target::Program,
    .traits = {.is_run = true},
    .quantities = kQuantities,
    .attributes = kAttributes,
    .content = true,
    .tests = "it has tests of its status and its content, as in 'if status != 0 then alert'",
    .needed_test = "a 'status' or 'content' test, as in 'if status != 0 then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
