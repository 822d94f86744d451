// SPDX-License-Identifier: MIT
// What a rule asks: its tests, and how they are joined.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/comparison.hpp"
#include "engine/metric.hpp"

namespace healer::engine {

/// `status OP N`.
struct StatusTest {
  Comparison comparison = Comparison::NotEqual;
  std::int64_t value = 0;
};

/// `changed status`: true when the status differs from that of the run before; the first run is the baseline.
struct StatusChanged {};

/// `content = "re"` / `content != "re"`: index into ProgramSpec::patterns.
struct ContentTest {
  std::uint8_t pattern = 0;
  bool negated = false;
};

/// `exist` and `not exist`: holds where the process is there, or is not. A zombie is not there.
struct ExistTest {
  bool exists = false;
};

/// `cpu > 80%`.
struct ResourceTest {
  Metric metric = Metric::Cpu;
  Comparison comparison = Comparison::Greater;
  double value = 0;
};

/// `failed uid root`: holds where the process has another one.
struct OwnerTest {
  enum class Which : std::uint8_t { Uid, Euid, Gid } which = Which::Uid;
  std::uint32_t id = 0;
};

/// `changed pid`, `changed ppid`: the first look is the baseline.
struct PidChanged {
  bool parent = false;
};

/// `failed security attribute "..."`: holds where /proc/PID/attr/current says something else.
struct AttributeTest {
  std::string attribute;
};

/// `if N restarts within M cycles`: holds in a run since whose predecessor the service was restarted, or a restart was
/// held back; N and M are the rule's tolerance.
struct RestartsTest {};

using Test = std::variant<StatusTest, StatusChanged, ContentTest, ExistTest, ResourceTest, OwnerTest, PidChanged,
                          AttributeTest, RestartsTest>;

/// One test of a condition. A condition is a flat list, an `or` of `and`s: a term with `or_before` begins a new
/// alternative; all terms of an alternative must hold. (`and` binds tighter than `or`.)
struct Term {
  Test test;
  bool or_before = false;
};

}  // namespace healer::engine
