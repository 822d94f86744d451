// SPDX-License-Identifier: MIT
// check row NAME: a row of the list of the `for each` around it, judged at each reading of that.
#include "engine/rules/kind.hpp"
#include "engine/rules/service.hpp"

namespace healer::checks {

using namespace engine;

namespace {

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::ReadRow{}}}; }

}  // namespace

extern const CheckKind kRow;
constinit const CheckKind kRow{
    .word = "row",
    .target = Target::Row,
    .traits = {.is_listed = true},
    .quantities = {},
    .attributes = {},
    .summary = {},
    .tests = "it has tests of its JSON, as in 'if json \'.state\' != \"up\" then alert'",
    .needed_test = "a test of its JSON, as in 'if json \'.state\' != \"up\" then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
