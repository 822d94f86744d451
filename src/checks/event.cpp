// SPDX-License-Identifier: MIT
// check event NAME with hook "/hooks/x": other systems tell what they saw.
#include "engine/rules/kind.hpp"

namespace healer::checks {

using namespace engine;

namespace {

Plan plan_of_events(const ServiceBlock& /*block*/) { return {}; }

}  // namespace

extern const CheckKind kEvent;
constinit const CheckKind kEvent{
    .word = "event",
    .target = Target::Events,
    .traits = {.is_heard = true},
    .quantities = {},
    .attributes = {},
    .summary = {},
    .tests = "it has the tests 'json' and 'more than N events', as in 'if json '.state' = \"alarm\" then alert'",
    .needed_test = "one of the tests 'json' and 'more than N events', as in 'if json '.state' = \"alarm\" then alert'",
    .plan = &plan_of_events,
};

}  // namespace healer::checks
