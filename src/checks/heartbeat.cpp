// SPDX-License-Identifier: MIT
// check heartbeat NAME every D within D: others tell that they live, or that something was done.
#include <array>

#include "engine/rules/kind.hpp"

namespace healer::checks {

using namespace engine;

namespace {

constexpr std::array kQuantities{
    Quantity{.metric = Metric::RunTime,
             .words = "duration",
             .sentence = {.matched = "its run takes {lasting} (limit {sign} {most})",
                          .limit = {},
                          .succeeded = "its run takes {lasting}",
                          .current = {}},
             .shown = "run time"},
};
constexpr std::array kSummary{Metric::RunTime};

Plan plan(const ServiceBlock& /*block*/) { return {}; }

}  // namespace

extern const CheckKind kHeartbeat;
constinit const CheckKind kHeartbeat{
    .word = "heartbeat",
    .target = Target::Heartbeat,
    .traits = {.is_heard = true},
    .quantities = kQuantities,
    .attributes = {},
    .summary = kSummary,
    .tests = "it has the tests 'missed', 'failed' and 'duration', as in 'if missed then alert'",
    .needed_test = "one of the tests 'missed', 'failed' and 'duration', as in 'if missed then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
