// SPDX-License-Identifier: MIT
// What the file system says of a path.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/evidence.hpp"
#include "engine/plan.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// Which file it is, and in which state: where it is the same, so is what is in it.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified = 0;  ///< nanoseconds since the epoch, and so is the next
  std::int64_t changed = 0;

  bool operator==(const FileState&) const = default;
};

struct PathLook {
  engine::Answer answer = engine::Answer::Told;
  engine::Facts facts;  ///< its owner, permission and times, and how long ago these are
  FileState state;
  std::string output;  ///< why it is not there, or not known; empty where there is nothing of that path
};

/// The checksums of a file, as attributes.
struct FileSums {
  FileState state;  ///< before it was read
  engine::measure::Checksums wanted;
  std::vector<std::pair<engine::Attribute, engine::Value>> sums;
};

/// Reads a file to its end, however long that takes: not for the loop thread. An Error where it cannot be read, or is
/// no regular file.
[[nodiscard]] Result<FileSums> sum_file(const std::string& path, const engine::measure::Checksums& wanted);

/// Looks at a path; symbolic links are followed. Of another type than `type` it is absent. May wait for a mount that
/// hangs: not for the loop thread.
[[nodiscard]] PathLook look_at_path(const std::string& path, engine::measure::PathType type);

}  // namespace healer::runtime
