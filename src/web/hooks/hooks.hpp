// SPDX-License-Identifier: MIT
// Hooks: POST /hooks/... tells a `check event` of events, in the format that its rules name. Who sends shows by a
// signature, a token or a certificate that he may; the events are answered when they are on disk.
//
//   let in? --no--> 401     read --no--> 400     keys by filters of jq --no--> 422     the verb `event` --> 202, 422,
//   429, 503
//
// Secrets are read anew for each request. Nothing is sent to an address that a request names.
#pragma once

#include <vector>

#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::web {

[[nodiscard]] std::vector<Route> hook_routes(const Backend& backend);

}  // namespace healer::web
