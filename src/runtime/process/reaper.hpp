// SPDX-License-Identifier: MIT
// Reaps what is left to this process: as the first process of a container it becomes the parent of every process whose
// own parent has ended, and nobody else would ever collect their ends.
//
// Own children are reaped by who has started them, who needs their status. So only a process that has ended a while ago
// and is no program of healer's is reaped. Whether there is any costs a system call a second; who it is is looked for
// on a helper's thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/loop.hpp"
#include "runtime/process/own_programs.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

/// Owned and called by the loop thread.
class Reaper {
 public:
  /// Between looks at first; where only own children have ended, longer, up to kLongestPause.
  static constexpr Duration kPause{1000};
  static constexpr Duration kLongestPause{8000};

  Reaper(Loop& loop, std::shared_ptr<const OwnPrograms> programs);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// How many it has reaped.
  [[nodiscard]] std::size_t reaped() const { return reaped_; }

 private:
  using Ended = std::vector<ProcessIdentity>;

  void check();
  void found(const Ended& ended);

  Loop& loop_;
  std::shared_ptr<const OwnPrograms> programs_;
  std::unordered_map<pid_t, std::uint64_t> waiting_;  // start time, by pid: what had ended at the last look
  std::size_t reaped_ = 0;
  Duration pause_ = kPause;
  Loop::Timer again_;
  WorkerPool helper_;
};

}  // namespace healer::runtime
