// SPDX-License-Identifier: MIT
// Reads the lists of `for each` off the loop: files on threads of their own, which are replaced where a disk hangs, and
// what a command prints. Owned and called by the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop.hpp"
#include "runtime/process/spawner.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class ListReader {
 public:
  /// For a command to end. Then it and what it has started get SIGTERM, and SIGKILL 2 s later.
  static constexpr Duration kPatience{30'000};
  static constexpr std::size_t kLargest = 64U << 20;

  /// Told on the loop, once, never from within: the text, or why there is none.
  using Done = std::function<void(Result<std::string>)>;

  ListReader(Loop& loop, Spawner& spawner, Duration patience = kPatience);
  ~ListReader();
  ListReader(const ListReader&) = delete;
  ListReader& operator=(const ListReader&) = delete;

  /// Refuses what is no regular file, what others can write, and what is too large.
  void read_file(const std::string& path, Done done);
  /// Runs a program, without a shell. It must end with status 0.
  void run(std::vector<std::string> arguments, std::vector<std::string> environment, Done done);

 private:
  struct Run;

  void spawned(std::uint64_t id, Result<Started> result);
  void finish(std::uint64_t id, Result<std::string> result);

  Loop& loop_;
  Spawner& spawner_;
  Duration patience_;
  WorkerPool pool_;
  std::map<std::uint64_t, std::unique_ptr<Run>> runs_;
  std::uint64_t next_ = 1;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
