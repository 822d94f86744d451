// SPDX-License-Identifier: MIT
// `heal with OTHER`: a step that hands the target over to another workflow.
#pragma once

#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "engine/steps/kind.hpp"

namespace healer::engine::step {

/// `heal with OTHER`: only as the last of `on failure`. The healing goes on with OTHER's plan.
struct Escalate {
  static constexpr std::string_view kWord = "escalate";
  static constexpr char kSign = 'e';

  std::string workflow;
  bool operator==(const Escalate&) const = default;
};

void fields(auto& all, Is<Escalate> auto& escalate) {
  auto& [workflow] = escalate;
  all("workflow", workflow);
}

inline std::string in_plan(const Escalate& escalate) { return fmt::format("heal with {}", escalate.workflow); }

}  // namespace healer::engine::step
