// SPDX-License-Identifier: MIT
// What start programs have left running. What is there by the control group of such a program, which healer made, is
// proved to come of it. Where there is no group its mark in the environment must do (actions/environment), which
// anybody can put into an environment of his own: it counts with the users alone as whom the program runs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "engine/events/evidence.hpp"
#include "engine/ids.hpp"
#include "runtime/process/control_groups.hpp"
#include "runtime/process/process_watch.hpp"

namespace healer::engine {
struct ServiceBlock;
}  // namespace healer::engine

namespace healer::runtime {

/// What one of them has left.
struct Leftovers {
  engine::ActionId by;
  std::vector<engine::LeftProcess> processes;  ///< the eldest first
};

/// As whom the programs of a service may have left something that bears their mark: as their own users, or healer's.
[[nodiscard]] std::vector<uid_t> owners_of(const engine::ServiceBlock& block);

/// The living processes that come of the program of an action, itself among them: those in its control group, or, where
/// it has none, those with its mark. Nothing: it is not known who they are. Asks no processes but those of `owners`,
/// and may wait for any of these.
[[nodiscard]] std::optional<std::vector<ProcessIdentity>> living_of(const ControlGroups& groups,
                                                                    engine::ActionId action,
                                                                    const std::vector<uid_t>& owners);

/// What `left_by` has left, which brought nothing up (the eldest of it: the others are its own), or else what `came_by`
/// has left, which did (by its control group alone). Either may be 0. Asks no processes but those of `owners`. May wait
/// for any of these: not for the loop thread.
[[nodiscard]] Leftovers find_leftovers(const ControlGroups& groups, engine::ActionId left_by, engine::ActionId came_by,
                                       const std::vector<uid_t>& owners);

}  // namespace healer::runtime
