// SPDX-License-Identifier: MIT
#include "web/access.hpp"

#include <arpa/inet.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

#include "util/same_secret.hpp"
#include "util/text.hpp"

namespace healer::web {
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

bool is_scheme(std::string_view authorization, std::string_view scheme) {
  return authorization.size() > scheme.size() && authorization[scheme.size()] == ' ' &&
         iequals(authorization.substr(0, scheme.size()), scheme);
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

AccessRules AccessRules::nobody() {
  AccessRules rules;
  rules.names_hosts = true;
  rules.users.push_back({});  // a password is needed, and none is right
  return rules;
}

bool AccessRules::allows_host(std::string_view address) const {
  if (!names_hosts) return true;
  return std::ranges::any_of(networks, [&](const Network& one) { return one.contains(address); });
}

bool AccessRules::trusts_proxy(std::string_view address) const {
  return std::ranges::any_of(proxies, [&](const Network& one) { return one.contains(address); });
}

std::optional<control::Asker> AccessRules::asker_of_token(std::string_view token) const {
  std::optional<control::Asker> found;
  for (const BearerToken& known : tokens)
    if (is_same_secret(known.token, token) && !found) found = control::Asker{.name = known.name, .role = known.role};
  return found;
}

std::optional<BasicLogin> basic_login(std::string_view authorization) {
  if (!is_scheme(authorization, "Basic")) return std::nullopt;
  std::string_view text = authorization.substr(6);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string decoded(text.size() / 4 * 3, '\0');
  if (EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size())) < 0)
    return std::nullopt;
  decoded.resize(decoded.size() - (text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U));
  const std::size_t colon = decoded.find(':');
  // What ends at a zero byte to those who check it would have another name here.
  if (colon == std::string::npos || decoded.find('\0') != std::string::npos) return std::nullopt;
  return BasicLogin{.user = decoded.substr(0, colon), .password = decoded.substr(colon + 1)};
}

std::optional<std::string_view> bearer_token(std::string_view authorization) {
  if (!is_scheme(authorization, "Bearer")) return std::nullopt;
  return authorization.substr(7);
}

}  // namespace healer::web
