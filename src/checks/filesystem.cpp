// SPDX-License-Identifier: MIT
// check filesystem NAME with path WHAT: space, inodes and the device of what is mounted. The sentences are those of
// Monit 5.33.
#include "checks/path_rows.hpp"

namespace healer::checks {
namespace {

/// A part of the whole, in percent and as it is counted.
constexpr Quantity part(Metric metric, std::string_view words, std::string_view test, bool percent) {
  return {.metric = metric, .words = words, .sentence = {words, words, test, words}, .is_part = percent};
}

/// What the device does in a second.
constexpr Quantity rate(Metric metric, std::string_view words, std::string_view matched, std::string_view test) {
  return {.metric = metric, .words = words, .sentence = {matched, words, test, words}};
}

constexpr std::array kQuantities{
    part(Metric::SpaceUsage, "space usage", "space usage test", true),
    part(Metric::SpaceUsageBytes, "space usage", "space usage test", false),
    part(Metric::SpaceFree, "space free", "space free test", true),
    part(Metric::SpaceFreeBytes, "space free", "space free test", false),
    part(Metric::InodeUsage, "inode usage", "inode usage test", true),
    part(Metric::InodeUsageNumber, "inode usage", "inode usage test", false),
    part(Metric::InodeFree, "inode free", "inode free test", true),
    part(Metric::InodeFreeNumber, "inode free", "inode free test", false),
    rate(Metric::ReadRate, "read", "read rate", "read rate test"),
    rate(Metric::ReadOperations, "read", "read rate", "read rate test"),
    rate(Metric::WriteRate, "write", "write rate", "write rate test"),
    rate(Metric::WriteOperations, "write", "write rate", "write rate test"),
    part(Metric::ServiceTime, "service time", "service time test", false),
};

constexpr std::array kFlags{
    AttributeRow{.attribute = Attribute::FsFlags,
                 .words = "fsflags",
                 .topic = "filesystem flags",
                 .form = Form::Text,
                 .changes = true,
                 .event = EventKind::FsFlags,
                 .sentence = {.changed = "filesystem flags changed from '{before}' to '{now}'",
                              .unchanged = "filesystem flags has not changed [current flags '{now}']"},
                 .alerts_on_change = true}};
constexpr auto kAttributes = joined(kOwnerAttributes, kFlags);

constexpr std::array kSummary{Metric::SpaceUsage, Metric::InodeUsage};

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::ReadFilesystem{}}}; }

}  // namespace

extern const CheckKind kFilesystem;
constinit const CheckKind kFilesystem{
    .word = "filesystem",
    .target = Target::Path,
    .quantities = kQuantities,
    .attributes = kAttributes,
    .summary = kSummary,
    .presence = true,
    .tests =
        "it has tests of space, inodes, filesystem flags, what is read and written, service time, existence, "
        "permission, uid and gid, as in 'if space usage > 80% then alert'",
    .present = "filesystem '{path}' exists",
    .returned = "succeeded getting filesystem statistics for '{path}'",
    .absent = "unable to read filesystem '{path}' state",
    .plan = &plan,
};

}  // namespace healer::checks
