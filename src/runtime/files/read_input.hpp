// SPDX-License-Identifier: MIT
// What a person hands over to be read once: standard input, a pipe, or any other file that can be read.
#pragma once

#include <string>

#include "util/result.hpp"

namespace healer {

/// The text of `path` to its end, of standard input where it is "-". Waits for whoever writes to it. At most 64 MiB.
[[nodiscard]] Result<std::string> read_input(const std::string& path);

}  // namespace healer
