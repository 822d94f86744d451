// SPDX-License-Identifier: MIT
// The one place that reads clocks.
#pragma once

#include "util/time.hpp"

namespace healer::runtime {

/// Now: boot id of the kernel, CLOCK_BOOTTIME, wall clock.
[[nodiscard]] Instant now();

/// The mono part of now() alone.
[[nodiscard]] Duration mono_now();

/// The wall clock alone.
[[nodiscard]] WallTime wall_now();

/// CLOCK_MONOTONIC in nanoseconds, by which the kernel dates its news. It stops while the machine is suspended.
[[nodiscard]] std::int64_t kernel_now();

/// Local civil time of the machine's time zone.
[[nodiscard]] CivilTime local_civil(WallTime when);

}  // namespace healer::runtime
