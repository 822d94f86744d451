// SPDX-License-Identifier: MIT
// check directory NAME with path PATH: a folder, its owner, permission and times.
#include "checks/path_rows.hpp"

namespace healer::checks {
namespace {

Plan plan(const ServiceBlock& /*block*/) {
  return {.parts = {measure::ReadPath{.type = measure::PathType::Directory}}};
}

}  // namespace

extern const CheckKind kDirectory;
constinit const CheckKind kDirectory{
    .word = "directory",
    .target = Target::Path,
    .quantities = kPathQuantities,
    .attributes = kPathAttributes,
    .presence = true,
    .tests =
        "it has tests of existence, permission, uid, gid and timestamps, as in 'if failed permission 0755 then "
        "alert'",
    .present = "directory exists",
    .absent = "directory doesn't exist",
    .plan = &plan,
};

}  // namespace healer::checks
