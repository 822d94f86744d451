// SPDX-License-Identifier: MIT
// `healerctl top`: the terminal and the questions to the daemon around control/top.
#pragma once

#include <optional>
#include <string>

#include "ctl/output.hpp"
#include "ctl/server/door.hpp"
#include "util/time.hpp"

namespace healer {

struct TopOptions {
  bool wanted = false;
  bool batch = false;                 ///< print one frame and end
  std::string interval{"2s"};         ///< as written
  Duration every{0};                  ///< the same
  std::optional<Duration> timeout{};  ///< how long an answer may take
};

/// Returns the exit status. Where the output or the input is no terminal it prints one frame.
[[nodiscard]] int top(Door& door, const TopOptions& options, Output& output);

}  // namespace healer
