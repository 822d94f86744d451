// SPDX-License-Identifier: MIT
// What a healing is to do, for people who are asked to approve it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/healing/healing.hpp"

namespace healer::engine {

/// So many digits of a plan's hash are shown, and name it.
inline constexpr std::size_t kHashShown = 8;

/// The hash of what people approve: workflow, target with the values of its row, guard and all steps. Limits, brakes
/// and places in files are no part of it.
[[nodiscard]] std::string hash_of_plan(const Healing& healing);

/// "healerctl approve 5 --plan 1a2b3c4d".
[[nodiscard]] std::string approval_line(const Healing& healing);

/// The guard and the steps, a line each, with the values that are known: `step "rebuild": program /usr/bin/rebuild n1,
/// timeout 20 min`. What is secret is named, never shown.
[[nodiscard]] std::vector<std::string> lines_of_plan(const Healing& healing, const std::string& host);

}  // namespace healer::engine
