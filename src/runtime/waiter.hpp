// SPDX-License-Identifier: MIT
// Programs that healing runs: each is the child of a small process of its own, its waiter, which outlives the daemon.
// The waiter starts the program (runtime/launch), ends it at its timeout or when it is asked to, reaps it, writes down
// how it ended (runtime/action_files) and goes; a daemon that lives is told at once. So what happens while no daemon is
// there is seen all the same, and only where the waiter is lost, too, nobody knows.
//
// The waiter is the daemon's own executable once more, in a session of its own, with an empty environment: the program
// and its secrets come to it over a socket. It holds the descriptors that the program is started with no longer than
// the daemon would. SIGTERM ends it as it does any process: when the machine goes down, nothing is to be recorded of
// programs that are killed by that.
#pragma once

#include <cerrno>
#include <functional>
#include <optional>

#include "runtime/action_files.hpp"
#include "runtime/launch.hpp"
#include "runtime/loop.hpp"

namespace healer::runtime {

/// The code of the Error where a waiter was lost before it said whether the program runs: what the files of the action
/// tell counts then.
inline constexpr int kWaiterLost = EOWNERDEAD;

/// Starts the waiter and by it the program; blocks as Launcher::start does. `progress` is of the waiter.
[[nodiscard]] Result<Started> start_waited(Launch launch, const LaunchDefaults& defaults, LaunchProgress& progress);

/// How a program has ended, as its waiter says.
struct WaiterEnd {
  ActionFiles::End end;
  bool recorded = false;  ///< and that is written down
};

/// A waiter that runs, as a daemon sees it: this one's child, or left by a former one. Owned by the loop thread.
class Waiter {
 public:
  /// Nothing where it did not say how the program has ended: what the files tell counts then.
  using OnGone = std::function<void(std::optional<WaiterEnd>)>;

  /// `on_gone` is called once, on the loop, when the waiter has gone; it may destroy the Waiter.
  Waiter(Loop& loop, WaiterHandle handle, OnGone on_gone);
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// Asks it to end its program: SIGTERM to the session now, SIGKILL to what is left of it 2 s later.
  void end() const;

 private:
  void look();
  [[nodiscard]] bool gone() const;

  Loop& loop_;
  WaiterHandle handle_;
  OnGone on_gone_;
  Loop::Watch watch_;
  Loop::Timer poll_;
};

/// Whether this process was started by start_waited(), to be a waiter.
[[nodiscard]] bool is_waiter(int argc, char** argv);
/// Starts and awaits the program. Returns the exit status.
int run_waiter();

}  // namespace healer::runtime
