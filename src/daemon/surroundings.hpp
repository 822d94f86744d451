// SPDX-License-Identifier: MIT
// What people and programs are told of the machine and of the daemon's places, and the end of its log file.
#pragma once

#include <cstddef>
#include <string>

#include "control/supervisor.hpp"
#include "daemon/paths.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer {

/// The machine as the kernel tells of it, and the id of this healer, which is made if there is none.
[[nodiscard]] control::Surroundings look_around(const Paths& paths);

/// At most `most` bytes of whole lines at the end of a file. An error where it is no regular file. Blocks.
[[nodiscard]] Result<std::string> end_of_file(const std::string& path, std::size_t most);

/// Reads the ends of files on a thread of its own, which is replaced when it hangs.
class FileEnds {
 public:
  explicit FileEnds(runtime::Loop& loop);
  /// As end_of_file(). `done` on the loop thread, never from within.
  void read(std::string path, std::size_t most, control::Supervisor::LogRead done);

 private:
  runtime::WorkerPool pool_;
};

}  // namespace healer
