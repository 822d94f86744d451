// SPDX-License-Identifier: MIT
// `healerctl simulate RULES --script SCRIPT`: what would happen, when and why, without a daemon and without doing it.
#pragma once

#include <string>

#include "ctl/output.hpp"

namespace healer {

struct SimulateOptions {
  std::string rules;
  std::string script;
  bool actions = false;  ///< print only what healer does
};

/// Returns the exit status.
[[nodiscard]] int simulate(const SimulateOptions& options, Output& output);

}  // namespace healer
