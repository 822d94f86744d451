// SPDX-License-Identifier: MIT
// A message about rules files for programs: `healerd -t --json`, `healerctl lint --json`.
#pragma once

#include "config/diagnostic.hpp"
#include "config/source.hpp"
#include "control/wire.hpp"

namespace healer {

/// {file, line, column, end_line, end_column, severity, code, message, remedy}: places from 1, 0 where it is about a
/// whole file.
[[nodiscard]] control::Json diagnostic_json(const config::Diagnostic& diagnostic, const config::Sources& sources);

}  // namespace healer
