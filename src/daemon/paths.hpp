// SPDX-License-Identifier: MIT
// Where a daemon keeps its things when nothing else is said.
#pragma once

#include <string>

#include "engine/rules/settings.hpp"

namespace healer {

/// All paths of one daemon.
struct Paths {
  std::string pid_file;
  std::string id_file;
  std::string state_file;
  std::string action_dir;        ///< output of actions: beside the state file
  std::string spare_action_dir;  ///< in memory, for while that disk cannot be written; empty: there is no place
  std::string lists_file;        ///< the last good readings of lists: beside the state file
  std::string mail_dir;          ///< the queue: beside the state file, or where `set eventqueue` says
  std::string contacts_dir;      ///< the queues of contacts: beside the state file
  std::string notify;  ///< where foreground processes say that they are ready: beside the pid file, or `@NAME`
  std::string socket;
  bool socket_chosen = false;  ///< somebody named the socket: it is not to be had is an error, not a warning
};

/// Of these settings; for root under /run/healer and /var/lib/healer, else in the home of the user (~/.healer.state,
/// ...).
[[nodiscard]] Paths paths_of(const engine::Settings& settings);

}  // namespace healer
