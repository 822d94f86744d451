// SPDX-License-Identifier: MIT
// The id of this healer (`--id`), and file hashes (`-H`), as Monit prints them.
#pragma once

#include <string>

#include "util/result.hpp"

namespace healer {

/// The id kept in `path`, made if there is none. A file that is not healer's (Monit's own) is never touched:
/// `path`.healer is used. Mode 0600.
[[nodiscard]] Result<std::string> instance_id(const std::string& path);

/// A new id in `path`.
[[nodiscard]] Result<std::string> reset_instance_id(const std::string& path);

/// Two lines, "SHA1(NAME) = HEX" and "MD5(NAME)  = HEX"; an empty path is standard input.
[[nodiscard]] Result<std::string> file_hashes(const std::string& path);

}  // namespace healer
