// SPDX-License-Identifier: MIT
// check composite NAME with members A, B, of group G: a service made of others, which the engine looks at itself.
#include "engine/rules/kind.hpp"

namespace healer::checks {

using namespace engine;

namespace {

Plan plan(const ServiceBlock& /*block*/) { return {}; }

}  // namespace

extern const CheckKind kComposite;
constinit const CheckKind kComposite{
    .word = "composite",
    .target = Target::Members,
    .traits = {.has_members = true},
    .quantities = {},
    .attributes = {},
    .summary = {},
    .tests = "it has tests of its members, as in 'if any member failed then alert'",
    .needed_test = "a test of its members, as in 'if any member failed then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
