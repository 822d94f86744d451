// SPDX-License-Identifier: MIT
// Looks at the machine for `healerctl doctor`. Blocks, for a few seconds at most for each thing that does not answer.
#pragma once

#include <string>

#include "doctor/facts.hpp"
#include "util/time.hpp"

namespace healer::doctor {

struct Places {
  std::string socket;
  std::string rules;               ///< a file, or a directory of *.rules
  Duration patience = seconds{5};  ///< with whatever may not answer
};

[[nodiscard]] Facts gather(const Places& places);

}  // namespace healer::doctor
