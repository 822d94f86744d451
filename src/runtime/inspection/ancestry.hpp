// SPDX-License-Identifier: MIT
// To whom a process may belong: its session, its parents and their sessions. Anybody can cause such a query by writing
// to a socket that is open to all, so reads of /proc are limited: each process is looked at once a second at most, and
// kReadsPerSecond are allowed for all together, of which up to kMostAtOnce can be saved for a burst in which many
// processes start at once. When they are used up, no further process is looked at, whether it is a stranger or not.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/inspection/proc_stat.hpp"
#include "util/time.hpp"

namespace healer::runtime {

class AncestryReader {
 public:
  static constexpr std::int64_t kReadsPerSecond = 2000;
  static constexpr std::int64_t kMostAtOnce = 4000;
  static constexpr Duration kMemory{1000};
  using Read = std::function<std::optional<ProcStat>(pid_t)>;

  /// `self`: whoever it is that asks; what is above it is nobody's.
  explicit AncestryReader(Read read = read_proc_stat, pid_t self = ::getpid()) : read_(std::move(read)), self_(self) {}

  /// The process, its session, its parent, that one's session, and so on: those that are gone or that are everybody's
  /// (1 and less) left out. Nothing where it was looked at just now, or where no reads are left. Requires: `now`
  /// never goes back.
  [[nodiscard]] std::optional<std::vector<pid_t>> of(pid_t pid, Duration now);

 private:
  Read read_;
  pid_t self_;
  std::int64_t left_ = kMostAtOnce;  // reads
  Duration refilled_{0};
  std::deque<std::pair<Duration, pid_t>> checked_at_;
  std::unordered_set<pid_t> known_;  // of these
};

}  // namespace healer::runtime
