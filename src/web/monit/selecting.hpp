// SPDX-License-Identifier: MIT
// Which services a request to Monit's interface means: a name, or an expression that a whole name matches, or a group;
// all of it in any case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ids.hpp"
#include "engine/rules/graph.hpp"

namespace healer::web::monit {

/// Those of that name, else those whose names match it as a POSIX extended expression. An expression that might be
/// costly (of more than 256 bytes, with a counted repetition or a reference back) matches nothing.
[[nodiscard]] std::vector<engine::ServiceId> services_named(const engine::Graph& graph, const std::string& name);
[[nodiscard]] std::vector<engine::ServiceId> services_in(const engine::Graph& graph, std::string_view group);

}  // namespace healer::web::monit
