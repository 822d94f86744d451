// SPDX-License-Identifier: MIT
// Ends the processes that foreground processes leave running outside their sessions when they end: a program that goes
// to the background leaves one such copy at each start, and the next one must not run beside it. The same for steps of
// healings that were told to end, of which nothing may be left, however long that takes.
//
// They are found by the control group of the action (runtime/process/control_groups) or, without one, by HEALER_ACTION
// in their environment; then processes that have overwritten it, or that this daemon may not read, are missed. They get
// SIGTERM, and after kGrace SIGKILL until they are gone, always after pid and start time have been verified. A process
// that is still there kPatience later hangs in the kernel, or may not be signalled by us, and is left alone (of a step:
// waited for). Processes that they start meanwhile are in the group, too. Many searches at a time share each look.
//
// Owned and called by the loop thread; the looks are made on a helper's thread. If reading an environment hangs, the
// environments are given up after kPatience without progress, or after kMostPatience.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/ids.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/control_groups.hpp"
#include "runtime/worker_pool.hpp"

namespace healer::runtime {

class DetachedProcesses {
 public:
  /// Between SIGTERM and SIGKILL.
  static constexpr Duration kGrace{2000};
  static constexpr Duration kPatience{1000};
  static constexpr Duration kMostPatience{10'000};
  /// Called on the loop, never from within end(), when nothing is left that can be ended. `ended`: one that was there;
  /// 0: nobody was.
  using Done = std::function<void(pid_t ended)>;
  /// The same of check(): one that is there, with its command line as far as that can be seen; 0: nobody is.
  using Checked = std::function<void(pid_t left, std::string command)>;

  DetachedProcesses(Loop& loop, std::shared_ptr<const ControlGroups> groups);
  DetachedProcesses(const DetachedProcesses&) = delete;
  DetachedProcesses& operator=(const DetachedProcesses&) = delete;

  /// Ends all that is left of this action, whose program and its session have gone. `owner`: as whom it ran; none: as
  /// healer. Where there is no group only what is that one's, or healer's, is taken for what it has left.
  /// `until_gone`: what cannot be ended is waited for.
  void end(engine::ActionId action, std::optional<uid_t> owner, Done done, bool until_gone = false);
  /// Looks for the same, and ends nothing.
  void check(engine::ActionId action, std::optional<uid_t> owner, Checked done);

 private:
  struct Order {
    Checked done;
    std::optional<uid_t> owner;
    Duration pause{2};
    std::optional<Duration> found{};  ///< when something was
    bool by_mark = true;              ///< where there is no group
    bool until_gone = false;          ///< it is not given up
    bool only_checks = false;         ///< nothing is ended
    bool asked = false;
  };
  struct Task {
    engine::ActionId action;
    int number = 0;  ///< of the signal; 0: none now
    bool by_mark = true;
    std::optional<uid_t> owner{};
    bool only_checks = false;
  };
  struct Left {
    std::uint64_t action = 0;
    bool any = false;
    std::string command{};
  };
  /// The first process of each action that was signalled: also by a look that was slow, and has been given up since.
  class Signalled {
   public:
    void note(std::uint64_t action, pid_t pid);
    /// 0: none was. It is forgotten.
    [[nodiscard]] pid_t take(std::uint64_t action);

   private:
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, pid_t> first_;
  };

  void walk();
  void walked(std::uint64_t walk, const std::vector<Left>& left);
  void refused(std::uint64_t walk);
  void stuck();
  [[nodiscard]] static std::vector<Left> carry_out(const ControlGroups& groups, const std::vector<Task>& tasks,
                                                   std::atomic<std::uint64_t>& inspected, Signalled& signalled);

  Loop& loop_;
  std::shared_ptr<const ControlGroups> groups_;
  std::map<std::uint64_t, Order> orders_;  // by action
  std::uint64_t walk_ = 0;
  bool walking_ = false;
  Duration walk_began_{0};
  std::shared_ptr<std::atomic<std::uint64_t>> inspected_;  // processes, so far; counted by the helper's thread
  std::uint64_t inspected_before_ = 0;
  std::shared_ptr<Signalled> signalled_ = std::make_shared<Signalled>();
  Loop::Timer again_;
  Loop::Timer patience_;
  WorkerPool helper_;
};

}  // namespace healer::runtime
