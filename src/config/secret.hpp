// SPDX-License-Identifier: MIT
// The secrets in a line of a rules file, which no message may show: logs and terminals are read by others.
#pragma once

#include <string>
#include <string_view>

namespace healer::config {

/// `line` with a `*` in the place of each byte of a secret: what follows `password`, the value of `set environment`,
/// and the password in `allow USER:PASSWORD` and in an address (`scheme://user:password@host`). `before`: the text in
/// front of the line, where its first word may be what `password` asks for.
[[nodiscard]] std::string without_secrets(std::string_view line, std::string_view before);

}  // namespace healer::config
