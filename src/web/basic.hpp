// SPDX-License-Identifier: MIT
// What other programs ask of any server: whether it is well.
#pragma once

#include <vector>

#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::web {

/// `/healthz`.
[[nodiscard]] std::vector<Route> basic_routes(const Backend& backend);

}  // namespace healer::web
