// SPDX-License-Identifier: MIT
#include "util/hash.hpp"

#include <charconv>

#define XXH_INLINE_ALL
#include <spdlog/fmt/fmt.h>
#include <xxhash.h>

namespace healer {

Hash128 hash128(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

std::string to_string(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

std::optional<Hash128> parse_hash128(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Hash128 hash;
  const auto half = [&text](std::size_t from, std::uint64_t& number) {
    const char* const begin = text.data() + from;
    const auto [end, error] = std::from_chars(begin, begin + 16, number, 16);
    return error == std::errc{} && end == begin + 16;
  };
  if (!half(0, hash.high) || !half(16, hash.low)) return std::nullopt;
  return hash;
}

}  // namespace healer
