// SPDX-License-Identifier: MIT
// How a service is, on one line, for a person: what was seen last, and which rule it fails. Pure; on the thread that
// owns the engine.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/ids.hpp"
#include "engine/rules/metric.hpp"
#include "util/time.hpp"

namespace healer::engine {
class Engine;
struct ServiceBlock;
struct ServiceState;
}  // namespace healer::engine

namespace healer::control {

/// As format_metric, but a time as people say it.
[[nodiscard]] std::string format_value(engine::Unit unit, double value);

/// "exit status 1 in 120 ms: no route", with the most telling line of the output; of a process what it is, or why it is
/// not there and why it could not be started. Empty: it was not looked at yet.
[[nodiscard]] std::string describe_last(const engine::ServiceBlock& block, const engine::ServiceState& state);

/// "last event 5 m ago: instance-7: alarm; stands for instance-7". Empty: it is no check of events.
[[nodiscard]] std::string describe_events(const engine::Engine& engine, engine::ServiceId service, Instant now);

/// "last beat 5 h ago: exit status 3: no space left; a run for 2 m". Empty: it is no heartbeat.
[[nodiscard]] std::string describe_heartbeat(const engine::Engine& engine, engine::ServiceId service, Instant now);

/// "memory > 90%" of "if memory > 90% for 3 cycles then alert".
[[nodiscard]] std::string_view condition_of_text(std::string_view rule);

/// Why a rule of the service stands failed, or fails, its condition first: "memory > 90%: memory 95.2%", "status != 0:
/// exit status 1 in 120 ms: no route".
[[nodiscard]] std::string describe_failing(const engine::Engine& engine, engine::ServiceId service, std::size_t rule,
                                           Instant now);

}  // namespace healer::control
