// SPDX-License-Identifier: MIT
#include "util/percent.hpp"

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer {
namespace {

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::optional<char> byte = text[at] == '%' ? hex_byte(text.substr(at + 1)) : std::nullopt;
    decoded += byte.value_or(text[at]);
    if (byte) at += 2;
  }
  return decoded;
}

std::optional<char> hex_byte(std::string_view text) {
  if (text.size() < 2 || hex_digit(text[0]) < 0 || hex_digit(text[1]) < 0) return std::nullopt;
  return static_cast<char>(hex_digit(text[0]) * 16 + hex_digit(text[1]));
}

}  // namespace healer
