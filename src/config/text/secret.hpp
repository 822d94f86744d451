// SPDX-License-Identifier: MIT
// The secrets in a line of a rules file, which no message may show: logs and terminals are read by others.
#pragma once

#include <string>
#include <string_view>

namespace healer::config {

/// What stands in the place of a secret where rules are printed.
inline constexpr std::string_view kHidden = "*****";

/// `line` with a `*` in the place of each byte of a secret: what follows `password` or `community`, a `body`, the value
/// of `set environment`, the password in `allow USER:PASSWORD` and in an address (`scheme://user:password@host`), the
/// values of headers that may be one. `before`: the text in front of the line, where its first word may be what
/// `password` asks for.
[[nodiscard]] std::string without_secrets(std::string_view line, std::string_view before);

/// Whether a header of HTTP has a value that everybody may read: others are tokens, cookies and the like.
[[nodiscard]] bool is_open_header(std::string_view name);

/// What people are told who load what was printed.
inline constexpr std::string_view kHiddenSecret =
    "this stands for a secret that was hidden when the rules were printed";

}  // namespace healer::config
