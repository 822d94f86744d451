// SPDX-License-Identifier: MIT
// What may hold a healing back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "util/time.hpp"

namespace healer::engine {

enum class Brake : std::uint8_t {
  OneAtATime,  ///< another healing of the target
  Pause,       ///< a person's pause
  Doubt,       ///< healer doubts itself
  Names,       ///< what is to be healed failed only as no name server has answered
  List,        ///< it is not certain that the list is right
  Dependency,  ///< what the target needs has failed
  Jobs,        ///< a start, stop or restart is under way
  Breaker,     ///< too many healings with its workflow have failed
  PauseWhile,  ///< too much of a group is not well
  Limit,
  Recovery,  ///< the last healing did not help
  Cooldown,
  Again,    ///< it was refused or has failed, and is tried again later
  Storm,    ///< others may be about to fail, too
  Secrets,  ///< whether its secrets can be read is not known yet
  Check,    ///< its target did not fail when it was checked once more
  Workflow  ///< there is no such workflow
};

inline constexpr std::size_t kBrakes = static_cast<std::size_t>(Brake::Workflow) + 1;

/// What one guard or brake says to a healing.
struct BrakeVerdict {
  Brake brake{};
  bool lets = true;
  std::string text;  ///< "2 of 2 at once", "another 4 m"
  /// After so long it lets it go by time alone; none: something else must happen, or nobody knows.
  std::optional<Duration> left{};
};

/// As people and programs read it: "limit", "pause while".
[[nodiscard]] std::string_view to_string(Brake brake);
/// How the reason of a healing that it holds back begins: "limit reached", "cooldown".
[[nodiscard]] std::string_view title_of(Brake brake);

}  // namespace healer::engine
