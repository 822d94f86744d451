// SPDX-License-Identifier: MIT
// What the files of actions tell a daemon that starts of foreground processes that an earlier one has left running. The
// store names them too, as a rule; but what was decided while it could not write it has forgotten, and a second copy of
// a service must not run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/ids.hpp"
#include "runtime/programs/action_files.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// A foreground process, or a program of a rule, a job or a healing, that is not known to have ended.
struct SurvivingService {
  engine::ActionId action;
  std::string service;                            ///< whose it is
  std::optional<ActionFiles::Purpose> purpose{};  ///< none: it is a foreground process
  std::vector<std::string> command;               ///< as the process has it now; empty where that cannot be seen
  WallTime since{};                               ///< when it was started, as far as is known
};

struct SurvivingServices {
  std::vector<SurvivingService> processes;  ///< the newest first
  engine::ActionId newest;  ///< the newest action of which there are files, of whatever kind; 0: there are none
};

/// Reads the files of this boot's actions. Blocks on the disk; after a reboot it reads few of them.
[[nodiscard]] SurvivingServices find_surviving_services(const ActionFiles& files, Instant now);

}  // namespace healer::runtime
