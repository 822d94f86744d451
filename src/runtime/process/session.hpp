// SPDX-License-Identifier: MIT
// Ends the processes in the sessions of programs, and waits until they are gone. Many sessions at a time share each
// look at all processes, which is made on a helper's thread.
//
// Nothing is signalled without proof. The session of a child that has not been reaped is proved by its number, because
// no other session can have it before then. If the leader was not our child, its number is free as soon as its session
// is empty, and may be reused by a stranger. So a process with that session number counts as part of the session only
//  - if it existed already while the leader was known to live (a process never joins a session later),
//  - or if its output goes to the file that only this session uses,
//  - or while a proved process is in the session: until it ends the number cannot be a stranger's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/descriptor.hpp"
#include "runtime/loop.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

/// What is known of a session whose leader is not our child.
struct SessionProof {
  std::uint64_t known_until = 0;  ///< in ticks since boot: the leader lived then
  std::string output;             ///< the file its programs write to, as the kernel names it; empty: not known
};

/// Owned and called by the loop thread.
class SessionSweeper {
 public:
  /// How long SIGKILL is repeated, and its effect waited for.
  static constexpr Duration kPatience{2000};

  explicit SessionSweeper(Loop& loop);
  SessionSweeper(const SessionSweeper&) = delete;
  SessionSweeper& operator=(const SessionSweeper&) = delete;

  /// Signals the processes of the session that `leader`, our child, has made, but not those of its own group, which the
  /// caller has signalled. `done` is called on the loop, never from within; until then the leader must not be reaped.
  void signal(pid_t leader, int number, Loop::Callback done);
  /// SIGKILL to all that is left of the session of `leader`, which has exited: our child, which is not reaped before
  /// `done`, or with a proof. `done` is called when they have gone, at the latest after kPatience.
  void kill(pid_t leader, std::shared_ptr<const SessionProof> proof, Loop::Callback done);

 private:
  struct Order;
  using Orders = std::vector<std::shared_ptr<Order>>;

  void add(std::shared_ptr<Order> order);
  void walk();
  void walked(const Orders& orders);
  [[nodiscard]] static bool carry_out(const Orders& orders);

  Loop& loop_;
  Orders waiting_;
  bool walking_ = false;
  Loop::Timer again_;
  WorkerPool helper_;
};

}  // namespace healer::runtime
