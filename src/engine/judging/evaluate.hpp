// SPDX-License-Identifier: MIT
// Whether the condition of a rule holds in a run, and what a run leaves for the next one to compare with. Pure.
#pragma once

#include <optional>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/events/measure.hpp"
#include "engine/rules/comparison.hpp"
#include "engine/rules/test.hpp"
#include "engine/state.hpp"
#include "util/few.hpp"

namespace healer::engine {

struct ServiceBlock;

/// One run as its tests see it.
struct Seen {
  const Evidence& run;
  const Memory& memory;    ///< of the service, as it was before the run
  bool restarted = false;  ///< StartHistory::restarted
};

/// The process that a look has found; null where there is none. A zombie is none.
[[nodiscard]] const ProcessFacts* process_of(const Evidence& run);

/// An attribute of what was seen, if it is known: not of what is not there.
[[nodiscard]] std::optional<Value> attribute_of(const Evidence& run, Attribute what);

/// A quantity that a look has told, if it is known.
[[nodiscard]] std::optional<double> figure_of(const Facts& facts, Metric metric);
/// All of them.
[[nodiscard]] Metrics all_figures(const Facts& facts);

/// A quantity as the tests compare it, if it is known: of what is there, an uptime in whole seconds.
[[nodiscard]] std::optional<double> value_of(const Evidence& run, Metric metric);

/// What has come together in a time, if it is known.
[[nodiscard]] std::optional<double> value_of(const Evidence& run, const Total& test);

/// What came of the connection that a test asks for; null: the run was to make none.
[[nodiscard]] const ConnectionSeen* connection_of(const Evidence& run, const Reached& test);

/// Of the quantities that a test is about, the first of which it holds, else the first that is known, else the first.
[[nodiscard]] Metric deciding(const Evidence& run, const Compare& test);

/// Whether a test holds; nothing where it cannot be told.
[[nodiscard]] std::optional<bool> holds(const Test& test, const Seen& seen);

/// Whether a condition holds; nothing where it cannot be told (the process is not there, or a rate is not known yet):
/// such a run leaves the rule alone. Whether a process exists is always told. A test that cannot be told leaves the
/// condition open only where the other tests do not decide it.
[[nodiscard]] std::optional<bool> holds(const RuleCondition& condition, const Seen& seen);

/// A run in which connections failed as no name server has answered, as if nobody had tried them; none: there were
/// none.
[[nodiscard]] std::optional<Evidence> without_nameless(const Evidence& run);

/// What a filter has made of the output; null: nobody has asked.
[[nodiscard]] const ValueSeen* value_of(const Evidence& run, const Queried& test);

/// Why the rules of a unit leave its start to systemd, which is about to do it; empty: they need not.
[[nodiscard]] std::string left_to_systemd(const Evidence& run);

/// Up to where the lines of a file were read; none: nobody has read them yet.
[[nodiscard]] std::optional<ReadPosition> position_of(const Memory& memory);
/// What is remembered for a test that wants what was told at first; null: nothing yet.
[[nodiscard]] const Value* first_value(const Memory& memory, const Differs& test);
/// What a service remembers that has not run yet: only what a rule of it asks for.
[[nodiscard]] Memory fresh_memory(const ServiceBlock& block);

/// What was saved of those that a service asks for now.
[[nodiscard]] Memory restored(Memory fresh, const Memory& saved);

/// Takes a counted run into the memory, and tells what that has changed. What is not told stays as it was seen last.
Few<Baseline> remember(Memory& memory, const Evidence& run);

}  // namespace healer::engine
