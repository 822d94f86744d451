// SPDX-License-Identifier: MIT
// `program "..."`: a step that runs a program.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/healing/saving.hpp"
#include "engine/rules/command.hpp"
#include "engine/steps/kind.hpp"

namespace healer::engine::step {

/// Exit status 0 is well.
struct Program {
  static constexpr std::string_view kWord = "program";
  static constexpr char kSign = 'p';

  Command command;  ///< its timeout is the step's
  std::vector<std::pair<std::string, std::string>> environment;
  std::string directory;  ///< where it runs; empty: /
  std::vector<Saving> saves;
  bool operator==(const Program&) const = default;
};

void fields(auto& all, Is<Program> auto& program) {
  auto& [command, environment, directory, saves] = program;
  all("command", command, "environment", environment, "directory", directory, "saves", saves);
}

inline const std::vector<Saving>* saves_of(const Program& program) { return &program.saves; }

}  // namespace healer::engine::step
