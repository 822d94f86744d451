// SPDX-License-Identifier: MIT
// Ends the check programs that a former daemon has left. One that was killed or has crashed ended none of them, and
// their timeouts have gone with it. Owned and called by the loop thread; the search, which may wait for any process,
// runs on a thread that is replaced when it is stuck.
//
// A check program bears a mark in its environment (actions/environment): whose it is, named by the lock of the state
// file, and its own number. Who holds that lock knows that no other daemon of this mark lives. A stale check is a
// process that bears the mark with its own number, leads its session, and began before the search did. The session gets
// SIGTERM at once, and SIGKILL 2 s later or when the leader exits, with the proofs of runtime/session.
//
// So what a check program has put into a session of its own is left alone, and what it left behind when it exited: a
// living daemon does not end these either. There escape, too: a program that has written over its environment or was
// executed with another (`exec env -i`), one whose environment may not be read (a set-user-ID program, where healer is
// not root), and the rest of a session whose leader has exited before the search.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/loop.hpp"
#include "runtime/process/session.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

class StaleChecks {
 public:
  /// Called on the loop, never from within the constructor.
  struct Callbacks {
    /// A stale check of that service is being ended.
    std::function<void(const std::string& service, pid_t pid)> found;
    /// That one and its session have gone.
    std::function<void(const std::string& service)> gone;
    /// Once: all stale checks are found, or `patience` is over. What is found later is told all the same.
    std::function<void()> searched;
  };

  /// Searches for those with the mark, which is `mark` and then their number.
  StaleChecks(Loop& loop, SessionSweeper& sweeper, std::string mark, Duration patience, Callbacks callbacks);
  ~StaleChecks();
  StaleChecks(const StaleChecks&) = delete;
  StaleChecks& operator=(const StaleChecks&) = delete;

 private:
  struct StaleCheck;
  using Leaders = std::vector<std::pair<pid_t, std::uint64_t>>;

  void ask(const Leaders& leaders);
  void asked(std::unique_ptr<StaleCheck> stale_check);
  void searched();
  [[nodiscard]] static std::unique_ptr<StaleCheck> recognise(pid_t pid, std::uint64_t start_ticks,
                                                             const std::string& mark);
  void end(StaleCheck& stale_check);
  void signal(const StaleCheck& stale_check, int number);
  void press(StaleCheck& stale_check);
  void leader_gone(StaleCheck& stale_check);

  Loop& loop_;
  SessionSweeper& sweeper_;
  std::string mark_;
  Callbacks callbacks_;
  std::unordered_map<pid_t, std::unique_ptr<StaleCheck>> stale_checks_;
  std::size_t unasked_ = 0;  ///< leaders of sessions
  bool searched_ = false;
  Loop::Timer patience_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  WorkerPool searcher_;
};

}  // namespace healer::runtime
