// SPDX-License-Identifier: MIT
// `healerd -t`: is this file all right? No side effects at all: nothing is written, no id is made.
#pragma once

#include <filesystem>
#include <string>

#include "config/load.hpp"

namespace healer::config {

struct CheckOptions {
  LoadOptions load;
  bool verbose = false;  ///< -v: print the rules as they were understood
  bool color = false;
};

/// What to write where, and the exit status: 0 accepted (there may be warnings), 1 rejected.
struct CheckOutcome {
  std::string out;
  std::string err;
  int status = 0;
};

[[nodiscard]] CheckOutcome check(const std::filesystem::path& path, const CheckOptions& options,
                                 const Environment& environment);

/// All messages of a load as text, for stderr; after very many only their number.
[[nodiscard]] std::string format_all(const Diagnostics& diagnostics, const Sources& sources, bool color);

}  // namespace healer::config
