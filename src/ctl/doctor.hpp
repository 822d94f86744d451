// SPDX-License-Identifier: MIT
// `healerctl doctor`: the problems that hinder healer on this machine, each with its remedy.
#pragma once

#include <optional>
#include <string>

#include "ctl/output.hpp"
#include "util/time.hpp"

namespace healer {

struct DoctorOptions {
  bool wanted = false;
  std::string rules;                  ///< empty: where the daemon of this machine has them
  std::optional<Duration> timeout{};  ///< for the daemon's answer
};

/// Returns the exit status: kExitFailed where something must be fixed.
[[nodiscard]] int examine(const std::string& socket, const DoctorOptions& options, Output& output);

}  // namespace healer
