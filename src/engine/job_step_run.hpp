// SPDX-License-Identifier: MIT
// What the step of a job that is under way waits for: a state machine. It does nothing itself, and does not know what
// its step is there for; parts/bringing/jobs tells it what was done.
//
//   state      await()   await_no_more()  hold()  run()     ended()  signal()    kill()  follow()
//   Looking    Awaiting  .                Held    Running   -        Signalled   -       Following
//   Awaiting   .         Looking, Held    -       -         -        -           -       -
//   Held       Awaiting  .                .       Running   -        Signalled*  -       -
//   Following  Awaiting  .                Held    Running   -        -           -       .
//   Running    -         -                -       -         Ran      -           -       .
//   Ran        -         -                -       -         -        -           -       -
//   Signalled  -         -                Held*   Running*  -        .           .       -
//
//   . it stays in its state, whose data may change
//   - this does not happen
//   * only where new rules have given it a stop program meanwhile, or have taken it away
//
// In the first three states nothing has been done yet, so that each look decides anew; in the others it waits for what
// was done to come about. Where a look finds the service as it is wanted, the step is done in whichever state; where
// its time is over, it has failed. A next step is anew(), and so is a step that starts over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "engine/ids.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// What an earlier start has left behind: it is to come up, or to end.
struct LeftBehind {
  ActionId by;           ///< its program
  std::int64_t pid = 0;  ///< the eldest of it
  std::uint64_t start_ticks = 0;
  std::string processes{};  ///< all of it, in words
  Duration since{0};        ///< mono: when it was seen first
  int signal = 0;           ///< the last that it got; 0: none
};

/// The step of a job that is under way.
struct JobStepRun {
  static constexpr Duration kFirstPause{20};

  /// Nothing was done yet: a look decides.
  struct Looking {};
  /// Something must go first: an earlier program, or what an earlier start has left.
  struct Held {
    Duration until{0};                 ///< mono: at most
    std::string failure;               ///< why it has failed then
    std::optional<LeftBehind> left{};  ///< what an earlier start has left, where it waits for that, or has done so
  };
  /// It waits for what another job does with a service that it needs.
  struct Awaiting {
    ServiceId service;
    std::optional<Held> before{};  ///< what has held it until then: that goes on afterwards
  };
  /// Its program, or its foreground process, was started.
  struct Running {
    ActionId action;
  };
  /// Its program has ended, and what it was to bring about is not there yet.
  struct Ran {
    ActionId action;
    std::string failure;  ///< why the program failed; empty: it did not
  };
  /// It stops by signal: this process was sent SIGTERM.
  struct Signalled {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;
    bool killed = false;    ///< SIGKILL was sent
    bool replaced = false;  ///< it has taken the place of the one that was signalled first
  };
  /// The foreground process that it has not started itself is to be ready, or to end; or a look is to tell what an
  /// earlier start has left.
  struct Following {};

  std::variant<Looking, Awaiting, Held, Following, Running, Ran, Signalled> state{};
  bool seen = false;              ///< a look has had an answer
  std::optional<RunId> check{};   ///< the look in flight
  std::optional<Duration> due{};  ///< mono: of the next look
  Duration pause = kFirstPause;   ///< between looks; doubles
  Duration deadline{0};           ///< mono: when it has failed
  Duration extended{0};           ///< by how much, for what the process has asked for

  // ---- what has become of it: see the table
  /// It waits for what another job does with `other`.
  void await(ServiceId other);
  /// No other job is to be waited for.
  void await_no_more();
  /// Something must go first; at most until `until`, where it is not held yet.
  Held& hold(Duration until);
  /// Its program was started.
  void run(ActionId action) { state = Running{action}; }
  /// Its program has ended; `failure`: why it failed, or empty.
  void ended(std::string failure);
  /// This process was sent SIGTERM.
  void signal(std::int64_t pid, std::uint64_t start_ticks);
  /// The process was sent SIGKILL too.
  void kill() { std::get<Signalled>(state).killed = true; }
  /// What becomes of its foreground process is waited for.
  void follow();
  /// One that has just begun. A look in flight is waited for, and it is woken when this one was to be.
  [[nodiscard]] JobStepRun anew() const { return {.check = check, .due = due}; }

  // ---- view
  /// Whether something was done that it waits for.
  [[nodiscard]] bool acting() const;
  /// Its program, that runs or has ended; 0: none (yet).
  [[nodiscard]] ActionId action() const;
  /// Its program, while that runs; 0: none.
  [[nodiscard]] ActionId running() const;
  /// Why it has failed when its time is over, as far as that is known.
  [[nodiscard]] std::string failure() const;
  /// Whether its program has ended, and has not failed.
  [[nodiscard]] bool ran_well() const;
  [[nodiscard]] std::optional<ServiceId> awaited() const;
  /// Null: nothing holds it, or it waits for another job.
  [[nodiscard]] const Held* held() const { return std::get_if<Held>(&state); }
  /// Null: it does not stop by signal, or was sent none.
  [[nodiscard]] const Signalled* signalled() const { return std::get_if<Signalled>(&state); }
};

}  // namespace healer::engine
