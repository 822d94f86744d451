// SPDX-License-Identifier: MIT
// What a server said, for people: short, printable, in quotes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "util/text.hpp"

namespace healer::protocols {

inline constexpr std::size_t kQuoted = 80;

/// "..." of the beginning of `said`, at most `limit` bytes of it.
[[nodiscard]] inline std::string quote(std::string_view received, std::size_t limit = kQuoted) {
  const bool cut = received.size() > limit;
  return '"' + printable(received.substr(0, limit)) + (cut ? "..." : "") + '"';
}

}  // namespace healer::protocols
