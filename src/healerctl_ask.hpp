// SPDX-License-Identifier: MIT
// The commands of healerctl that ask a daemon (or, for the history, the state file of one): send, read, show.
#pragma once

#include <string>

#include "control/wire.hpp"
#include "healerctl_output.hpp"

namespace healer {

struct AskOptions {
  bool exit_code = false;  ///< status, summary: exit with 1 where a service stands failed
  std::string state_file;  ///< history: read this instead of asking
  std::string report;      ///< report: the one number; empty: all of them
  bool groups = false;     ///< names: those of the groups
  bool graph = false;      ///< status: as a graph
  bool svg = false;        ///< graph: as a picture
};

/// Returns the exit status.
[[nodiscard]] int ask(const std::string& socket, const control::Request& request, const AskOptions& options,
                      Output& output);

}  // namespace healer
