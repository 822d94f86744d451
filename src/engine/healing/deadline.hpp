// SPDX-License-Identifier: MIT
// A time to come that outlives the daemon and the machine's boot.
#pragma once

#include <algorithm>
#include <cstdint>

#include "util/time.hpp"

namespace healer::engine {

/// A wall time to come, for a daemon that begins when the machine was restarted: the clock may be ahead now. What
/// was left of the time when the daemon before was `seen` for the last time is left still.
[[nodiscard]] inline WallTime carried(WallTime end, WallTime seen, Instant now) {
  return end > seen ? std::max(end, now.wall + (end - seen)) : end;
}

/// When something is over. Within its boot the monotonic clock says so; after another boot the wall clock, which may
/// have been set meanwhile: never more than the full length is left.
struct Deadline {
  WallTime wall{};
  Duration mono{0};
  std::uint64_t boot = 0;  ///< to which `mono` belongs
  Duration length{0};      ///< from its beginning

  bool operator==(const Deadline&) const = default;
  [[nodiscard]] static Deadline in(Duration length, Instant now) {
    return {.wall = now.wall + length, .mono = now.mono + length, .boot = now.boot, .length = length};
  }
  /// What is left of it; never negative.
  [[nodiscard]] Duration left(Instant now) const {
    const Duration left = boot == now.boot ? mono - now.mono : wall - now.wall;
    return std::clamp(left, Duration{0}, std::max(length, Duration{0}));
  }
  /// The same in this boot, as carried().
  [[nodiscard]] Deadline carried_on(WallTime seen, Instant now) const {
    if (boot == now.boot) return *this;
    const Duration rest =
        std::clamp(Duration{carried(wall, seen, now) - now.wall}, Duration{0}, std::max(length, Duration{0}));
    return {.wall = now.wall + rest, .mono = now.mono + rest, .boot = now.boot, .length = length};
  }
  [[nodiscard]] bool over(Instant now) const { return left(now) == Duration{0}; }
};

}  // namespace healer::engine
