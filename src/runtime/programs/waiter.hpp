// SPDX-License-Identifier: MIT
// Programs run by healings: each is the child of a small process of its own, its waiter, which outlives the daemon. The
// waiter starts the program (runtime/process/launch), ends it at its timeout or on request, reaps it, records how it
// ended (runtime/programs/action_files) and exits; a running daemon is told at once. With a program that it ends goes
// all that comes of it, wherever it has gone (runtime/programs/leftovers): until then the waiter stays. What a program
// that ended by itself has left running is not touched. So the end of a program is known even if no daemon was running;
// it is unknown only if the waiter is lost, too.
//
// The waiter is another process of the daemon's own executable, in a session of its own, with an empty environment: it
// receives the program and its secrets over a socket. It keeps the program's descriptors open no longer than the daemon
// would. SIGTERM ends it like any process: when the machine shuts down, the end of programs that this kills must not be
// recorded.
#pragma once

#include <cerrno>
#include <csignal>
#include <functional>
#include <optional>

#include "runtime/loop.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/programs/action_files.hpp"

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

  /// Asks it to end its program: SIGTERM now, to all that comes of it, SIGKILL to what is left of that 2 s later; it
  /// has gone when all that has.
  void end() const;
  /// Lets it go on, if somebody has stopped it.
  void go_on() const { signal(SIGCONT); }
  /// Ends it, and not its program: that is nobody's child then.
  void kill() const { signal(SIGKILL); }

 private:
  void check();
  void signal(int number) const;
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
