// SPDX-License-Identifier: MIT
// What an action runner keeps of actions: for its own files only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/programs/action_runner.hpp"
#include "runtime/programs/waiter.hpp"

namespace healer::runtime {

inline constexpr Duration kThinInterval{250};
inline constexpr auto kToEnd = "not started: it was cancelled before";

struct ActionRunner::Action {
  engine::ActionId id;
  bool foreground = false;
  bool only_watch = false;                                     // nothing of it is ended
  std::optional<std::uint32_t> owner;                          // as whom it runs; none: as healer
  ActionRequest request;                                       // of what this daemon starts
  ProgramUse use;                                              // what it is run for
  bool is_counted = false;                                     // among the programs that healer runs
  std::shared_ptr<bool> made = std::make_shared<bool>(false);  // its files, by an attempt that failed
  Duration started{0};
  std::optional<Duration> refused_since;
  bool timed_out = false;
  bool ending = false;        // requested by end()
  bool over = false;          // its end is being written down
  bool waits = false;         // for resources, or its turn, to be tried again
  std::string line;           // in which it stands; empty: in none (any more)
  std::string reported_wait;  // of what it waits for
  bool ready = false;         // as it said
  std::vector<engine::StopSignal> signals;
  std::size_t signalled = 0;  // of these
  Duration signal_due{0};     // mono: of the next
  Duration watched{0};        // how often it must say that it is well; 0: never
  Duration word{0};           // mono: when it did, or was first to
  bool doubted = false;       // its time is over; what it may have sent before is read first
  Loop::Timer watch_timer;
  Spawner::Ticket ticket = 0;
  Loop::Timer timer;  // timeout, the next attempt, the next signal, or SIGKILL
  pid_t pid = -1;     // while it runs
  std::unique_ptr<Child> child;
  bool waiter_lost = false;        // before it said whether the program runs
  bool waited = false;             // it runs, or ran, under a waiter: it is a step's
  Duration due = Duration::max();  // when it is to end
  int overdue = 0;                 // what was done about it
  Loop::Timer backstop;            // of that
  std::unique_ptr<Waiter> waiter;  // whose child the program is

  // Its output.
  std::size_t written = 0;
  Duration thin_when{0};
  Duration thin_pause = kThinInterval;

  std::shared_ptr<Descriptor> pidfd;  // of an adopted one, or a waiter's child

  // Of an adopted one.
  std::shared_ptr<SessionProof> proof;
  ExitStatusReader::Subscription subscription;
  Loop::Watch watch;
  Loop::Timer check;
};

/// What became of an action that an earlier daemon started.
struct ActionRunner::Found {
  ActionFiles::Trace trace;
  Descriptor waiter;  // while that lives
  Descriptor pidfd;
  std::shared_ptr<SessionProof> proof;
  std::string unknown;  // why it could not be checked
  bool lives = false;
};

}  // namespace healer::runtime
