// SPDX-License-Identifier: MIT
// `healerctl import PATH`: Monit's files as rules of healer's, and what healer does otherwise. Monit's are only read.
#pragma once

#include <string>

#include "ctl/output.hpp"

namespace healer {

struct ImportOptions {
  std::string path;       ///< the control file, or the directory of it; empty: another command
  std::string directory;  ///< to be written; empty: only tell
  bool force = false;     ///< also where there is something
};

/// Returns the exit status: 0 done, 1 refused.
[[nodiscard]] int import_tree(const ImportOptions& options, Output& output);

}  // namespace healer
