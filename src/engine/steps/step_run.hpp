// SPDX-License-Identifier: MIT
// The sequencer of a step: what follows when it is begun, when it ends, when a time is over, and when another daemon
// goes on with it. It does nothing itself, and of what its step does it knows only what that waits for.
//
//   state         event(): done   failed, or in doubt    deadline()            restore(), nothing is known of it
//   Fresh         Done            Pausing, or Failed     -                     -
//   Running       Done            Pausing, or Failed     -                     Fresh, or its end is in doubt
//   Requesting    Done            Pausing, or Failed     -                     Fresh, or its end is in doubt
//   Polling       Done            Pausing, or Failed     -                     -
//   Bringing      Done            Pausing, or Failed     -                     Fresh: it looks first
//   Waiting       Done            Pausing, or Failed     its end: done         -
//   Verifying     Done            Pausing, or Failed     its end: failed       -
//   Pausing       Done            Pausing, or Failed     Fresh, next attempt   -
//   Ending        Failed          Failed                 -                     its end is in doubt
//   Done, Failed  nothing happens to it any more
//
// begin() leads from each but the last two to what is waited for. Pausing: where the step is tried again
// (is_tried_again). Never Fresh again: a step that is in doubt, and is not repeatable.
// One that is, and never seen to end, has failed in the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/healing/deadline.hpp"
#include "engine/ids.hpp"
#include "engine/steps/step_end.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// A step that is under way; of `parallel` each of its steps is one.
struct StepRun {
  static constexpr std::uint32_t kMostDoubts = 3;

  enum class State : std::uint8_t {
    Fresh,       ///< to be begun
    Running,     ///< its program runs
    Requesting,  ///< its request was sent
    Polling,     ///< its request was answered; until `due` it is asked whether what it began is done
    Bringing,    ///< a service is started, stopped or restarted
    Waiting,     ///< until `due`
    Verifying,   ///< `recovered`: until `due` at most
    Pausing,     ///< it has failed, and is tried again when `due` has come
    Ending,      ///< its program was told to end
    Done,
    Failed
  } state = State::Fresh;
  std::uint32_t attempt = 1;
  std::uint32_t doubts = 0;  ///< how often this attempt was begun anew, as nobody saw how it had ended
  ActionId action{};         ///< Running, Ending, Requesting
  std::optional<Deadline> due{};
  WallTime begun{};       ///< of this attempt
  std::string failure{};  ///< why the last attempt has failed
  std::string request{};  ///< "POST https://heat.example/v1", and what was answered

  bool operator==(const StepRun&) const = default;
  [[nodiscard]] bool over() const { return state == State::Done || state == State::Failed; }

  /// It, or the next part of it, is begun: that is what it waits for now. Requires: not over.
  void begin(State waits_for);
  /// Its attempt has ended so, of a step with these terms. Requires: not over.
  void event(StepEnd end, StepTerms terms);
  /// `due` is over. Returns the end that this is: then event() is to be told.
  [[nodiscard]] std::optional<StepEnd> deadline();
  /// Nothing is known any more of what it waits for: neither whether that goes on, nor how it has ended. It is Fresh
  /// then, the same attempt of it, if it may be; else returns the end that this is: then event() is to be told. An
  /// attempt that is never seen to end (it ends the machine, perhaps) is begun anew `kMostDoubts` times.
  [[nodiscard]] std::optional<StepEnd> restore(StepTerms terms);
};

}  // namespace healer::engine
