// SPDX-License-Identifier: MIT
// An address of a socket: a value instead of sockaddr_storage.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "util/result.hpp"

namespace healer::runtime {

/// An IPv4 or IPv6 address with a port.
class Address {
 public:
  Address() = default;
  explicit Address(const in_addr& v4);
  explicit Address(const in6_addr& v6, std::uint32_t scope = 0);
  /// "10.0.0.7", "::1", "fe80::1%eth0"; nothing where the text is no address.
  [[nodiscard]] static std::optional<Address> parse(const std::string& text);

  [[nodiscard]] int family() const { return any_.sa_family; }
  [[nodiscard]] bool is_v6() const { return any_.sa_family == AF_INET6; }
  [[nodiscard]] const sockaddr* get() const { return &any_; }
  [[nodiscard]] socklen_t size() const { return is_v6() ? sizeof(v6_) : sizeof(v4_); }
  [[nodiscard]] const sockaddr_in& v4() const { return v4_; }
  [[nodiscard]] const sockaddr_in6& v6() const { return v6_; }
  void set_port(std::uint16_t port);

  /// "10.0.0.7", "fe80::1%eth0".
  [[nodiscard]] std::string text() const;
  /// "10.0.0.7:443", "[::1]:80".
  [[nodiscard]] std::string text_with_port() const;
  /// Whether it is the same host; ports do not count.
  [[nodiscard]] bool same_host(const Address& other) const;

 private:
  union {
    sockaddr any_;
    sockaddr_in v4_;
    sockaddr_in6 v6_{};
  };
};

/// Binds the socket to the address that it is to send from. Returns why it cannot, where this machine does not hold the
/// address: "cannot send from 192.0.2.9: cannot assign requested address".
[[nodiscard]] std::optional<Error> send_from(int socket, const Address& source);

}  // namespace healer::runtime
