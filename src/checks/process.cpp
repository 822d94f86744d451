// SPDX-License-Identifier: MIT
// check process NAME with pidfile PATH, matching "REGEX", or with program "PROGRAM" in the foreground. The sentences
// are those of Monit 5.33.
#include <array>

#include "engine/kind.hpp"
#include "engine/service.hpp"

namespace healer::checks {

using namespace engine;

namespace {

constexpr auto kQuantities = std::to_array<Quantity>({
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
    {.metric = Metric::Uptime,
     .words = "uptime",
     .sentence = {.matched = "uptime test failed for {path} -- current uptime is {value} seconds",
                  .succeeded = "uptime test succeeded [current uptime = {value} seconds]"},
     .event = EventKind::Uptime},
    {.metric = Metric::Load1,
     .words = "loadavg(1min)",
     .sentence = {"loadavg (1min) of", "loadavg (1min)", "loadavg (1min) check", "loadavg (1min)"},
     .monit_skips = true},
    {.metric = Metric::Load5,
     .words = "loadavg(5min)",
     .sentence = {"loadavg (5min) of", "loadavg (5min)", "loadavg (5min) check", "loadavg (5min)"},
     .monit_skips = true},
    {.metric = Metric::Load15,
     .words = "loadavg(15min)",
     .sentence = {"loadavg (15min) of", "loadavg (15min)", "loadavg (15min) check", "loadavg (15min)"},
     .monit_skips = true},
    {.metric = Metric::Load1PerCore,
     .words = "loadavg(1min) per core",
     .sentence = {"loadavg per core (1min) of", "loadavg per core (1min)", "loadavg per core (1min) check",
                  "loadavg per core (1min)"},
     .monit_skips = true},
    {.metric = Metric::Load5PerCore,
     .words = "loadavg(5min) per core",
     .sentence = {"loadavg per core (5min) of", "loadavg per core (5min)", "loadavg per core (5min) check",
                  "loadavg per core (5min)"},
     .monit_skips = true},
    {.metric = Metric::Load15PerCore,
     .words = "loadavg(15min) per core",
     .sentence = {"loadavg per core (15min) of", "loadavg per core (15min)", "loadavg per core (15min) check",
                  "loadavg per core (15min)"},
     .monit_skips = true},
});

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
    {Attribute::Uid,
     "uid",
     "a uid or gid",
     Form::User,
     true,
     false,
     EventKind::Uid,
     {"uid test failed for {name} -- current uid is {now}", "uid test succeeded [current uid = {now}]"}},
    {Attribute::Euid,
     "euid",
     "a uid or gid",
     Form::User,
     true,
     false,
     EventKind::Uid,
     {"euid test failed for {name} -- current euid is {now}", "euid test succeeded [current euid = {now}]"}},
    {Attribute::Gid,
     "gid",
     "a uid or gid",
     Form::Group,
     true,
     false,
     EventKind::Gid,
     {"gid test failed for {name} -- current gid is {now}", "gid test succeeded [current gid = {now}]"}},
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

bool asks_for_descendants(Metric metric) {
  return metric == Metric::TotalCpu || metric == Metric::TotalMemory || metric == Metric::TotalMemoryBytes ||
         metric == Metric::Children || metric == Metric::TotalFileDescriptors;
}

constexpr std::array kSummary{Metric::Uptime, Metric::Cpu, Metric::MemoryBytes};

Plan plan(const ServiceBlock& block) {
  measure::FindProcess find;
  for (const Rule& rule : block.rules) {
    for (const Term& term : rule.condition) {
      if (const auto* compared = std::get_if<Compare>(&term.test)) {
        find.descendants = find.descendants || asks_for_descendants(compared->what);
        find.total_descriptors = find.total_descriptors || compared->what == Metric::TotalFileDescriptors;
      }
      const auto* differs = std::get_if<Differs>(&term.test);
      find.attribute = find.attribute || (differs != nullptr && differs->what == Attribute::Security);
    }
  }
  return {.parts = {find}};
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
    .tests = "it has tests of existence, resources, uid, gid and pid, as in 'if cpu > 80% then alert'",
    .absent = "process is not running",
    .plan = &plan,
};

}  // namespace healer::checks
