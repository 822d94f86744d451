// SPDX-License-Identifier: MIT
// `healerctl fmt`: rules files in one layout. Only white space changes: every word, comment and line break of a
// statement stays, as do the gaps between groups of statements.
#pragma once

#include <string>
#include <string_view>

#include "util/result.hpp"

namespace healer::engine {
struct RuleSet;
}  // namespace healer::engine

namespace healer::config {

/// The text with a statement a line (a line break that its writer made within one stays), those of services indented by
/// two columns, what goes on from the line before by two more, and at most one blank line in a row. Formatting the
/// result again changes nothing. Errors: a text that is no rules file, with the place of its first error; code EINVAL.
[[nodiscard]] Result<std::string> format_rules(std::string_view text);

/// What tells two sets of rules apart: an empty text where they mean the same, else a phrase that says what differs.
/// Places do not count.
[[nodiscard]] std::string difference(const engine::RuleSet& before, const engine::RuleSet& after);

}  // namespace healer::config
