// SPDX-License-Identifier: MIT
// From the engine's views to what goes over the wire. Pure; on the thread that owns the engine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/wire.hpp"
#include "engine/ids.hpp"

namespace healer::engine {
class Engine;
struct Pause;
struct Record;
struct RunningAction;
struct WidePause;
}  // namespace healer::engine

namespace healer::control {

/// The programs of rules' actions that run or wait, by the lower-case name of their service.
using ActionIndex = std::multimap<std::string, const engine::RunningAction*>;
[[nodiscard]] ActionIndex index_actions(const engine::Engine& engine);

/// Everything under way: the jobs, the healings that do not wait, then the programs of rules' actions, each in the
/// order of their numbers.
[[nodiscard]] std::vector<JobView> view_jobs(const engine::Engine& engine, Instant now);
/// A job, a healing (also one that waits) or the program of a rule's action; none where nothing of that number is under
/// way.
[[nodiscard]] std::optional<JobView> view_job(const engine::Engine& engine, std::uint64_t id, Instant now);

[[nodiscard]] ServiceSummary summarise(const engine::Engine& engine, engine::ServiceId service, Instant now);
[[nodiscard]] ServiceStatus view_status(const engine::Engine& engine, engine::ServiceId service,
                                        const ActionIndex& actions, Instant now);
[[nodiscard]] ServiceExplanation view_explanation(const engine::Engine& engine, engine::ServiceId service,
                                                  const ActionIndex& actions, Instant now);
/// `wide`: whose pause it is; null: the service's own.
[[nodiscard]] PauseView view_pause(const engine::Pause& pause, const engine::WidePause* wide);
[[nodiscard]] RecordView view_record(const engine::Record& record);
[[nodiscard]] DaemonView view_daemon(const engine::Engine& engine, std::string_view version, Instant now);

}  // namespace healer::control
