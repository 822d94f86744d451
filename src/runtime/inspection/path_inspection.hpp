// SPDX-License-Identifier: MIT
// What the file system says of a path.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "engine/events/evidence.hpp"
#include "engine/rules/plan.hpp"
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

/// Of what stat() has told.
[[nodiscard]] FileState state_of(const struct ::stat& seen);

struct PathInspection {
  engine::Answer answer = engine::Answer::Present;  ///< or Absent
  /// Told: its owner, permission and times, and how long ago these are.
  std::shared_ptr<engine::Facts> facts{};
  FileState state{};
  std::string output{};  ///< why it is not there; empty where there is nothing of that path
};

/// Who owns it, and its permission.
[[nodiscard]] std::array<std::pair<engine::Attribute, engine::Value>, 3> owner_of(const struct ::stat& seen);

/// Errors of the path itself, which stay until somebody repairs it: there is no such thing to be seen. Others are the
/// machine's, and say nothing of it.
[[nodiscard]] bool is_of_the_path(int error);
/// Looks at a path; symbolic links are followed. Of another type than `type` it is absent. An Error where nobody can
/// tell. May wait for a mount that hangs: not for the loop thread.
[[nodiscard]] Result<PathInspection> inspect_path(const std::string& path, engine::measure::PathType type);

}  // namespace healer::runtime
