// SPDX-License-Identifier: MIT
// When a service runs, and whether it is started where the machine was.
#pragma once

#include <cstdint>
#include <string>

#include "util/time.hpp"

namespace healer::engine {

/// The five fields of a cron specification as bit sets. Requires: civil times (0-based minute, hour and weekday).
struct CronSpec {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t month_days = 0;  ///< bit 1..31
  std::uint16_t months = 0;      ///< bit 1..12
  std::uint8_t weekdays = 0;     ///< bit 0 (Sunday)..6

  bool operator==(const CronSpec&) const = default;
  /// All five fields must match, as in Monit.
  [[nodiscard]] bool matches(const CivilTime& civil) const {
    return (minutes >> civil.minute & 1U) != 0 && (hours >> civil.hour & 1U) != 0 &&
           (month_days >> civil.day & 1U) != 0 && (months >> civil.month & 1U) != 0 &&
           (weekdays >> civil.weekday & 1U) != 0;
  }
};

/// When a service runs.
struct Schedule {
  enum class Kind : std::uint8_t {
    Cycles,    ///< each `cycles`th cycle (1: every)
    Interval,  ///< each `interval`, healer's own `every 30 seconds`
    Cron,      ///< once in each matching local minute
    NotCron    ///< each cycle, but not in matching minutes
  };
  Kind kind = Kind::Cycles;
  std::uint32_t cycles = 1;
  Duration interval{0};
  CronSpec cron;
  std::string text;  ///< as written, for people; empty for the default

  bool operator==(const Schedule&) const = default;
};

/// What becomes of a service when the machine has been started.
enum class OnReboot : std::uint8_t { Start, NoStart, LastState };

}  // namespace healer::engine
