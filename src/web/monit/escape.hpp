// SPDX-License-Identifier: MIT
// Text of rules, programs and logs where it must not be taken for markup: in HTML, XML and addresses.
#pragma once

#include <string>
#include <string_view>

namespace healer::web::monit {

/// Between two tags of HTML or XML, and in an attribute with quotes of any kind. What XML forbids is a question mark.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same, but for quotes: where text that is read by eye, or by Monit's client, stands between two tags.
[[nodiscard]] std::string escaped_between(std::string_view text);
/// A whole section of character data.
[[nodiscard]] std::string cdata(std::string_view text);
/// One segment of a path, as a link has it; never taken for a scheme or a folder.
[[nodiscard]] std::string link_to(std::string_view name);

}  // namespace healer::web::monit
