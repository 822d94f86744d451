// SPDX-License-Identifier: MIT
// `heal with OTHER`: a step that hands the target over to another workflow.
#pragma once

#include <string>

namespace healer::engine {

namespace step {

/// `heal with OTHER`: only as the last of `on failure`. The healing goes on with OTHER's plan.
struct Escalate {
  std::string workflow;
  bool operator==(const Escalate&) const = default;
};

}  // namespace step

}  // namespace healer::engine
