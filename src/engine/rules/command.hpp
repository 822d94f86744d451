// SPDX-License-Identifier: MIT
// Programs: what is run, as whom, and how one that runs in the foreground is ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "util/sparse.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// The user and group a program runs as; where absent, those of the daemon. Those of a service's program were looked up
/// when the rules were loaded, as in Monit: their numbers and the user's HOME are known. Those of a workflow's program
/// are kept as they are written, and looked up when it begins (runtime/accounts).
struct Identity {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string user;   ///< of `uid`; where there is none, it is looked up
  std::string home;   ///< of a user who was looked up
  std::string group;  ///< to be looked up, in place of `gid`

  /// Whether something is looked up before the program begins: a user's number, a group's, or the HOME of a number.
  [[nodiscard]] bool is_open() const { return uid.has_value() == user.empty() || !group.empty(); }

  bool operator==(const Identity&) const = default;
};

/// A program and its arguments. No shell is involved unless it is the program.
struct Command {
  std::vector<std::string> arguments;  ///< the program's path first
  Sparse<Identity> identity;
  Duration timeout{0};  ///< 0: none

  bool operator==(const Command&) const = default;
};

/// One step in ending a foreground process: the signal for its main process, and how long it may take.
struct StopSignal {
  int number = 15;
  Duration within{30'000};

  bool operator==(const StopSignal&) const = default;
};

/// The shortest time of a watchdog.
inline constexpr Duration kShortestWatchdog{1000};

/// `check process NAME with program "..."`: a program that healer runs as its own child, in the foreground.
struct ForegroundSpec {
  Command command;  ///< without timeout
  /// `stop signal TERM within 20 seconds`, in the order of writing; never empty (the default is SIGTERM within the stop
  /// timeout). What is left of its session after the last, or after its main process has gone, gets SIGKILL.
  std::vector<StopSignal> stop;
  /// `ready after 5 seconds`: it counts as ready when it says so (READY=1 on NOTIFY_SOCKET), or when it has lived so
  /// long. With `by_notice` (`ready on notify within 30 seconds`) its word alone counts, and without it the start has
  /// failed by then.
  Duration ready_after{1000};
  bool by_notice = false;
  /// `watchdog 30 seconds`: when it is ready it must say WATCHDOG=1 so often, else it is ended, which counts as its
  /// death. 0: it need not.
  Duration watchdog{0};

  bool operator==(const ForegroundSpec&) const = default;
};

}  // namespace healer::engine
