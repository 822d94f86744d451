// SPDX-License-Identifier: MIT
// Matches the patterns of content tests on threads of its own. They see the output as one text, as in
// Monit: line ends and all (^ and $ are its ends, . matches a line end), without white space at either end; other than
// in Monit a zero byte does not end it. A pattern may backtrack for ever and cannot be stopped: its thread is then lost
// for a while and replaced (runtime/worker_pool), and the caller is told that no answer came. Each thread compiles a
// set of patterns once and keeps it; nothing compiled is shared between threads, because the C library lets only one
// thread at a time use a compiled pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"
#include "util/result.hpp"

namespace healer::runtime {

class Matcher {
 public:
  struct Options {
    unsigned workers = 2;
    unsigned max_lost = 8;
    Duration patience{10'000};  ///< for an answer; includes the wait for a thread
  };
  using Patterns = std::shared_ptr<const std::vector<std::string>>;
  using Text = std::shared_ptr<const std::string>;
  /// Bit i is set where pattern i matches; or an Error (a pattern that does not compile, no answer in time).
  using Done = std::function<void(Result<std::uint64_t>)>;

  Matcher(Loop& loop, Options options);

  /// Matches `text` against at most engine::kMaxPatterns patterns (POSIX extended). `done` is called on the
  /// loop, once, never from within match().
  void match(Patterns patterns, Text text, Done done);

 private:
  struct Waiting {
    Done done;
    Loop::Timer patience;
  };
  void answer(std::uint64_t id, Result<std::uint64_t> result);

  Loop& loop_;
  Options options_;
  std::uint64_t next_id_ = 1;
  std::unordered_map<std::uint64_t, Waiting> waiting_;
  WorkerPool pool_;
};

}  // namespace healer::runtime
