// SPDX-License-Identifier: MIT
// `healerctl procmatch REGEX`: which processes a `check process ... matching REGEX` would see, and which of them it
// would take. Looks at this machine; needs no daemon.
#pragma once

#include <string>

#include "ctl/output.hpp"

namespace healer {

/// Returns the exit status: 0 where a process matches, 1 where none does or the expression is invalid.
[[nodiscard]] int procmatch(const std::string& expression, Output& output);

}  // namespace healer
