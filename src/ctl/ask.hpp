// SPDX-License-Identifier: MIT
// The commands of healerctl that ask a daemon (or, for the history, the state file of one): send, read, show.
#pragma once

#include <optional>
#include <string>

#include "control/wire.hpp"
#include "ctl/output.hpp"
#include "ctl/server/door.hpp"
#include "util/time.hpp"

namespace healer {

struct AskOptions {
  bool exit_code = false;             ///< status, summary: exit with 1 where a service stands failed, or was given up
  std::string state_file;             ///< history: read this instead of asking
  std::string report;                 ///< report: the one number; empty: all of them
  bool groups = false;                ///< names: those of the groups
  bool graph = false;                 ///< status: as a graph
  bool ids = false;                   ///< history: each record with its number
  bool print = false;                 ///< open: nothing more than to print the address
  bool all = false;                   ///< explain: also the brakes that block nothing
  std::optional<Duration> timeout{};  ///< for all of it; none: what may take long is waited for
};

/// Returns the exit status.
[[nodiscard]] int ask(Door& door, const control::Request& request, const AskOptions& options, Output& output);

}  // namespace healer
