// SPDX-License-Identifier: MIT
// check fifo NAME with path PATH: a named pipe, its owner, permission and times.
#include "checks/path_rows.hpp"

namespace healer::checks {
namespace {

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::ReadPath{.type = measure::PathType::Fifo}}}; }

}  // namespace

extern const CheckKind kFifo;
constinit const CheckKind kFifo{
    .word = "fifo",
    .target = Target::Path,
    .quantities = kPathQuantities,
    .attributes = kPathAttributes,
    .presence = true,
    .tests =
        "it has tests of existence, permission, uid, gid and timestamps, as in 'if failed permission 0600 then "
        "alert'",
    .present = "fifo exists",
    .absent = "fifo doesn't exist",
    .plan = &plan,
};

}  // namespace healer::checks
