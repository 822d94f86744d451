// SPDX-License-Identifier: MIT
// A request as the engine writes it, with its secrets to come, as the caller makes it.
#pragma once

#include "engine/events/act.hpp"
#include "engine/rules/settings.hpp"
#include "runtime/net/http_caller.hpp"

namespace healer {

/// Its secrets are read right before it is sent, where slow disks may be waited for.
[[nodiscard]] runtime::HttpCall http_call_of(engine::effect::Request effect, const engine::Settings& settings);

}  // namespace healer
