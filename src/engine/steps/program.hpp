// SPDX-License-Identifier: MIT
// `program "..."`: a step that runs a program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/healing/saving.hpp"
#include "engine/rules/command.hpp"

namespace healer::engine {

namespace step {

/// Exit status 0 is well.
struct Program {
  Command command;  ///< its timeout is the step's
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  ///< where it runs; empty: /
  std::vector<Saving> saves;
  bool operator==(const Program&) const = default;
};

}  // namespace step

}  // namespace healer::engine
