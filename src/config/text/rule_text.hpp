// SPDX-License-Identifier: MIT
// The canonical text of rules and schedules: one line, as the language would read it again. Names a rule for people
// and, hashed, for the saved state, so it changes only with the rule's meaning.
#pragma once

#include <string>

#include "config/syntax/syntax.hpp"
#include "engine/rules/comparison.hpp"

namespace healer::config {

/// `status != 0 or content = "x"`; of `3 restarts within 5 cycles`, where the numbers are the tolerance, `restarts`.
[[nodiscard]] std::string condition_text(const IfSyntax& rule);

/// `if status != 0 for 3 cycles then exec "/bin/x a" else if succeeded for 2 cycles then alert`. `condition` is its
/// condition_text().
[[nodiscard]] std::string rule_text(const IfSyntax& rule, const std::string& condition);

/// `every 5 cycles`, `not every "* 1-3 * * *"`
[[nodiscard]] std::string schedule_text(const EverySyntax& every);

[[nodiscard]] engine::Comparison comparison(ComparisonWord word);

/// `if N restarts within M cycles`: its tolerance has both numbers.
[[nodiscard]] bool counts_restarts(const IfSyntax& rule);
/// Whether it asks for nothing but `link up`, after which comes `else if failed`.
[[nodiscard]] bool recovers_to_failed(const IfSyntax& rule);

/// The rule's tolerance is met by a single run.
[[nodiscard]] bool is_plain_single(const ToleranceSyntax& tolerance);

}  // namespace healer::config
