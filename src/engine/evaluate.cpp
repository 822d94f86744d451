// SPDX-License-Identifier: MIT
#include "engine/evaluate.hpp"

#include <cmath>
#include <utility>

#include "engine/service.hpp"

namespace healer::engine {
namespace {

/// One test at a time, by its kind.
class Evaluation {
 public:
  explicit Evaluation(const Seen& seen) : seen_(seen) {}

  std::optional<bool> operator()(const StatusTest& test) const {
    return compare(test.comparison, seen_.run.status, test.value);
  }

  std::optional<bool> operator()(const StatusChanged& /*test*/) const {
    const auto* memory = std::get_if<ProgramMemory>(&seen_.memory);
    return memory != nullptr && memory->last_status && *memory->last_status != seen_.run.status;
  }

  std::optional<bool> operator()(const ContentTest& test) const {
    return seen_.run.outcome != Outcome::NotStarted &&
           (seen_.run.matches >> test.pattern & 1U) == (test.negated ? 0U : 1U);
  }

  std::optional<bool> operator()(const ExistTest& test) const {
    if (seen_.run.outcome == Outcome::TimedOut) return std::nullopt;  // nobody could tell
    return (process_of(seen_.run) != nullptr) == test.exists;
  }

  std::optional<bool> operator()(const ResourceTest& test) const {
    const std::optional<double> value = value_of(seen_.run, test.metric);
    return value ? std::optional(compare(test.comparison, *value, test.value)) : std::nullopt;
  }

  std::optional<bool> operator()(const OwnerTest& test) const {
    const ProcessFacts* process = process_of(seen_.run);
    if (process == nullptr) return std::nullopt;
    switch (test.which) {
      case OwnerTest::Which::Uid: return process->uid != test.id;
      case OwnerTest::Which::Euid: return process->euid != test.id;
      case OwnerTest::Which::Gid: return process->gid != test.id;
    }
    return std::nullopt;
  }

  std::optional<bool> operator()(const PidChanged& test) const {
    const ProcessFacts* process = process_of(seen_.run);
    if (process == nullptr) return std::nullopt;
    const auto* memory = std::get_if<ProcessMemory>(&seen_.memory);
    if (memory == nullptr) return false;
    return test.parent ? memory->parent && *memory->parent != process->parent
                       : memory->pid && *memory->pid != process->pid;
  }

  std::optional<bool> operator()(const AttributeTest& test) const {
    const ProcessFacts* process = process_of(seen_.run);
    return process != nullptr ? std::optional(process->attribute != test.attribute) : std::nullopt;
  }

  std::optional<bool> operator()(const RestartsTest& /*test*/) const { return seen_.restarted; }

 private:
  const Seen& seen_;
};

}  // namespace

const ProcessFacts* process_of(const Observation& run) {
  const bool there = run.facts != nullptr && run.facts->process && !run.facts->process->zombie;
  return there ? &*run.facts->process : nullptr;
}

std::optional<double> value_of(const Observation& run, Metric metric) {
  if (run.facts == nullptr || (run.facts->process && run.facts->process->zombie)) return std::nullopt;
  const std::optional<double> value = run.facts->metrics.get(metric);
  return value && unit_of(metric) == Unit::Seconds ? std::floor(*value) : value;
}

std::optional<bool> holds(const Test& test, const Seen& seen) { return std::visit(Evaluation(seen), test); }

std::optional<bool> holds(const std::vector<Term>& condition, const Seen& seen) {
  std::optional<bool> alternative = true;
  bool open = false;  // an alternative that cannot be told
  for (const Term& term : condition) {
    if (term.or_before) {
      if (alternative.value_or(false)) return true;
      open = open || !alternative;
      alternative = true;
    }
    if (alternative == false) continue;
    const std::optional<bool> here = holds(term.test, seen);
    if (here != true) alternative = here;
  }
  if (alternative.value_or(false)) return true;
  return open ? std::nullopt : alternative;
}

Memory fresh_memory(const ServiceBlock& block) {
  for (const Rule& rule : block.rules) {
    for (const Term& term : rule.condition) {
      if (std::holds_alternative<StatusChanged>(term.test)) return ProgramMemory{};
      if (std::holds_alternative<PidChanged>(term.test)) return ProcessMemory{};
    }
  }
  return {};
}

bool remember(Memory& memory, const Observation& run) {
  if (auto* program = std::get_if<ProgramMemory>(&memory))
    return std::exchange(program->last_status, run.status) != run.status;
  auto* last = std::get_if<ProcessMemory>(&memory);
  const ProcessFacts* process = process_of(run);
  if (last == nullptr || process == nullptr) return false;
  const ProcessMemory now{.pid = process->pid, .parent = process->parent};
  return std::exchange(*last, now) != now;
}

}  // namespace healer::engine
