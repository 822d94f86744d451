// SPDX-License-Identifier: MIT
// How the runs of a rule are counted (Monit's way; the model is in engine.hpp). Shared by the judge, who counts, and by
// explain, which asks what one more run would do. Pure.
#pragma once

#include <cstdint>

#include "engine/state.hpp"
#include "util/time.hpp"

namespace healer::engine {

struct Rule;

/// What a run means for a latched rule. Failing: it stands failed, and stays so.
enum class Verdict : std::uint8_t { Nothing, Fire, Recover, Failing };

/// One counted run of a latched rule, `bad` where its condition holds, at mono time `now`. The caller changes the
/// status.
[[nodiscard]] Verdict count_latched(const Rule& rule, RuleState& state, bool bad, Duration now);

/// A run that does not count: only rules that need a single run may turn by it.
[[nodiscard]] Verdict peek_latched(const Rule& rule, const RuleState& state, bool bad);

/// How many runs count as clear towards the recovery of a rule that stands failed, of those that its recovery looks
/// back on; `runs` have been since it fired, the firing included. Runs that were before the firing, and those that
/// never were, are clear; but not to Monit 6 (RuleBody::newer_counting).
[[nodiscard]] int clear_runs(const Rule& rule, const RuleState& state, std::uint64_t runs);

/// Whether a rule that stands failed, and whose action starts or stops the service, acts again at a failing run: its
/// tolerance is met by the runs since it fired, or since the last job that was completed.
[[nodiscard]] bool due_again(const Rule& rule, const RuleState& state, Duration now);

/// One counted run of a rule that latches nothing: true where it acts.
[[nodiscard]] bool count_each(const Rule& rule, RuleState& state, bool bad, Duration now);

}  // namespace healer::engine
