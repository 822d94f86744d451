// SPDX-License-Identifier: MIT
// What healerd has told about rules files, with their lines. healerd does not send them: whoever may give commands need
// not be allowed to read the files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/wire.hpp"

namespace healer {

/// The diagnostics as `healerd -t` shows them: with line, caret and remedy, where the caller may read the file.
[[nodiscard]] std::string diagnostics_text(const std::vector<control::DiagnosticView>& diagnostics, bool colour);

/// What an answer says besides its diagnostics, which begin its text, a line each.
[[nodiscard]] std::string_view after_diagnostics(std::string_view text, std::size_t diagnostics);

}  // namespace healer
