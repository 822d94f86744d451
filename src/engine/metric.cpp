// SPDX-License-Identifier: MIT
#include "engine/metric.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace healer::engine {
namespace {

constexpr std::array<Unit, kMetrics> kUnitOf{Unit::Number,  // of a status
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Bytes,
                                             Unit::Percent,
                                             Unit::Bytes,
                                             Unit::Number,
                                             Unit::Number,
                                             Unit::Number,
                                             Unit::Percent,
                                             Unit::Number,
                                             Unit::BytesPerSecond,
                                             Unit::BytesPerSecond,
                                             Unit::BytesPerSecond,
                                             Unit::BytesPerSecond,
                                             Unit::OperationsPerSecond,
                                             Unit::OperationsPerSecond,
                                             Unit::Seconds,
                                             Unit::Load,
                                             Unit::Load,
                                             Unit::Load,
                                             Unit::Load,
                                             Unit::Load,
                                             Unit::Load,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Percent,
                                             Unit::Bytes,
                                             Unit::Percent,
                                             Unit::Bytes,
                                             Unit::Number,
                                             Unit::Percent,
                                             Unit::Seconds,
                                             Unit::Seconds,
                                             Unit::Seconds,
                                             Unit::Seconds};

/// "1 kB", "1.5 kB": a decimal only where there is one, even if it is 0 when rounded.
std::string format_bytes(double value) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value == std::floor(value) ? 0 : 1, kUnits[unit]);
}

}  // namespace

Unit unit_of(Metric metric) { return kUnitOf[static_cast<std::size_t>(metric)]; }

std::string format_metric(Unit unit, double value) {
  switch (unit) {
    case Unit::Percent: return fmt::format("{:.1f}%", value);
    case Unit::Bytes: return format_bytes(value);
    case Unit::BytesPerSecond: return format_bytes(value) + "/s";
    case Unit::OperationsPerSecond: return fmt::format("{:.1f} operations/s", value);
    case Unit::Number: return fmt::format("{:.0f}", value);
    case Unit::Seconds: return fmt::format("{:.0f} s", value);
    case Unit::Load: return fmt::format("{:.2f}", value);
  }
  return {};
}

}  // namespace healer::engine
