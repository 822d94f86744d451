// SPDX-License-Identifier: MIT
// Proof of identity for processes that are not our children: a number alone proves nothing, a number with its start
// time does; and signals to what is proved.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "runtime/descriptor.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// The fields of /proc/PID/stat that matter here.
struct ProcStat {
  pid_t pid = -1;
  char state = '?';
  pid_t group = -1;
  pid_t session = -1;
  std::uint64_t start_ticks = 0;  ///< since boot
};

[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view line);
/// Of a process now; nothing where there is none.
[[nodiscard]] std::optional<ProcStat> read_proc_stat(pid_t pid);
/// A start time as mono time.
[[nodiscard]] Duration start_time(std::uint64_t start_ticks);

/// A pidfd of the process that had this number and this start time, while it has not exited; else none.
[[nodiscard]] Descriptor find_process(pid_t pid, std::uint64_t start_ticks);

/// Signals the processes of the session that `leader` made, but not the leader and not those of `spared_group` (0:
/// none); each is proved by a pidfd. `proved` says whether the number of the session is still the leader's; asked
/// before each signal. Returns how many there were. Blocks for as long as /proc takes: not for the loop thread.
unsigned signal_members(pid_t leader, pid_t spared_group, int number, const std::function<bool()>& proved);

/// Signals the whole session of a leader that is not our child, of which `pidfd` is the proof. What is in other groups
/// than the leader's is reached while the leader lives; its own group also later, by kernels from 6.9 on. Blocks as
/// above.
void signal_session(const Descriptor& pidfd, pid_t leader, int number);

}  // namespace healer::runtime
