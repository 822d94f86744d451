// SPDX-License-Identifier: MIT
// Proof of identity for processes that are not our children: a number alone proves nothing, a number with its start
// time does; and signals to what is proved.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// A process for ever: numbers are used again, a number with its start time is not.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;

  bool operator==(const ProcessIdentity&) const = default;
};

/// The fields of /proc/PID/stat that matter here.
struct ProcStat {
  pid_t pid = -1;
  std::string name;  ///< of the executable, at most 15 bytes
  char state = '?';
  pid_t parent = -1;
  pid_t group = -1;
  pid_t session = -1;
  std::uint64_t cpu_ticks = 0;  ///< used by it so far, in user and system mode
  std::uint32_t threads = 0;
  std::uint64_t start_ticks = 0;     ///< since boot
  std::uint64_t resident_pages = 0;  ///< 0 where the line ends before it

  [[nodiscard]] bool zombie() const { return state == 'Z' || state == 'X'; }
};

/// What is read of files of /proc/PID at most, in bytes.
inline constexpr std::size_t kMostOfStat = 4096;
inline constexpr std::size_t kMostOfCommand = 64 * 1024;
inline constexpr std::size_t kMostOfEnvironment = 256 * 1024;

/// The head of a small file, at most `most` bytes. A relative `path` begins at `directory`.
[[nodiscard]] Result<std::string> read_head(int directory, const char* path, std::size_t most);
/// Whether that is how /proc says that a process is not there (any more).
[[nodiscard]] bool is_gone(const Error& error);

[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view line);
/// Of a process now; nothing where there is none.
[[nodiscard]] std::optional<ProcStat> read_proc_stat(pid_t pid);

/// Whether /proc shows processes, by the numbers that they have for this one: an Error where it is not mounted, or is
/// that of another name space. What is not in it is not known to be gone then.
[[nodiscard]] Result<void> proc_is_ours();
/// Whether the kernel knows a process of that number, whatever /proc shows.
[[nodiscard]] bool has_number(pid_t pid);
/// A start time as mono time.
[[nodiscard]] Duration start_time(std::uint64_t start_ticks);
/// Whether a process was started after a file was written (nanoseconds since the epoch), as far as the clocks of today
/// can tell.
[[nodiscard]] bool started_after(std::uint64_t start_ticks, std::int64_t written);
/// A mono time as a start time.
[[nodiscard]] std::uint64_t ticks_at(Duration mono);
/// How many ticks of start times and cpu times make a second.
[[nodiscard]] std::uint64_t ticks_per_second();

/// A pidfd of the process that has this number now; none where there is no such process, or no descriptor left.
[[nodiscard]] Descriptor open_pidfd(pid_t pid);

/// A pidfd of the process that had this number and this start time, while it has not exited. An Error with code ESRCH
/// where it is certain that it is gone, with another code where that cannot be told (no descriptor left, or /proc hides
/// who has the number now).
[[nodiscard]] Result<Descriptor> find_process(pid_t pid, std::uint64_t start_ticks);
/// Whether the process that `pidfd` holds has not exited.
[[nodiscard]] bool lives(const Descriptor& pidfd);
/// Whether it has been reaped: until then its number is nobody else's.
[[nodiscard]] bool is_reaped(const Descriptor& pidfd);

/// Signals the process that had this number and this start time, if it still lives. An Error with code ESRCH where it
/// does not.
[[nodiscard]] Result<void> signal_process(pid_t pid, std::uint64_t start_ticks, int number);

/// Signals the processes of the session that `leader` made, but not the leader and not those of `spared_group` (0:
/// none); each is proved by a pidfd. `proved` says whether the number of the session is still the leader's; asked
/// before each signal. Returns how many there were. Blocks for as long as /proc takes: not for the loop thread.
unsigned signal_members(pid_t leader, pid_t spared_group, int number, const std::function<bool()>& proved);

/// Signals the process that `pidfd` holds, alone; nothing happens where it is gone.
void signal_held(const Descriptor& pidfd, int number);

/// Signals what is left of the group of a leader that is gone, of which `pidfd` is the proof: by kernels from 6.9 on.
void signal_group(const Descriptor& pidfd, int number);

/// Signals the whole session of a leader that is not our child, of which `pidfd` is the proof. What is in other groups
/// than the leader's is reached while the leader lives; its own group also later, by kernels from 6.9 on. Blocks as
/// above.
void signal_session(const Descriptor& pidfd, pid_t leader, int number);

}  // namespace healer::runtime
