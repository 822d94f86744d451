// SPDX-License-Identifier: MIT
#include "engine/metric.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace healer::engine {
namespace {

struct Info {
  std::string_view words;
  Unit unit;
};

constexpr std::array<Info, kMetrics> kInfos{{
    {"cpu", Unit::Percent},
    {"total cpu", Unit::Percent},
    {"memory", Unit::Percent},
    {"memory", Unit::Bytes},
    {"total memory", Unit::Percent},
    {"total memory", Unit::Bytes},
    {"children", Unit::Number},
    {"threads", Unit::Number},
    {"filedescriptors", Unit::Number},
    {"filedescriptors", Unit::Percent},
    {"total filedescriptors", Unit::Number},
    {"read", Unit::BytesPerSecond},
    {"write", Unit::BytesPerSecond},
    {"disk read", Unit::BytesPerSecond},
    {"disk write", Unit::BytesPerSecond},
    {"disk read", Unit::OperationsPerSecond},
    {"disk write", Unit::OperationsPerSecond},
    {"uptime", Unit::Seconds},
    {"loadavg(1min)", Unit::Load},
    {"loadavg(5min)", Unit::Load},
    {"loadavg(15min)", Unit::Load},
    {"loadavg(1min) per core", Unit::Load},
    {"loadavg(5min) per core", Unit::Load},
    {"loadavg(15min) per core", Unit::Load},
    {"cpu", Unit::Percent},
    {"cpu(user)", Unit::Percent},
    {"cpu(system)", Unit::Percent},
    {"cpu(nice)", Unit::Percent},
    {"cpu(wait)", Unit::Percent},
    {"cpu(hardirq)", Unit::Percent},
    {"cpu(softirq)", Unit::Percent},
    {"cpu(steal)", Unit::Percent},
    {"cpu(guest)", Unit::Percent},
    {"cpu(guestnice)", Unit::Percent},
    {"memory", Unit::Percent},
    {"memory", Unit::Bytes},
    {"swap", Unit::Percent},
    {"swap", Unit::Bytes},
    {"filedescriptors", Unit::Number},
    {"filedescriptors", Unit::Percent},
}};

/// "1 kB", "1.5 kB": a decimal only where there is one, even if it is 0 when rounded.
std::string format_bytes(double value) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value == std::floor(value) ? 0 : 1, kUnits[unit]);
}

}  // namespace

Unit unit_of(Metric metric) { return kInfos[static_cast<std::size_t>(metric)].unit; }

std::string_view to_string(Metric metric) { return kInfos[static_cast<std::size_t>(metric)].words; }

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
