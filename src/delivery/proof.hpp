// SPDX-License-Identifier: MIT
// What files of queues have in common: a first line that proves the rest whole, and numbers and lines in it. Pure.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace healer::delivery {

/// The payload behind a line of that magic word, its hash and its size.
[[nodiscard]] std::string with_proof(std::string_view magic, std::string_view payload);
/// The payload of such a file. Nothing: it is another's, or not whole.
[[nodiscard]] std::optional<std::string_view> proven_payload(std::string_view magic, std::string_view file);

/// What stands before the next `end`, of which `text` loses both. Nothing: there is no `end`.
[[nodiscard]] std::optional<std::string_view> take_until(std::string_view& text, char end);

/// Whether the whole text is a number.
template <typename Number>
[[nodiscard]] bool read_number(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc{} && end == text.data() + text.size();
}
/// The same of what stands before the next `end`.
template <typename Number>
[[nodiscard]] bool take_number(std::string_view& text, char end, Number& number) {
  return read_number(take_until(text, end).value_or(""), number);
}

}  // namespace healer::delivery
