// SPDX-License-Identifier: MIT
#include "runtime/net/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <spdlog/fmt/fmt.h>

#include "runtime/descriptor.hpp"

namespace healer::runtime {

Address::Address(const in_addr& v4) {
  v4_ = {};
  v4_.sin_family = AF_INET;
  v4_.sin_addr = v4;
}

Address::Address(const in6_addr& v6, std::uint32_t scope) {
  v6_ = {};
  v6_.sin6_family = AF_INET6;
  v6_.sin6_addr = v6;
  v6_.sin6_scope_id = scope;
}

std::optional<Address> Address::parse(const std::string& text) {
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return Address(v4);
  const std::size_t percent = text.find('%');
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.substr(0, percent).c_str(), &v6) != 1) return std::nullopt;
  if (percent == std::string::npos) return Address(v6);
  const std::uint32_t scope = ::if_nametoindex(text.c_str() + percent + 1);
  return scope == 0 ? std::nullopt : std::optional(Address(v6, scope));
}

void Address::set_port(std::uint16_t port) {
  if (is_v6()) {
    v6_.sin6_port = htons(port);
  } else {
    v4_.sin_port = htons(port);
  }
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!is_v6()) {
    ::inet_ntop(AF_INET, &v4_.sin_addr, text.data(), text.size());
    return text.data();
  }
  ::inet_ntop(AF_INET6, &v6_.sin6_addr, text.data(), text.size());
  std::array<char, IF_NAMESIZE> name{};
  if (v6_.sin6_scope_id == 0 || ::if_indextoname(v6_.sin6_scope_id, name.data()) == nullptr) return text.data();
  return fmt::format("{}%{}", text.data(), name.data());
}

std::string Address::text_with_port() const {
  return is_v6() ? fmt::format("[{}]:{}", text(), ntohs(v6_.sin6_port))
                 : fmt::format("{}:{}", text(), ntohs(v4_.sin_port));
}

bool Address::same_host(const Address& other) const {
  if (family() != other.family()) return false;
  if (!is_v6()) return v4_.sin_addr.s_addr == other.v4_.sin_addr.s_addr;
  return std::memcmp(&v6_.sin6_addr, &other.v6_.sin6_addr, sizeof(in6_addr)) == 0;
}

std::optional<Error> send_from(int socket, const Address& source) {
  if (::bind(socket, source.get(), source.size()) == 0) return std::nullopt;
  const int code = errno;
  return Error{code, fmt::format("cannot send from {}: {}", source.text(), words_of_errno(code))};
}

}  // namespace healer::runtime
