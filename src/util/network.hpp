// SPDX-License-Identifier: MIT
// Ranges of IP addresses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace healer {

/// A range of addresses. IPv4 addresses are those of ::ffff:0:0/96.
class Network {
 public:
  /// "192.0.2.7", "192.0.2.0/24", "192.0.2.0/255.255.255.0", "2001:db8::/32"; nothing where it is none of these.
  [[nodiscard]] static std::optional<Network> parse(std::string_view text);
  /// Whether the address, as text, is in it.
  [[nodiscard]] bool contains(std::string_view address) const;

  bool operator==(const Network&) const = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
  unsigned bits_ = 128;
};

/// Whether a text can only be meant as an address or a network, and is none: "300.1.2.3", "10.0.0.0/33". What may be
/// the name of a host is not.
[[nodiscard]] bool is_impossible_address(std::string_view text);

}  // namespace healer
