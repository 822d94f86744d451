// SPDX-License-Identifier: MIT
// `healerctl simulate RULES --script SCRIPT`: what would happen, when and why, without a daemon and without doing it.
#pragma once

#include <string>

#include "ctl/output.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace healer {

/// What its command line says.
struct SimulateOptions {
  bool wanted = false;
  std::string rules;
  std::string script;
  bool actions = false;  ///< print only what healer does
};

void add_simulate(CLI::App& app, SimulateOptions& options);

/// Returns the exit status.
[[nodiscard]] int simulate(const SimulateOptions& options, Output& output);

}  // namespace healer
