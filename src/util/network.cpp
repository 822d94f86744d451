// SPDX-License-Identifier: MIT
#include "util/network.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace healer {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Parsed {
  Bytes bytes{};
  bool is_v4 = false;
};

std::optional<Parsed> parse_address(std::string_view text) {
  const std::string name(text.substr(0, text.find('%')));  // without its interface
  Parsed parsed;
  if (inet_pton(AF_INET, name.c_str(), parsed.bytes.data() + 12) == 1) {
    parsed.is_v4 = true;
    parsed.bytes[10] = parsed.bytes[11] = 0xff;
    return parsed;
  }
  if (inet_pton(AF_INET6, name.c_str(), parsed.bytes.data()) != 1) return std::nullopt;
  return parsed;
}

/// How many bits a mask of an IPv4 network has: 255.255.255.0 has 24; nothing where it has holes.
std::optional<unsigned> bits_of_mask(const Bytes& mask) {
  std::uint32_t bits = 0;
  for (std::size_t at = 12; at < 16; ++at) bits = bits << 8U | mask[at];
  const auto ones = static_cast<unsigned>(__builtin_popcount(bits));
  if (ones != 0 && bits != ~std::uint32_t{0} << (32U - ones)) return std::nullopt;
  return ones;
}

}  // namespace

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Network network;
  network.bytes_ = address->bytes;
  if (slash == std::string_view::npos) return network;
  const std::string_view width = text.substr(slash + 1);
  const unsigned most = address->is_v4 ? 32 : 128;
  unsigned bits = 0;
  if (const auto mask = parse_address(width); mask && mask->is_v4 && address->is_v4) {
    const auto of_mask = bits_of_mask(mask->bytes);
    if (!of_mask) return std::nullopt;
    bits = *of_mask;
  } else {
    const auto [rest, error] = std::from_chars(width.data(), width.data() + width.size(), bits);
    if (error != std::errc{} || rest != width.data() + width.size() || bits > most) return std::nullopt;
  }
  network.bits_ = 128 - most + bits;
  return network;
}

bool Network::contains(std::string_view address) const {
  const auto parsed = parse_address(address);
  if (!parsed) return false;
  for (unsigned bit = 0; bit < bits_; bit += 8) {
    const auto mask = static_cast<std::uint8_t>(bits_ - bit >= 8 ? 0xffU : 0xffU << (8 - (bits_ - bit)));
    if ((bytes_[bit / 8] & mask) != (parsed->bytes[bit / 8] & mask)) return false;
  }
  return true;
}

bool is_impossible_address(std::string_view text) {
  if (Network::parse(text)) return false;
  if (text.find_first_of("/:") != std::string_view::npos) return true;
  in_addr short_form{};  // "10.1" is 10.0.0.1 to the machine
  return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || c == '.'; }) &&
         inet_aton(std::string(text).c_str(), &short_form) == 0;
}

}  // namespace healer
