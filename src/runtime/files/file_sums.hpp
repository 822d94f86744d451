// SPDX-License-Identifier: MIT
// Checksums of files, however big, in slices: so that a big file keeps no small one waiting, and what is no longer
// wanted ends soon. At most as many files are read at a time as there are cores, each for a fifth of a second, in turn;
// others wait. A mount that does not answer costs the files on it, and a file that is read for longer than `longest` is
// given up.
//
// Owned and called by the loop thread; never blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/rules/attribute.hpp"
#include "engine/rules/plan.hpp"
#include "runtime/files/mount_guard.hpp"
#include "runtime/inspection/path_inspection.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// The checksums of a file, as attributes.
struct FileSums {
  FileState state;  ///< before it was read
  engine::measure::Checksums wanted;
  std::vector<std::pair<engine::Attribute, engine::Value>> sums;
  /// They are those of every file in this state: it did not change while it was read, nor shortly before, when a change
  /// need not show in its times; and all of it is in the file, unlike in those of the kernel.
  bool lasting = false;
};

class FileSummer {
 public:
  struct Options {
    unsigned at_once = 0;       ///< 0: as many as cores
    Duration stuck{1000};       ///< after which a thread is replaced
    Duration patience{10'000};  ///< for a slice
    Duration longest{600'000};  ///< of the reading of one file
  };
  /// On the loop, never from within a call.
  using Done = std::function<void(Result<FileSums>)>;

  FileSummer(Loop& loop, const Options& options, std::shared_ptr<MountGuard> guard);
  ~FileSummer();
  FileSummer(const FileSummer&) = delete;
  FileSummer& operator=(const FileSummer&) = delete;

  /// Reads a file. Calls `done` once, unless it is cancelled. Requires: `id` is not in use.
  void sum(std::uint64_t id, const std::string& path, const engine::measure::Checksums& wanted, Done done);
  /// Unknown ones are ignored.
  void cancel(std::uint64_t id);

 private:
  class Reading;
  struct Job;
  void go_on();
  void submit(std::uint64_t id, Job& job);
  void stepped(std::uint64_t id, const Result<bool>& ended, Duration spent);
  void end(std::uint64_t id, Result<FileSums> result);

  Loop& loop_;
  Options options_;
  std::shared_ptr<MountGuard> guard_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Job>> jobs_;
  std::deque<std::uint64_t> begun_;    ///< wait for their next slice; their files are open
  std::deque<std::uint64_t> waiting_;  ///< for their first
  unsigned active_ = 0;
  WorkerPool pool_;
};

}  // namespace healer::runtime
