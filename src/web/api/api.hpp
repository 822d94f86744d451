// SPDX-License-Identifier: MIT
// /api/v1: all that healerctl reads and does, as JSON over HTTP, with the documents of `healerctl --json`.
#pragma once

#include <vector>

#include "web/api/kept_answers.hpp"
#include "web/backend.hpp"
#include "web/pulse.hpp"
#include "web/router.hpp"

namespace healer::web {

/// Requires: `pulse` and `kept` outlive the routes, and what is answered by them.
[[nodiscard]] std::vector<Route> api_routes(const Backend& backend, Pulse& pulse, KeptAnswers& kept);

}  // namespace healer::web
