// SPDX-License-Identifier: MIT
// What others watch healer by: /metrics, /metrics/services and /badge/NAME.svg.
#pragma once

#include <vector>

#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::web {

[[nodiscard]] std::vector<Route> metrics_routes(const Backend& backend);

}  // namespace healer::web
