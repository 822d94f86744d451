// SPDX-License-Identifier: MIT
// What programs and requests save: `save ... as NAME`, and the filters that they do so with.
#pragma once

#include <string>
#include <vector>

#include "config/steps/step_check.hpp"
#include "config/steps/step_syntax.hpp"
#include "engine/healing/saving.hpp"

namespace healer::config {

/// Expressions and names that cannot be: errors. `of_request`: there are headers.
void check_saves(const std::vector<SavingSyntax>& saves, bool of_request, StepChecker& checker);
/// A filter that jq does not take: an error. Which values it may name, check_variables() says.
void check_filter(const Word& filter, StepChecker& checker);

[[nodiscard]] std::vector<engine::Saving> compile(const std::vector<SavingSyntax>& saves);

/// ` save json '.id' as ID secret`, for each.
[[nodiscard]] std::string written(const std::vector<engine::Saving>& saves);

}  // namespace healer::config
