// SPDX-License-Identifier: MIT
// The output of programs as server-sent events: an event `output` for each piece, as it is written, and `end` where
// there is nothing more to come.
#pragma once

#include <memory>

#include "web/api/operation.hpp"

namespace healer::web {

/// Requires: the request is one of control::Verb::Output or Follow.
[[nodiscard]] Reply output_events(const std::shared_ptr<Api>& api, const Asked& asked);

}  // namespace healer::web
