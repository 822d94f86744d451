// SPDX-License-Identifier: MIT
// Starting one program, blocking: what runtime/process/spawner does on its threads. The child shares the memory of the
// calling thread until it has become the program (CLONE_VM | CLONE_VFORK), so its failure comes back exactly, without a
// pipe.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ids.hpp"
#include "engine/rules/command.hpp"
#include "runtime/descriptor.hpp"
#include "runtime/process/launch_slots.hpp"
#include "runtime/process/own_programs.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// Who waits for a program in the daemon's stead (runtime/programs/waiter).
struct WaiterOrder {
  std::string program;  ///< the waiter's: an executable whose main() begins with is_waiter()
  engine::ActionId action;
  Duration deadline{0};  ///< mono: when the program is ended; 0: never
  Descriptor folder;     ///< of the action's files, where the record goes
  std::string state{};   ///< whose the control groups and marks of programs are; empty: there are none
};

/// What to start. The program gets a session and process group of its own, /dev/null as input, no descriptor but the
/// three, default signals, umask 022, an OOM score of 0 and the resource limits of LaunchDefaults.
struct Launch {
  std::vector<std::string> arguments;    ///< the program's path first
  std::vector<std::string> environment;  ///< NAME=value, complete
  std::string directory = "/";           ///< where it begins
  std::string mark;                      ///< "NAME=text": one more variable, the text followed by the program's number
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t>
      gid;  ///< with uid or gid set, the supplementary groups are this group alone, as in Monit
  std::optional<engine::Identity> looked_up{};  ///< whose names give `uid` and `gid` first; not for Launcher
  bool sets_home = false;                       ///< and HOME in the environment
  Descriptor output;                            ///< becomes 1
  Descriptor error;                             ///< becomes 2; none: the same as `output`
  Descriptor proof;         ///< the child writes its own /proc/self/stat here before it becomes the program; what it
                            ///< cannot write to it empties
  Descriptor group;         ///< directory of the control group that it is born in, if it can be; none: the daemon's own
  bool must_prove = false;  ///< where it cannot, it does not become the program
  std::optional<WaiterOrder> waiter;  ///< not for Launcher: for start_waited()
  ProgramUse use;                     ///< not for Launcher: what it is started for

  /// As whom: what is still a name is looked up where programs are started.
  void run_as(const engine::Identity& identity);
};

/// What all programs get, taken when the daemon starts, before it changes its own limits.
struct LaunchDefaults {
  std::vector<std::pair<int, rlimit>> limits;  ///< resource, value
  bool reset_oom_score = false;                ///< the daemon has a score of its own

  [[nodiscard]] static LaunchDefaults capture();
};

/// The part of a launch that other threads may see.
struct LaunchProgress {
  std::atomic<int> pidfd{-1};
  std::atomic<bool> child_runs{false};  ///< pidfd is valid
};

/// A waiter that runs.
struct WaiterHandle {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor socket;  ///< on which it says how the program has ended; none: it is not this daemon's child
};

struct Started {
  pid_t pid = -1;
  Descriptor pidfd;                    ///< none where the kernel has none to give
  std::uint64_t start_ticks = 0;       ///< known where a proof was asked for
  WaiterHandle waiter{};               ///< whose child the program is, where one was asked for
  std::optional<std::uint32_t> uid{};  ///< as whom; none: as healer
};

class Launcher {
 public:
  /// Throws std::system_error where there is no memory. With `slots` the child shares the descriptor table of this
  /// process until it has one of its own with what it needs; without, it gets a copy and closes the rest.
  explicit Launcher(LaunchDefaults defaults, std::shared_ptr<LaunchSlots> slots = {});
  ~Launcher();
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  /// Starts the program; returns when it runs, or with the step that failed ("cannot execute /x: Permission denied").
  /// The descriptors of `launch` are closed on return. Blocks as long as the kernel needs to read the program.
  /// One call at a time per Launcher.
  [[nodiscard]] Result<Started> start(Launch launch, LaunchProgress& progress);

 private:
  void inspect_self();

  LaunchDefaults defaults_;
  std::shared_ptr<LaunchSlots> slots_;
  std::vector<int> numbers_;  ///< of `slots_`; empty: the table is copied
  void* stack_ = nullptr;
  // What children are given of this process that is not the default; looked at now and then.
  std::optional<Duration> checked_;
  std::uint64_t signals_ = 0;                     ///< by number - 1: those with a handler, or that are ignored
  std::vector<std::pair<int, rlimit>> to_set_{};  ///< limits that differ from the defaults
};

}  // namespace healer::runtime
