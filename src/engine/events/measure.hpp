// SPDX-License-Identifier: MIT
// What the engine asks to have measured.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/ids.hpp"

namespace healer::engine {

/// Up to where the lines of a file were read, in bytes.
struct ReadPosition {
  std::int64_t file = 0;  ///< which one, as runtime/files/file_lines knows it; 0: none yet
  std::int64_t offset = 0;
  std::int64_t begin = 0;  ///< what it begins with, as known there; 0: nobody knows

  bool operator==(const ReadPosition&) const = default;
};

namespace effect {

/// Start a run: of a check program, or a look at a process or the system, by the kind of the service; answer with
/// event::Measured. After a look at a process its death is told by event::ProcessDied, but for a foreground process,
/// whose end is told by event::ActionEnded.
struct Measure {
  ServiceId service;
  RunId run;
  /// Of a foreground process that runs: which one, and no other is looked at. Of one with a pid file: which one that
  /// was found to name last; it is the service's as long as it lives and the file names no other that does. 0: none.
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  /// Where no process is found: also look for what this program has left (Facts::left), by control group and mark; else
  /// for what that one has left, by control group alone.
  ActionId left_by{};
  ActionId came_by{};
  /// Where the lines of a file are read on; none: at its end, for nobody has read it before.
  std::optional<ReadPosition> position{};
  /// Of a `check event`: of which its filters are asked; else null.
  std::shared_ptr<const std::string> document{};
  bool presence_only = false;  ///< no connection is made: whether its process is there must be known soon
};

/// End a run that is no longer wanted (its service is gone or unmonitored): SIGTERM, then SIGKILL to its group. No
/// answer needed.
struct CancelRun {
  ServiceId service;
  RunId run;
};

}  // namespace effect

}  // namespace healer::engine
