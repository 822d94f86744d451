// SPDX-License-Identifier: MIT
// Heartbeats that are told over HTTP: GET or POST /beat/NAME, /beat/NAME/start, /beat/NAME/fail, /beat/NAME/EXITSTATUS,
// with a text as the body. Answered when the beat is on disk.
#pragma once

#include <vector>

#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::web {

[[nodiscard]] std::vector<Route> beat_routes(const Backend& backend);

}  // namespace healer::web
