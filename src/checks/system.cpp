// SPDX-License-Identifier: MIT
// check system NAME: the machine itself. The sentences are those of Monit 5.33.
#include <array>

#include "checks/rows.hpp"

namespace healer::checks {
namespace {

constexpr auto kOwn = std::to_array<Quantity>({
    {.metric = Metric::SystemCpu,
     .words = "cpu",
     .sentence = {"cpu usage of", "cpu usage", "cpu usage check", "cpu usage"},
     .is_part = true},
    {.metric = Metric::CpuUser,
     .words = "cpu(user)",
     .sentence = {"cpu user usage of", "cpu user usage", "cpu user usage check", "cpu user usage"},
     .is_part = true},
    {.metric = Metric::CpuSystem,
     .words = "cpu(system)",
     .sentence = {"cpu system usage of", "cpu system usage", "cpu system usage check", "cpu system usage"},
     .is_part = true},
    {.metric = Metric::CpuNice,
     .words = "cpu(nice)",
     .sentence = {"cpu nice usage of", "cpu nice usage", "cpu nice usage check", "cpu nice usage"},
     .is_part = true},
    {.metric = Metric::CpuWait,
     .words = "cpu(wait)",
     .sentence = {"cpu I/O wait of", "cpu I/O wait", "cpu I/O wait check", "cpu I/O wait"},
     .is_part = true},
    {.metric = Metric::CpuHardIrq,
     .words = "cpu(hardirq)",
     .sentence = {"cpu hardware IRQ usage of", "cpu hardware IRQ usage", "cpu hardware IRQ usage check",
                  "cpu hardware IRQ usage"},
     .is_part = true},
    {.metric = Metric::CpuSoftIrq,
     .words = "cpu(softirq)",
     .sentence = {"cpu software IRQ usage of", "cpu software IRQ usage", "cpu software IRQ usage check",
                  "cpu software IRQ usage"},
     .is_part = true},
    {.metric = Metric::CpuSteal,
     .words = "cpu(steal)",
     .sentence = {"cpu steal usage of", "cpu steal usage", "cpu steal usage check", "cpu steal usage"},
     .is_part = true},
    {.metric = Metric::CpuGuest,
     .words = "cpu(guest)",
     .sentence = {"cpu guest usage of", "cpu guest usage", "cpu guest usage check", "cpu guest usage"},
     .is_part = true},
    {.metric = Metric::CpuGuestNice,
     .words = "cpu(guestnice)",
     .sentence = {"cpu guest nice usage of", "cpu guest nice usage", "cpu guest nice usage check",
                  "cpu guest nice usage"},
     .is_part = true},
    {.metric = Metric::SystemMemory,
     .words = "memory",
     .sentence = {"mem usage of", "mem usage", "mem usage check", "mem usage"},
     .is_part = true},
    {.metric = Metric::SystemMemoryBytes,
     .words = "memory",
     .sentence = {"mem amount of", "mem amount", "mem amount check", "mem amount"}},
    {.metric = Metric::Swap,
     .words = "swap",
     .sentence = {"swap usage of", "swap usage", "swap usage check", "swap usage"},
     .is_part = true},
    {.metric = Metric::SwapBytes,
     .words = "swap",
     .sentence = {"swap amount of", "swap amount", "swap amount check", "swap amount"}},
    {.metric = Metric::PageIns,
     .words = "pagein",
     .sentence = {.matched = "swap pagein {value} per second matches resource limit [pagein {sign} {limit} per second]",
                  .succeeded = "swap pagein check succeeded [current pagein = {value} per second]"}},
    {.metric = Metric::PageOuts,
     .words = "pageout",
     .sentence = {.matched =
                      "swap pageout {value} per second matches resource limit [pageout {sign} {limit} per second]",
                  .succeeded = "swap pageout check succeeded [current pageout = {value} per second]"}},
    kUptime,
    {.metric = Metric::SystemFileDescriptors,
     .words = "filedescriptors",
     .sentence = {"filedescriptors usage of", "filedescriptors", "filedescriptors test", "filedescriptors usage"}},
    {.metric = Metric::SystemFileDescriptorsPercent,
     .words = "filedescriptors",
     .sentence = {"filedescriptors usage of", "filedescriptors", "filedescriptors usage test",
                  "filedescriptors usage"}},
});
constexpr auto kQuantities = joined(kLoads, kOwn);

constexpr std::array kSummary{Metric::Load1, Metric::SystemCpu, Metric::SystemMemory};

Plan plan(const ServiceBlock& /*block*/) { return {.parts = {measure::ReadSystem{}}}; }

}  // namespace

extern const CheckKind kSystem;
constinit const CheckKind kSystem{
    .word = "system",
    .traits = {.is_machine = true},
    .quantities = kQuantities,
    .summary = kSummary,
    .tests = "it has tests of resources, as in 'if loadavg(5min) > 4 then alert'",
    .plan = &plan,
};

}  // namespace healer::checks
