// SPDX-License-Identifier: MIT
// check host NAME with address HOST: what answers there. Its tests are all of connections.
#include "engine/rules/service.hpp"

namespace healer::checks {

using namespace engine;

namespace {

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::Connect{}}}; }

}  // namespace

extern const CheckKind kHost;
constinit const CheckKind kHost{
    .word = "host",
    .target = Target::Host,
    .connections = {.ports = true, .unix_sockets = true, .pings = true},
    .tests =
        "it has tests of connections, as in 'if failed port 443 protocol https then alert' or 'if failed ping "
        "then alert'",
    .needed_test = "a test of a connection, as in 'if failed ping then alert' or 'if failed port 22 then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
