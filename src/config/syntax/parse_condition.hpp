// SPDX-License-Identifier: MIT
// How the tests of an `if` are joined. The rules see them side by side: `and`, `or` and parentheses are noise to Monit.
#pragma once

#include <cstddef>
#include <vector>

#include "config/syntax/parse_build.hpp"
#include "engine/rules/test.hpp"

namespace healer::config::parsing {

/// Where a condition has its parts.
struct WrittenCondition {
  std::size_t begin = 0;               ///< the token behind `if`
  std::vector<TokenRange> terms;       ///< the tests, in their order
  std::vector<std::size_t> negations;  ///< each `not` that belongs to no test
};

/// engine::RuleCondition::postfix of a condition. Complains about parentheses without their other half: in what Monit
/// takes, which does not heed them, that is a warning, and none is heeded here.
[[nodiscard]] std::vector<engine::Op> joined(Build& build, const WrittenCondition& written);

}  // namespace healer::config::parsing
