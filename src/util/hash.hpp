// SPDX-License-Identifier: MIT
// A 128-bit hash (XXH3, stable over versions and machines) that names rules and services across reloads.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace healer {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  auto operator<=>(const Hash128&) const = default;
};

/// The hash of `text`. Not for secrets: it is fast, not cryptographic.
[[nodiscard]] Hash128 hash128(std::string_view text);

/// 32 lower-case hexadecimal digits.
[[nodiscard]] std::string to_string(const Hash128& hash);

/// The hash written by to_string(); none where `text` is anything else.
[[nodiscard]] std::optional<Hash128> parse_hash128(std::string_view text);

}  // namespace healer

template <>
struct std::hash<healer::Hash128> {
  std::size_t operator()(const healer::Hash128& value) const noexcept { return value.low; }
};
