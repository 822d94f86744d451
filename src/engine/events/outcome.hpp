// SPDX-License-Identifier: MIT
// How a program or process has ended.
#pragma once

#include <cstdint>

namespace healer::engine {

/// How a run of a check program ended.
enum class Outcome : std::uint8_t {
  Exited,      ///< status is its exit value
  Signalled,   ///< status is the number of the signal, as in Monit
  TimedOut,    ///< status is 9, as in Monit
  NotStarted,  ///< the program could not be started: `output` says why; status is 127
  Unmatched    ///< it has ended, but its output could not be matched: `output` begins with why; status is 9
};

/// How a process has ended.
struct ProcessEnd {
  Outcome outcome = Outcome::Exited;  ///< Exited or Signalled
  std::int64_t status = 0;

  bool operator==(const ProcessEnd&) const = default;
};

}  // namespace healer::engine
