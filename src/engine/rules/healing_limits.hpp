// SPDX-License-Identifier: MIT
// How much healing may go on, and when none may (language 3.4, 3.7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/time.hpp"

namespace healer::engine {

/// `2 at once`, `20% of group webboxes at once`, `4 within 1 hour`.
struct HealingLimit {
  std::uint32_t number = 1;  ///< healings, or percent
  bool percent = false;      ///< of the targets of `group`, rounded down, at least 1
  std::string group;         ///< whose healings are counted; empty: all that the limit is written for
  Duration within{0};        ///< 0: at once; else tries begun within
  bool operator==(const HealingLimit&) const = default;
};

/// `pause while more than 40% of group webboxes failed until less than 20%`.
struct PauseWhile {
  std::string group;              ///< empty, only by default: each group of the target of at least three
  double above = 50;              ///< percent: closes where strictly more are unhealthy
  std::optional<double> until{};  ///< percent: opens where strictly less are; none: where no more than `above` are
  bool operator==(const PauseWhile&) const = default;
};

/// `breaker 3 failed within 1 hour`.
struct Breaker {
  std::uint32_t failed = 3;
  Duration within{3'600'000};
  bool operator==(const Breaker&) const = default;
};

/// `approval within 10 minutes else skip`, `approval when more than 10% of group webboxes failed`.
struct Approval {
  Duration within{3'600'000};
  bool else_run = false;
  std::optional<PauseWhile> when{};  ///< asked only then
  bool operator==(const Approval&) const = default;
};

/// How far a healing may go; the most careful that applies wins. In the order of care.
enum class HealingMode : std::uint8_t { Shadow, DryRun, Approval, Automatic };

/// "shadow", "dry run", "approval", "automatic".
[[nodiscard]] std::string_view to_string(HealingMode mode);

/// `set healing ...`: over all workflows.
struct HealingSettings {
  std::vector<HealingLimit> limits;
  HealingMode mode = HealingMode::Automatic;
  std::vector<std::string> only_while;  ///< names of services that must be judged OK
  bool operator==(const HealingSettings&) const = default;
};

}  // namespace healer::engine
