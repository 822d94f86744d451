// SPDX-License-Identifier: MIT
// check unit NAME with name "nginx.service": a unit of systemd, as systemd tells of it over D-Bus.
#include <algorithm>
#include <array>
#include <variant>

#include "checks/rows.hpp"
#include "engine/rules/service.hpp"

namespace healer::checks {
namespace {

constexpr auto kQuantities = std::to_array<Quantity>({
    {.metric = Metric::Cpu,
     .words = "cpu",
     .sentence = {"cpu usage of", "cpu usage", "cpu usage check", "cpu usage"},
     .is_part = true},
    {.metric = Metric::MemoryPercent,
     .words = "memory",
     .sentence = {"mem usage of", "mem usage", "mem usage check", "mem usage"},
     .is_part = true},
    {.metric = Metric::MemoryBytes,
     .words = "memory",
     .sentence = {"mem amount of", "mem amount", "mem amount check", "mem amount"}},
    {.metric = Metric::Tasks, .words = "tasks", .sentence = {"tasks count", "tasks", "tasks check", "tasks"}},
    {.metric = Metric::UnitRestarts,
     .words = "restarts",
     .sentence = {.matched = "restarts by systemd: {value} {sign} {limit}",
                  .succeeded = "restarts by systemd: {value}"},
     .event = EventKind::Timeout},
});

constexpr auto kAttributes = std::to_array<AttributeRow>({
    {.attribute = Attribute::UnitState,
     .words = "state",
     .topic = "the state of a unit",
     .form = Form::Text,
     .event = EventKind::Status,
     .sentence = {.failed = "state is {now}", .succeeded = "state is {now}"}},
    {.attribute = Attribute::UnitSubstate,
     .words = "substate",
     .topic = "the state of a unit",
     .form = Form::Text,
     .event = EventKind::Status,
     .sentence = {.failed = "substate is {now}", .succeeded = "substate is {now}"}},
    // `failed` and `active`.
    {.attribute = Attribute::UnitStanding,
     .words = "standing",
     .topic = "how a unit stands",
     .form = Form::Text,
     .event = EventKind::Status,
     .sentence = {.failed = "unit is {now}", .succeeded = "unit is {now}"}},
});

constexpr std::array kSummary{Metric::UnitRestarts, Metric::Cpu, Metric::MemoryBytes, Metric::Tasks};

Plan plan(const ServiceBlock& block) {
  measure::ReadUnit read;
  for (const Rule& rule : block.rules)
    for (const Test& asked : rule->condition->tests)
      if (const auto* total = std::get_if<Total>(&asked);
          total != nullptr && std::ranges::find(read.spans, total->span) == read.spans.end())
        read.spans.push_back(total->span);
  return {.parts = {std::move(read)}};
}

}  // namespace

extern const CheckKind kUnit;
constinit const CheckKind kUnit{
    .word = "unit",
    .target = Target::Unit,
    .traits = {.is_unit = true},
    .quantities = kQuantities,
    .attributes = kAttributes,
    .summary = kSummary,
    .tests =
        "it has the tests 'failed', 'active', 'state', 'substate', 'restarts', 'memory', 'tasks' and 'cpu', as in "
        "'if failed then restart'",
    .plan = &plan,
};

}  // namespace healer::checks
