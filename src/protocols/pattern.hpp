// SPDX-License-Identifier: MIT
// Regular expressions that are none: most of what people expect are plain texts, and those are found at once.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace healer::protocols {

/// The text that a POSIX extended regular expression matches and nothing else, where it is that plain: no operators but
/// escaped ones. Nothing where it is not, and where it is empty.
[[nodiscard]] inline std::optional<std::string> literal_of(std::string_view pattern) {
  constexpr std::string_view kSpecial = ".[]{}()*+?|^$\\";
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      if (++i == pattern.size() || kSpecial.find(pattern[i]) == std::string_view::npos) return std::nullopt;
    } else if (kSpecial.find(pattern[i]) != std::string_view::npos) {
      return std::nullopt;
    }
    text += pattern[i];
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace healer::protocols
