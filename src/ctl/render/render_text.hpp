// SPDX-License-Identifier: MIT
// Text in columns of a terminal: how wide it is, cut to fit, broken into lines. Widths are columns, not bytes: a wide
// character takes two, a combining one none. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace healer::control {

/// Columns that `text` takes. Requires: valid UTF-8 without control characters (util's printable()).
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text`, or as much of its beginning as leaves room for `ellipsis` within `width` columns.
[[nodiscard]] std::string cut(std::string_view text, std::size_t width, std::string_view ellipsis);

/// `text` and as many blanks as make it `width` columns wide.
[[nodiscard]] std::string pad(std::string text, std::size_t width);

/// The lines of `text`, at most `width` columns each, broken at blanks, or within a word that is too long; one line
/// where `width` is 0.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace healer::control
