// SPDX-License-Identifier: MIT
// Why a service and its rules are where they are, and what the next run would do: read from the engine, in sentences
// for people. Nothing is kept for it; what a run would do is found by counting one on a copy. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"

namespace healer::engine {

/// How a service is, in one word. A later one covers an earlier.
enum class Condition : std::uint8_t {
  Running,       ///< its last run passed
  Unknown,       ///< its last look had no answer; no rule fails, as far as is known
  Failing,       ///< its last run failed a rule whose tolerance is not met yet, or that latches nothing; or its
                 ///< process is known not to be there, and a rule minds that
  Failed,        ///< a rule stands failed
  Initialising,  ///< it has not been judged yet
  Unmonitored,   ///< by a person, or from the start
  GivenUp        ///< a rule has taken it out of monitoring: to be taken as failed
};
[[nodiscard]] std::string_view to_string(Condition condition);

/// How a rule is: Running, Failing or Failed (of the kinds of Mode, only Latched ones stand failed; an EachChange rule
/// is never more than Running, for a change is no failure, nor is a restart before there are too many).
[[nodiscard]] Condition condition_of(const Rule& rule, const RuleState& state);
/// Why the last run says nothing of a rule: what came of a connection that it asks for; empty: the run has told.
[[nodiscard]] std::string unreported(const Rule& rule, const ServiceState& state);
[[nodiscard]] Condition condition_of(const Engine& engine, ServiceId service);

/// "3 of the last 5 runs failed; 3 are needed", or the same in time; empty for a rule that a single run decides.
[[nodiscard]] std::string count_text(const Rule& rule, const RuleState& state, Duration now);

/// What a rule that stands failed needs to recover: "1 of the last 2 runs passed, 2 are needed"; empty where a single
/// run that passes is enough.
[[nodiscard]] std::string recovery_text(const Rule& rule, const RuleState& state, Duration now);

/// "restart web: step 2 of 5, start db, for 3 s".
[[nodiscard]] std::string job_text(const Graph& graph, const Job& job, Duration now);
/// What the step under way waits for: "its program to end", "web to be ready", "its program to be started (cannot write
/// /var/lib/healer/actions/7.pid: No space left on device; tried again)".
[[nodiscard]] std::string job_waits_for(const Engine& engine, const Job& job);
/// The same of the program of a rule's action.
[[nodiscard]] std::string action_waits_for(const RunningAction& action);

struct RuleAccount {
  Condition condition = Condition::Running;
  std::string now;        ///< where it stands
  std::string if_failed;  ///< what the next counted run does if the rule's condition holds; empty where none will come
  std::string if_clear;   ///< and if it does not
  std::string held_back;  ///< why its action would not be done now, and the remedy; or empty
};

struct Explanation {
  Condition condition = Condition::Running;
  std::vector<std::string> notes;  ///< whole sentences about the service itself
  std::vector<RuleAccount> rules;  ///< as in the ServiceBlock
};

/// Requires: `service` is in the engine's graph.
[[nodiscard]] Explanation explain(const Engine& engine, ServiceId service, Instant now);

}  // namespace healer::engine
