// SPDX-License-Identifier: MIT
// A program that this daemon has started: notices its exit, ends it with all processes of its session, reaps it.
//
// Nothing is signalled without proof. The process is a child that only this object reaps, so until then its number, and
// the numbers of its group and session, cannot belong to anybody else. Its group is signalled directly; processes of
// its session in groups of their own (as timeout(1) and shells with job control make them) are looked for in /proc
// (runtime/process/session), and the program is reaped after that. What has made a session of its own has left
// (of a foreground process runtime/process/detached_processes ends it).
#pragma once

#include <functional>
#include <memory>

#include "engine/events/outcome.hpp"
#include "runtime/loop.hpp"
#include "runtime/process/launch.hpp"
#include "runtime/process/session.hpp"

namespace healer::runtime {

class Child {
 public:
  struct Exit {
    engine::Outcome outcome = engine::Outcome::Exited;  ///< Exited or Signalled
    int status = 0;                                     ///< exit value, or the signal's number
  };
  using OnExit = std::function<void(Exit)>;

  /// Time between SIGTERM and SIGKILL.
  static constexpr Duration kGrace{2000};

  /// Takes over a started program. `on_exit` is called once, on the loop, when it has exited and is reaped; it may
  /// destroy the Child. `sweeper` looks for its processes when they are to end. Where the kernel gave no pidfd, the
  /// exit is noticed by looking every 50 ms.
  Child(Loop& loop, SessionSweeper& sweeper, Started started, OnExit on_exit);
  /// Kills and reaps what still runs, unless it was let go.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// SIGTERM to the whole session now, SIGKILL to what is left of it when the program exits, at the latest after
  /// kGrace.
  void end();
  /// When the program exits, what is left of its session gets SIGKILL, and `on_exit` is called when that has gone.
  void take_session_along() { takes_session_ = true; }
  /// Signals the program alone.
  void signal(int number);
  /// SIGKILL to the program and its group now, and to the rest of its session when it exits.
  void kill();
  /// Leaves the program alone from now on: its exit is not noticed and it is not reaped.
  void let_go();

 private:
  void check();
  void sweep(int number);

  Loop& loop_;
  SessionSweeper& sweeper_;
  pid_t pid_;
  Descriptor pidfd_;
  OnExit on_exit_;
  Loop::Watch watch_;
  Loop::Timer poll_;
  Loop::Timer kill_;
  bool ending_ = false;
  bool takes_session_ = false;
  bool killed_ = false;  ///< it has exited, and the rest of its session was killed
  bool over_ = false;
  unsigned sweeping_ = 0;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace healer::runtime
