// SPDX-License-Identifier: MIT
// A time to come that outlives the daemon and the machine's boot.
#pragma once

#include <algorithm>
#include <cstdint>

#include "util/time.hpp"

namespace healer::engine {

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
  [[nodiscard]] bool over(Instant now) const { return left(now) == Duration{0}; }
};

}  // namespace healer::engine
