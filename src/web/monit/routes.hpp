// SPDX-License-Identifier: MIT
// Monit's HTTP interface: the paths that its client, browsers, exporters and scripts ask, with its forms, texts and
// XML.
#pragma once

#include <vector>

#include "web/backend.hpp"
#include "web/router.hpp"

namespace healer::web::monit {

/// Everything that begins with an underscore, `/favicon.ico`, and the actions that are posted to `/NAME`.
[[nodiscard]] std::vector<Route> monit_routes(const Backend& backend);
/// Its pages of services: `/` and `/NAME`.
[[nodiscard]] std::vector<Route> monit_pages(const Backend& backend);

}  // namespace healer::web::monit
