// SPDX-License-Identifier: MIT
// What a script expects, held against what a simulation has shown. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulation/simulator.hpp"

namespace healer::engine {

/// What has not come as it was expected. `states` has, for each expectation of a state, how the service was; none: the
/// simulation had ended before.
[[nodiscard]] std::vector<ScriptError> unmet_expectations(const std::vector<Expectation>& expectations,
                                                          const Timeline& timeline,
                                                          const std::vector<std::optional<std::string>>& states);

}  // namespace healer::engine
