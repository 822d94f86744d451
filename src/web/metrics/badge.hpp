// SPDX-License-Identifier: MIT
// A small picture of how a service stands, for pages elsewhere: its name or another label, and its state in words.
#pragma once

#include <string>
#include <string_view>

namespace healer::web {

/// An SVG document. `state` is one of ServiceSummary's, perhaps with more words behind it, and gives its colour.
[[nodiscard]] std::string badge(std::string_view label, std::string_view state, std::string_view words);

}  // namespace healer::web
