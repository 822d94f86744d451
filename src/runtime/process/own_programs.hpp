// SPDX-License-Identifier: MIT
// Which processes are programs that healer runs: a `check process ... matching` must never take a check program, an
// exec, a guard or a step for its service, nor what is in their sessions.
//
// A session belongs to the program that began it. It is known while its program runs, and afterwards as long as
// processes are left in it: the number of a session is nobody else's until the last of them has ended. What the program
// of a healing or a rule has left is remembered for the last kMostLeft of them; what a check program has left is also
// known by its mark (actions/environment), which has the number of its session. Processes that have begun a session of
// their own, as daemons do, belong to nobody.
//
// A start program is what it starts, or will leave it behind, so its session may be the service of which it is the
// start program, and after its time the service of others, too.
//
// May be used by several threads.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/inspection/proc_table.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What a program is run for.
struct ProgramUse {
  enum class Kind : std::uint8_t {
    Check,   ///< a check program
    Other,   ///< an exec, a guard, a step, a stop program
    Start,   ///< a start or restart program
    Service  ///< a foreground process: a service itself
  };
  Kind kind = Kind::Other;
  std::string service{};  ///< Start: of which it is one
  Duration until{0};      ///< Start: mono time; then it is a service itself, if it still runs
};

class OwnPrograms {
 public:
  /// Sessions that are remembered after their programs have ended.
  static constexpr std::size_t kMostLeft = 1024;

  /// `check_mark`: that of check programs, before their number; empty: they have none.
  explicit OwnPrograms(std::string check_mark = {}) : check_mark_(std::move(check_mark)) {}

  /// A program runs; it leads a session of its own.
  void runs(pid_t leader, ProgramUse use);
  /// It has ended, and is reaped, or will be. Unknown ones are ignored.
  void ended(pid_t leader);

  /// Whether a process is a program of healer's, or in the session of one, that cannot be `service`. It may read the
  /// environment of the process: not for the loop thread.
  [[nodiscard]] bool is_not(const ProcSnapshot& snapshot, const ProcStat& process, const std::string& service);

  /// Whether that is a program that runs, as far as has been told.
  [[nodiscard]] bool runs(pid_t leader) const;

  /// Sessions of programs that run, and that are remembered.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Session {
    ProgramUse use;
    bool over = false;
    std::uint64_t known_until = 0;  // over: in ticks since boot; somebody was in it then
  };

  [[nodiscard]] bool is_left(const ProcSnapshot& snapshot, pid_t leader, Session& session) const;

  std::string check_mark_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<pid_t, Session> sessions_;
  std::deque<pid_t> left_;  // of these, those that are over: the oldest first
};

/// Whether this process becomes the parent of all processes whose own has ended: it is the first of its name space, or
/// has been made their reaper.
[[nodiscard]] bool inherits_orphans();

/// Whether `process` is in the session of a check program, by its environment. `mark`: that of check programs before
/// their number (actions/environment), or the beginning of it.
[[nodiscard]] bool is_of_check(const ProcStat& process, const std::string& mark);

/// The same of all programs of any healerd that no pattern finds, as far as can be seen from outside of it: what a
/// start program is, or leaves, is not among them.
[[nodiscard]] bool is_run_by_healer(const ProcSnapshot& snapshot, const ProcStat& process);

}  // namespace healer::runtime
