// SPDX-License-Identifier: MIT
// The words for heartbeats. Pure.
#pragma once

#include <string>

#include "engine/events/evidence.hpp"
#include "engine/heartbeat.hpp"
#include "engine/rules/test.hpp"

namespace healer::engine {

struct HeartbeatSpec;

/// Its last beat: "good", "fail", "exit status 3"; before the first "none".
[[nodiscard]] std::string describe_beat(const Heartbeat& heartbeat);
/// What a test of it has found: "no beat for 1 day 30 min (every 1 day within 30 minutes)", "its last beat is good",
/// "its last beat is exit status 3: no space left".
[[nodiscard]] std::string describe_heartbeat(const HeartbeatSpec& spec, const BeatSeen& seen, HeartbeatIs::What asked);

}  // namespace healer::engine
