// SPDX-License-Identifier: MIT
// Text in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace healer::web {

/// `text` as it may stand between tags and within quoted attributes of HTML and XML.
[[nodiscard]] std::string html_escaped(std::string_view text);

}  // namespace healer::web
