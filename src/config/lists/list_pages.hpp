// SPDX-License-Identifier: MIT
// A list that comes in pages: where the next one is. Pure.
#pragma once

#include <string>
#include <vector>

#include "util/result.hpp"

namespace healer::config {

/// Where a page says that the next one is, as seen from its own URL. Errors: it is no place, or at another server, who
/// would be given the headers and the token.
[[nodiscard]] Result<std::string> next_page(const std::string& here, const std::string& place);
/// The place that a header of an answer names: `Link: <https://...>; rel="next"`; empty: none.
[[nodiscard]] std::string next_link(const std::vector<std::string>& head);

}  // namespace healer::config
