// SPDX-License-Identifier: MIT
// Cron specifications: what is written, what Monit makes of it, and what healer makes of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/rules/schedule.hpp"

namespace healer::config {

struct CronReading {
  std::string error;   ///< why it is no cron specification; empty where it is one
  std::string remedy;  ///< for the error
  engine::CronSpec spec;
  std::string never;         ///< the field that matches no time ("minute"), so that the whole never matches; else empty
  bool is_own = false;       ///< has names, or steps from one number on, which every Monit refuses
  bool has_steps = false;    ///< has steps as Monit 6 has them, which older ones refuse
  bool is_lax = false;       ///< has a field that Monit 6 refuses, though older ones do not: `1,,2`, `-5`, `*-5`
  bool comes_alive = false;  ///< matches something, but to Monit nothing
  std::vector<std::string> remarks;  ///< where what is understood is not what Monit understands
};

/// Reads five fields of digits, `*`, `-`, `,` and `/`; months and weekdays may have names (jan, sun). Monit checks no
/// ranges; what never matches there is understood here where it has a meaning: weekday 7 is Sunday, `50-10` goes over
/// the end.
[[nodiscard]] CronReading read_cron(std::string_view text);

}  // namespace healer::config
