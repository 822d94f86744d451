// SPDX-License-Identifier: MIT
// `healerctl doctor`: what stands in healer's way on this machine, each with its remedy.
#pragma once

#include <string>

#include "healerctl_output.hpp"

namespace healer {

struct DoctorOptions {
  bool wanted = false;
  std::string rules;  ///< empty: where the daemon of this machine has them
};

/// Returns the exit status: kExitFailed where something must be mended.
[[nodiscard]] int examine(const std::string& socket, const DoctorOptions& options, Output& output);

}  // namespace healer
