// SPDX-License-Identifier: MIT
#include "engine/judging/counting.hpp"

#include <algorithm>

#include "engine/rules/rule.hpp"

namespace healer::engine {

int clear_runs(const Rule& rule, const RuleState& state, std::uint64_t runs) {
  const std::uint8_t window = rule->recovery->tolerance.window;
  const auto there = rule->newer_counting ? std::min<std::uint64_t>(window, runs) : window;
  return static_cast<int>(there) - state.window.failed(window);
}

Verdict count_latched(const Rule& rule, RuleState& state, bool bad, Duration now) {
  state.window.push(bad, std::max(rule->tolerance.window, rule->recovery->tolerance.window));
  if (bad) {
    if (!state.past->failing_since && rule->tolerance.held > Duration{0}) state.past.set(&RulePast::failing_since, now);
    state.past.set(&RulePast::clear_since, {});
  } else {
    state.past.set(&RulePast::failing_since, {});
    if (!state.past->clear_since && state.status == RuleStatus::Failed && rule->recovery->tolerance.held > Duration{0})
      state.past.set(&RulePast::clear_since, now);
  }
  if (state.status == RuleStatus::Ok) {
    const Tolerance& wanted = rule->tolerance;
    const bool met = wanted.held > Duration{0}
                         ? state.past->failing_since && now - *state.past->failing_since >= wanted.held
                         : state.window.failed(wanted.window) >= wanted.count;
    return bad && met ? Verdict::Fire : Verdict::Nothing;
  }
  const Tolerance& wanted = rule->recovery->tolerance;
  const bool met = wanted.held > Duration{0}
                       ? state.past->clear_since && now - *state.past->clear_since >= wanted.held
                       : clear_runs(rule, state, std::uint64_t{state.since_fired} + 1) >= wanted.count;
  return !bad && met ? Verdict::Recover : Verdict::Failing;
}

Verdict peek_latched(const Rule& rule, const RuleState& state, bool bad) {
  if (state.status == RuleStatus::Ok) return bad && rule->tolerance.immediate() ? Verdict::Fire : Verdict::Nothing;
  return !bad && rule->recovery->tolerance.immediate() ? Verdict::Recover : Verdict::Nothing;
}

bool due_again(const Rule& rule, const RuleState& state, Duration now) {
  const Tolerance& wanted = rule->tolerance;
  if (wanted.held > Duration{0}) return state.past->failing_since && now - *state.past->failing_since >= wanted.held;
  return state.past->again.failed(wanted.window) >= wanted.count;
}

bool count_each(const Rule& rule, RuleState& state, bool bad, Duration now) {
  state.window.push(bad, rule->tolerance.window);
  if (!bad) state.past.set(&RulePast::failing_since, {});
  if (bad && !state.past->failing_since && rule->tolerance.held > Duration{0})
    state.past.set(&RulePast::failing_since, now);
  const bool met = rule->tolerance.held > Duration{0}
                       ? state.past->failing_since && now - *state.past->failing_since >= rule->tolerance.held
                       : state.window.failed(rule->tolerance.window) >= rule->tolerance.count;
  return bad && met;
}

}  // namespace healer::engine
