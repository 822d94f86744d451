// SPDX-License-Identifier: MIT
// `healerctl replay --since WHEN`: what these rules would have done on a day that is recorded, beside what was done.
#pragma once

#include <string>

#include "ctl/output.hpp"

namespace healer {

struct ReplayOptions {
  bool wanted = false;
  std::string since;
  std::string until;        ///< empty: now
  std::string rules;        ///< empty: those of this installation
  std::string state_file;   ///< beside which the readings are; empty: where the rules say
  bool throughout = false;  ///< play these rules also before an edit of that day
  bool all = false;         ///< print also what is the same
};

/// Returns the exit status: kExitFailed where something differs.
[[nodiscard]] int replay_day(const ReplayOptions& options, Output& output);

}  // namespace healer
