// SPDX-License-Identifier: MIT
// The composition root: the one place that knows the engine and all its shells.
//
// Everything meets on the loop thread. What happens becomes an Event, goes through the engine, and the effects go out
// to the shells that do them: runs to the process runner, execs to the action runner, alerts to the mailer, commits to
// the store, replies to the control socket.
#pragma once

#include "daemon/options.hpp"

namespace healer {

/// Runs a daemon until it is told to stop. Returns the exit status: 0 after an orderly end, 1 where it could not start.
[[nodiscard]] int run_daemon(const Options& options);

}  // namespace healer
