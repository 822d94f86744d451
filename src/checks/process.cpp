// SPDX-License-Identifier: MIT
// check process NAME with pidfile PATH, matching "REGEX", or with program "PROGRAM" in the foreground. The sentences
// are those of Monit 5.33.
#include <algorithm>
#include <array>

#include "checks/rows.hpp"
#include "engine/rules/service.hpp"

namespace healer::checks {
namespace {

constexpr auto kOwn = std::to_array<Quantity>({
    {.metric = Metric::Cpu,
     .words = "cpu",
     .sentence = {"cpu usage of", "cpu usage", "cpu usage check", "cpu usage"},
     .is_part = true},
    {.metric = Metric::TotalCpu,
     .words = "total cpu",
     .sentence = {"total cpu usage of", "cpu usage", "total cpu usage check", "cpu usage"}},
    {.metric = Metric::MemoryPercent,
     .words = "memory",
     .sentence = {"mem usage of", "mem usage", "mem usage check", "mem usage"},
     .is_part = true},
    {.metric = Metric::MemoryBytes,
     .words = "memory",
     .sentence = {"mem amount of", "mem amount", "mem amount check", "mem amount"}},
    {.metric = Metric::TotalMemory,
     .words = "total memory",
     .sentence = {"total mem amount of", "total mem amount", "total mem amount check", "total mem amount"}},
    {.metric = Metric::TotalMemoryBytes,
     .words = "total memory",
     .sentence = {"total mem amount of", "total mem amount", "total mem amount check", "total mem amount"}},
    {.metric = Metric::Children,
     .words = "children",
     .sentence = {"children count", "children", "children check", "children"}},
    {.metric = Metric::ChildrenCpu,
     .words = "children cpu",
     .sentence = {"cpu usage of children", "children cpu usage", "children cpu usage check", "children cpu usage"}},
    {.metric = Metric::ChildrenMemory,
     .words = "children memory",
     .sentence = {"mem usage of children", "children mem usage", "children mem usage check", "children mem usage"}},
    {.metric = Metric::ChildrenMemoryBytes,
     .words = "children memory",
     .sentence = {"mem amount of children", "children mem amount", "children mem amount check", "children mem amount"}},
    {.metric = Metric::ExitStatus,
     .words = "status",
     .sentence = {"exit status", "status", "exit status check", "exit status"},
     .event = EventKind::Status},
    {.metric = Metric::Threads,
     .words = "threads",
     .sentence = {"threads count", "threads", "threads check", "threads"}},
    {.metric = Metric::FileDescriptors,
     .words = "filedescriptors",
     .sentence = {"filedescriptors usage of", "filedescriptors", "filedescriptors test", "filedescriptors usage"}},
    {.metric = Metric::FileDescriptorsPercent,
     .words = "filedescriptors",
     .sentence = {"filedescriptors usage of", "filedescriptors", "filedescriptors usage test",
                  "filedescriptors usage"}},
    {.metric = Metric::TotalFileDescriptors,
     .words = "total filedescriptors",
     .sentence = {"total  filedescriptors usage of", "filedescriptors", "total filedescriptors usage test",
                  "filedescriptors usage"}},
    {.metric = Metric::ReadRate, .words = "read", .sentence = {"read rate", "read", "read rate test", "read"}},
    {.metric = Metric::DiskReadRate,
     .words = "disk read",
     .sentence = {"physical read activity", "read", "physical read activity test", "read"}},
    {.metric = Metric::ReadOperations,
     .words = "disk read",
     .sentence = {"read rate", "read", "read rate test", "read"}},
    {.metric = Metric::WriteRate, .words = "write", .sentence = {"write rate", "write", "write rate test", "write"}},
    {.metric = Metric::DiskWriteRate,
     .words = "disk write",
     .sentence = {"physical write activity", "write", "physical write activity test", "write"}},
    {.metric = Metric::WriteOperations,
     .words = "disk write",
     .sentence = {"write rate", "write", "write rate test", "write"}},
    kUptime,
});
constexpr auto kQuantities = joined(kOwn, kLoads);

constexpr auto kAttributes = std::to_array<AttributeRow>({
    {Attribute::Pid,
     "pid",
     "a pid",
     Form::Number,
     false,
     true,
     EventKind::Pid,
     {.changed = "process PID changed from {before} to {now}",
      .unchanged = "process PID has not changed since last cycle"}},
    {Attribute::Parent,
     "ppid",
     "a pid",
     Form::Number,
     false,
     true,
     EventKind::Ppid,
     {.changed = "process PPID changed from {before} to {now}",
      .unchanged = "process PPID has not changed since last cycle"}},
    kUid,
    {Attribute::Euid,
     "euid",
     "a uid or gid",
     Form::User,
     true,
     false,
     EventKind::Uid,
     {"euid test failed for {name} -- current euid is {now}", "euid test succeeded [current euid = {now}]"}},
    kGid,
    {Attribute::Security,
     "security attribute",
     "a security attribute",
     Form::Text,
     true,
     false,
     EventKind::Invalid,
     {"Security attribute test failed for {name} -- current attribute is '{now}'",
      "Security attribute test succeeded [current attribute = '{now}']"}},
});

bool is_of_children(Metric metric) {
  return metric == Metric::ChildrenCpu || metric == Metric::ChildrenMemory || metric == Metric::ChildrenMemoryBytes;
}

bool asks_for_descendants(Metric metric) {
  return is_of_children(metric) || metric == Metric::TotalCpu || metric == Metric::TotalMemory ||
         metric == Metric::TotalMemoryBytes || metric == Metric::Children || metric == Metric::TotalFileDescriptors;
}

bool is_of_owner(Attribute what) { return what == Attribute::Uid || what == Attribute::Euid || what == Attribute::Gid; }

constexpr std::array kSummary{Metric::Uptime, Metric::Cpu, Metric::MemoryBytes};

/// How long connections are left in peace after a start, by whomever: as in Monit, the timeout of the start program.
Duration rest_of(const ServiceBlock& block) {
  if (block.programs->start) return block.programs->start->timeout;
  return block.foreground() ? block.process->foreground->ready_after : Duration{0};
}

Plan plan(const ServiceBlock& block) {
  measure::FindProcess find;
  const auto compares = [&find, &block](Metric what) {
    find.descendants = find.descendants || asks_for_descendants(what);
    find.of_children = find.of_children || is_of_children(what);
    find.total_descriptors = find.total_descriptors || what == Metric::TotalFileDescriptors;
    find.descriptors = find.descriptors || is_of_descriptors(what) || what == Metric::TotalFileDescriptors;
    find.transfers = find.transfers || is_of_transfers(what);
    find.load = find.load || unit_of(what) == Unit::Load;
    find.memory =
        find.memory || (block.shares_memory &&
                        (is_of_memory(what) || what == Metric::TotalMemory || what == Metric::TotalMemoryBytes ||
                         what == Metric::ChildrenMemory || what == Metric::ChildrenMemoryBytes));
  };
  for (const Rule& rule : block.rules) {
    for (const Test& asked : rule->condition->tests) {
      if (const auto* compared = std::get_if<Compare>(&asked)) {
        compares(compared->what);
        std::ranges::for_each(*compared->also, compares);
      }
      const auto* differs = std::get_if<Differs>(&asked);
      const auto* changed = std::get_if<Changed>(&asked);
      const auto* worded = std::get_if<Worded>(&asked);
      find.attribute = find.attribute || (worded != nullptr && worded->what == Attribute::Security);
      find.attribute = find.attribute || (differs != nullptr && differs->what == Attribute::Security);
      find.owner =
          find.owner || (differs != nullptr && is_of_owner(differs->what)) ||
          (changed != nullptr && (is_of_owner(changed->what) || (changed->also && is_of_owner(*changed->also))));
    }
  }
  Plan plan{.parts = {find}};
  if (!block.probes.empty()) plan.parts.emplace_back(measure::Connect{.rest = rest_of(block)});
  return plan;
}

}  // namespace

extern const CheckKind kProcess;
constinit const CheckKind kProcess{
    .word = "process",
    .target = Target::Process,
    .traits = {.has_process = true},
    .quantities = kQuantities,
    .attributes = kAttributes,
    .summary = kSummary,
    .presence = true,
    .connections = {.ports = true, .unix_sockets = true},
    .tests = "it has tests of existence, resources, uid, gid and pid, as in 'if cpu > 80% then alert'",
    .absent = "process is not running",
    .plan = &plan,
};

}  // namespace healer::checks
