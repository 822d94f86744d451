// SPDX-License-Identifier: MIT
// This program once more, as a process that helps it: its main() knows by the command line what to be.
#pragma once

#include <sys/types.h>

#include <string>

#include "util/result.hpp"

namespace healer::runtime {

/// Starts `program` with `name` and `option` for a command line: in a session of its own, with `socket` as its input,
/// no output, no environment, and default signals. Whoever starts it reaps it.
[[nodiscard]] Result<pid_t> start_helper(const std::string& program, std::string name, std::string option, int socket);

}  // namespace healer::runtime
