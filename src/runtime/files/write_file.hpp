// SPDX-License-Identifier: MIT
// Writes files completely or not at all.
#pragma once

#include <sys/types.h>

#include <string>

#include "util/result.hpp"

namespace healer {

/// Puts `text` in the place of an existing file, at one stroke: with the owner and the mode that it has. A link stays
/// one: the file that it leads to is replaced.
[[nodiscard]] Result<void> replace_file(const std::string& path, const std::string& text);

/// Makes a file, or with `over` replaces one, at one stroke. Errors: it is there already (EEXIST).
[[nodiscard]] Result<void> make_file(const std::string& path, const std::string& text, mode_t mode, bool over);

}  // namespace healer
