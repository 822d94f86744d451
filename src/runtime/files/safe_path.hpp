// SPDX-License-Identifier: MIT
// Whether a path is healer's alone: what it keeps there it later runs by, so nobody but root and the user it runs as
// may be able to put something else in its place. That depends on every folder up to the root, and on every link on the
// way.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "util/result.hpp"

namespace healer::runtime {

/// Links on the way to a file at most, as the kernel has it.
inline constexpr int kMostLinks = 40;

/// What a path is for.
enum class Use : std::uint8_t {
  State,  ///< healer runs by what it says: a symbolic link in its place is refused, and folders that others can write
  Log     ///< only written: it may lie behind a link in a folder of our own, and in one that a group can write, as that
          ///< of /var/log on some systems
};

/// `path` ("the state file") without the symbolic links on the way, once all folders above it were looked at. Errors
/// (EPERM), each with what is wrong and a remedy: a folder belongs to another user, or others can write to it (in a
/// sticky folder as /tmp nobody can replace what is root's or ours, so that is fine where the next entry is); the file
/// itself is a symbolic link, or another user's. What is not there yet is fine.
[[nodiscard]] Result<std::string> safe_path(std::string_view what, const std::string& path, Use use = Use::State);

/// What the kernel says of an open file or folder that must be our own. Errors: it cannot be looked at, or it belongs
/// to another user (EPERM). `path` is for the message.
[[nodiscard]] Result<struct stat> stat_of_own(int file, const std::string& path);

}  // namespace healer::runtime
