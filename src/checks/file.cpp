// SPDX-License-Identifier: MIT
// check file NAME with path PATH: a file, its size, checksum, owner, permission and times. The sentences are those of
// Monit 5.33.
#include "checks/path_rows.hpp"
#include "engine/rules/service.hpp"

namespace healer::checks {
namespace {

constexpr std::array kSize{Quantity{.metric = Metric::Size,
                                    .words = "size",
                                    .sentence = {.matched = "size test failed for {path} -- current size is {amount}",
                                                 .succeeded = "size check succeeded [current size = {amount}]"},
                                    .event = EventKind::Size}};
constexpr auto kQuantities = joined(kPathQuantities, kSize);

/// A checksum that may be another than it should be, or than it was.
constexpr AttributeRow checksum(Attribute attribute, std::string_view words) {
  return {.attribute = attribute,
          .words = words,
          .topic = "a checksum",
          .form = Form::Checksum,
          .differs = true,
          .changes = true,
          .event = EventKind::Checksum,
          .sentence = {.failed = "checksum failed, expected {before} got {now}",
                       .succeeded = "checksum is valid",
                       .changed = "checksum changed to {now}",
                       .unchanged = "checksum has not changed"}};
}

constexpr std::array kContents{AttributeRow{.attribute = Attribute::Size,
                                            .words = "size",
                                            .topic = "a size",
                                            .form = Form::Size,
                                            .changes = true,
                                            .event = EventKind::Size,
                                            .sentence = {.changed = "size for {path} changed to {now}",
                                                         .unchanged = "size has not changed [current size = {now}]"}},
                               checksum(Attribute::Md5, "md5 checksum"), checksum(Attribute::Sha1, "sha1 checksum"),
                               checksum(Attribute::Sha256, "sha256 checksum"),
                               checksum(Attribute::Sha512, "sha512 checksum")};
constexpr auto kAttributes = joined(kPathAttributes, kContents);

constexpr std::array kSummary{Metric::Size};

/// The attributes that tests ask for.
measure::Checksums checksums_of(const ServiceBlock& block) {
  measure::Checksums wanted;
  const auto want = [&](Attribute what) {
    wanted.md5 = wanted.md5 || what == Attribute::Md5;
    wanted.sha1 = wanted.sha1 || what == Attribute::Sha1;
    wanted.sha256 = wanted.sha256 || what == Attribute::Sha256;
    wanted.sha512 = wanted.sha512 || what == Attribute::Sha512;
  };
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      if (const auto* differs = std::get_if<Differs>(&asked)) want(differs->what);
      if (const auto* changed = std::get_if<Changed>(&asked)) want(changed->what);
    }
  }
  return wanted;
}

Plan plan(const ServiceBlock& block) {
  return {
      .parts = {measure::ReadPath{
          .type = measure::PathType::File, .checksums = checksums_of(block), .lines = !block.lines->patterns.empty()}}};
}

}  // namespace

extern const CheckKind kFile;
constinit const CheckKind kFile{
    .word = "file",
    .target = Target::Path,
    .traits = {.has_lines = true},
    .quantities = kQuantities,
    .attributes = kAttributes,
    .summary = kSummary,
    .presence = true,
    .content = true,
    .tests =
        "it has tests of existence, size, checksum, content, permission, uid, gid and timestamps, as in 'if changed "
        "checksum then alert'",
    .present = "file exists",
    .absent = "file doesn't exist",
    .plan = &plan,
};

}  // namespace healer::checks
