// SPDX-License-Identifier: MIT
// The rules as healer understood them, in the language itself: `healerd -t -v`, and the tests. No password, and no
// value of an environment variable, is ever in it.
#pragma once

#include <string>

#include "engine/rules/rule_set.hpp"

namespace healer::config {

/// Loading the result gives the same rules again, but for what is not shown (each such thing is a comment).
[[nodiscard]] std::string print(const engine::RuleSet& rules);

}  // namespace healer::config
