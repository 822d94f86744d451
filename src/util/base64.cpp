// SPDX-License-Identifier: MIT
#include "util/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace healer {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t at = 0; at < kAlphabet.size(); ++at)
    values[static_cast<unsigned char>(kAlphabet[at])] = static_cast<std::uint8_t>(at);
  return values;
}();

}  // namespace

std::string base64_encoded(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view part = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = bits << 8U | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (unsigned i = 0; i < 4; ++i) text += i <= part.size() ? kAlphabet[bits >> (18U - 6U * i) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  if (text.size() % 4 == 0) {
    if (text.ends_with('=')) text.remove_suffix(1);
    if (text.ends_with('=')) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNone) return std::nullopt;
    bits = bits << 6U | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 0xffU);
    bits &= (1U << held) - 1;
  }
  return bits == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace healer
