// SPDX-License-Identifier: MIT
// `healerctl compare --monit LOG`: what Monit did, and healer did or would have done, side by side.
#pragma once

#include <optional>
#include <string>

#include "ctl/output.hpp"
#include "ctl/server/door.hpp"
#include "util/time.hpp"

namespace healer {

struct CompareOptions {
  std::string monit;       ///< the log of Monit, - for standard input; empty: another command
  std::string state_file;  ///< the history is in this; empty: the daemon is asked
  std::string within = "2 minutes";
  Duration apart{0};  ///< `within`, read
  std::optional<Duration> timeout;
};

/// Returns the exit status: 0 both decided the same, 1 they did not.
[[nodiscard]] int compare_logs(Door& door, const CompareOptions& options, Output& output);

}  // namespace healer
