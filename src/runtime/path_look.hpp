// SPDX-License-Identifier: MIT
// What the file system says of a path.
#pragma once

#include <string>

#include "engine/evidence.hpp"
#include "engine/plan.hpp"

namespace healer::runtime {

struct PathLook {
  engine::Answer answer = engine::Answer::Told;
  engine::Facts facts;  ///< its owner, permission and times, and how long ago these are
  std::string output;   ///< why it is not there, or not known; empty where there is nothing of that path
};

/// Looks at a path; symbolic links are followed. Of another type than `type` it is absent. May wait for a mount that
/// hangs: not for the loop thread.
[[nodiscard]] PathLook look_at_path(const std::string& path, engine::measure::PathType type);

}  // namespace healer::runtime
