// SPDX-License-Identifier: MIT
// A part of lint: what all `set httpd` of the files say together.
#pragma once

#include "config/passes/passes.hpp"

namespace healer::config {

/// Warns where nothing would be served over HTTP, where it is served to fewer than Monit would, and of what has no
/// effect.
void lint_httpd(const Document& document, const Sources& sources, Diagnostics& diagnostics);

}  // namespace healer::config
