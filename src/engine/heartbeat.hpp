// SPDX-License-Identifier: MIT
// What is known of a heartbeat: a service that others tell of, while nobody looks at it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/time.hpp"

namespace healer::engine {

/// What a beat says.
enum class BeatWord : std::uint8_t {
  None,   ///< there was none yet
  Good,   ///< no word: what it stands for was done
  Start,  ///< a run begins; all others end one
  Fail,
  Exit  ///< with a status, 0 is good
};

/// "none", "good", "start", "fail", "exit".
[[nodiscard]] std::string_view to_string(BeatWord word);
/// By its name; None where there is none.
[[nodiscard]] BeatWord beat_word_of(std::string_view name);

/// What is known of a heartbeat. It is saved.
struct Heartbeat {
  WallTime since{};                  ///< of its last beat but `start`; before the first, of the load of its rule
  BeatWord word = BeatWord::None;    ///< of that beat: never Start
  std::int64_t status = 0;           ///< of Exit
  std::string text;                  ///< that came with it
  std::optional<WallTime> started;   ///< since when a run is under way
  std::optional<Duration> ran{};     ///< what the last run took; none: nobody has told its start
  std::optional<WallTime> missed{};  ///< since when it is missed
  bool operator==(const Heartbeat&) const = default;

  /// Whether the last beat was no good one.
  [[nodiscard]] bool failed() const { return word == BeatWord::Fail || (word == BeatWord::Exit && status != 0); }
};

/// The longest text that comes with a beat, in bytes.
inline constexpr std::size_t kLongestBeatText = 4096;

}  // namespace healer::engine
