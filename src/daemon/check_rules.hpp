// SPDX-License-Identifier: MIT
// `healerd -t`: judges rules files and prints what there is to say, for people or as one JSON document for programs.
#pragma once

#include "daemon/options.hpp"

namespace healer {

/// Returns the exit status: 0 accepted, 1 rejected.
[[nodiscard]] int check_rules(const Options& options);

}  // namespace healer
