// SPDX-License-Identifier: MIT
// The tokens of a test to its tree, where there is more to it than taking a word.
#pragma once

#include <string>
#include <string_view>

#include "config/syntax/parse_build.hpp"
#include "config/syntax/syntax.hpp"

namespace healer::config::parsing {

/// What an operator says; Equal for `changed` and for what is none.
[[nodiscard]] ComparisonWord comparison_of(std::string_view word);

/// Whether the operator of a content, which is this token, says that it is another. What is neither `=` nor `!=` is
/// complained of.
[[nodiscard]] bool negates_content(Build& build, std::size_t token);

/// `status != 0` in its tokens: with or without an operator, with or without blanks.
[[nodiscard]] CompareSyntax status_of(const Build& build, TokenRange at);

/// What canonical text calls an attribute: "pid", "permission", "access time".
[[nodiscard]] std::string attribute_name(grammar::Kind kind);

/// `disk read > 10 MB/s` in its tokens, the same. What Monit would not take in this place is noted.
[[nodiscard]] CompareSyntax resource_of(Build& build, TokenRange at);

}  // namespace healer::config::parsing
