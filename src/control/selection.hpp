// SPDX-License-Identifier: MIT
// Which services a request names.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "control/wire.hpp"
#include "engine/ids.hpp"
#include "engine/rules/graph.hpp"

namespace healer::control {

/// Services, or why there are none.
using Selection = std::variant<std::vector<engine::ServiceId>, Failure>;

[[nodiscard]] Failure unknown_service(const engine::Graph& graph, std::string_view name);

/// The services that are healed together under that name, in any case.
[[nodiscard]] std::vector<engine::ServiceId> services_of_target(const engine::Graph& graph, std::string_view name);
/// The services of a group, in their order.
[[nodiscard]] std::vector<engine::ServiceId> services_of_group(const engine::Graph& graph, std::string_view name);

/// The services that a request names, in the order of the files (of the request where it only names services). A target
/// may be named for its services, but to start or stop these. `known_groups` may be named though no service is in them.
[[nodiscard]] Selection select(const engine::Graph& graph, const Request& request,
                               const std::vector<std::string>& known_groups = {});

}  // namespace healer::control
