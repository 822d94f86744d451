// SPDX-License-Identifier: MIT
// A file whose text is sent to a server.
#pragma once

#include <cstddef>
#include <string>

#include "util/result.hpp"

namespace healer::runtime {

/// Its text. Blocks. Errors: it cannot be read, is no regular file, or has more than `most` bytes.
[[nodiscard]] Result<std::string> read_body_file(const std::string& path, std::size_t most);

}  // namespace healer::runtime
