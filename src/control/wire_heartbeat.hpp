// SPDX-License-Identifier: MIT
// The part of control/wire that is about heartbeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "util/time.hpp"

namespace healer::control {

/// Most bytes of the text that comes with a beat.
inline constexpr std::size_t kMaxBeatText = 4096;

/// What is told with `beat`.
struct BeatSent {
  std::string word = "good";  ///< "good", "start", "fail", "exit"
  std::int64_t status = 0;    ///< of "exit"
  std::string text;           ///< at most kMaxBeatText bytes
  std::string token;          ///< that of the heartbeat, of whoever has no role; never shown or logged

  bool operator==(const BeatSent&) const = default;
};

/// What is known of a heartbeat.
struct HeartbeatView {
  std::optional<WallTime> last;       ///< its last beat but `start`; none: there was none yet
  std::string word;                   ///< of that: "none", "good", "fail", "exit"
  std::int64_t status = 0;            ///< of "exit"
  std::string text;                   ///< that came with it
  std::string beat;                   ///< the word for people: "exit status 3"
  Duration every{0};                  ///< as the rules say
  Duration within{0};                 ///< the same
  std::optional<WallTime> due;        ///< when the next is due
  std::optional<WallTime> missed_at;  ///< when it is missed, if none comes; none: it is not judged, or is missed
  std::optional<WallTime> missed;     ///< since when it is
  std::optional<WallTime> started;    ///< since when a run is under way
  std::optional<Duration> ran;        ///< what the last run took

  bool operator==(const HeartbeatView&) const = default;
};

}  // namespace healer::control
