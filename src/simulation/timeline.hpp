// SPDX-License-Identifier: MIT
// What the entries of a timeline say. Private to the simulator.
#pragma once

#include <string>

#include "engine/events/record.hpp"
#include "engine/rules/rule.hpp"
#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What a rule had counted when it was recorded so, at `now` (mono): "3 of the last 3 runs failed". Empty where nothing
/// was counted. `before`: its state before the run.
[[nodiscard]] std::string counters_of(RecordKind kind, const Rule& rule, const RuleState& before, Duration now);

}  // namespace healer::engine
