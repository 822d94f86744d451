// SPDX-License-Identifier: MIT
// The figures of the whole machine, as Monit gives them: used memory is what is not available for new programs,
// percentages of time are of all cores together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/rules/metric.hpp"
#include "util/time.hpp"

namespace healer::runtime {

/// What the cores have done up to a moment, in clock ticks of all of them: the fields of /proc/stat, in its order.
struct SystemSample {
  enum Field : std::uint8_t { User, Nice, System, Idle, Wait, HardIrq, SoftIrq, Steal, Guest, GuestNice, kFields };
  Duration taken{0};
  std::array<std::uint64_t, kFields> ticks{};
  std::optional<std::uint64_t> paged_in, paged_out;  ///< pages that came from swap, and that went there, since the boot
};

struct SystemInspection {
  engine::Metrics metrics;  ///< what needs no former sample
  SystemSample sample;
};
/// Reads /proc: not for the loop thread.
[[nodiscard]] SystemInspection inspect_system();

/// Adds the load averages of the machine. Reads /proc: not for the loop thread.
void add_load(engine::Metrics& metrics);

/// Adds the percentages of time since `former`.
void add_means(engine::Metrics& metrics, const SystemSample& former, const SystemSample& present);

}  // namespace healer::runtime
