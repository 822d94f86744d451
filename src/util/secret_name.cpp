// SPDX-License-Identifier: MIT
#include "util/secret_name.hpp"

#include <algorithm>
#include <charconv>

namespace healer {

std::optional<SecretName> secret_name(std::string_view written) {
  const std::size_t open = written.find_first_of("[]");
  if (open == std::string_view::npos) return SecretName{.file = std::string(written)};
  if (open == 0 || written[open] != '[' || !written.ends_with(']')) return std::nullopt;
  const std::string_view digits = written.substr(open + 1, written.size() - open - 2);
  SecretName name{.file = std::string(written.substr(0, open))};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.part);
  if (error != std::errc{} || end != digits.data() + digits.size() || name.part == 0) return std::nullopt;
  return name;
}

std::optional<std::string_view> part_of(std::string_view text, std::size_t number) {
  if (number == 0) return text;
  for (; number > 1; --number) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    text.remove_prefix(comma + 1);
  }
  return text.substr(0, text.find(','));
}

std::size_t count_of_parts(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
}

}  // namespace healer
