// SPDX-License-Identifier: MIT
// `healerctl fmt` and `healerctl lint`: work on rules files, without a daemon.
#pragma once

#include <string>
#include <vector>

#include "ctl/output.hpp"

namespace healer {

struct FormatOptions {
  std::vector<std::string> paths;  ///< files, directories of *.rules, - for standard input
  bool check = false;              ///< only say which would change
  bool write = false;              ///< change the files
  bool diff = false;               ///< print what would change
};

/// Returns the exit status: 0 done, 1 with --check where a file would change, 2 where one was left as it is for errors.
[[nodiscard]] int format_files(const FormatOptions& options, Output& output);

struct LintOptions {
  std::vector<std::string> paths;
  bool offline = false;  ///< look nothing up on this machine
};

/// Returns the exit status: 0 nothing to say, 1 there are findings, 2 there are errors.
[[nodiscard]] int lint_files(const LintOptions& options, Output& output);

}  // namespace healer
