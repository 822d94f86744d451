// SPDX-License-Identifier: MIT
// How many connections there may be, and by what those of an address are counted.
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "runtime/net/address.hpp"
#include "web/server/http_server.hpp"

namespace healer::web {

std::size_t most_connections(std::size_t each) {
  constexpr std::size_t kMost = 500, kLeast = 8;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  return std::clamp<std::size_t>(limit.rlim_cur / 8 / each, kLeast, kMost);
}

HttpLimits HttpLimits::of_this_process() {
  HttpLimits limits;
  limits.connections = most_connections(1);
  limits.of_an_address = std::min(limits.of_an_address, limits.connections / 2);
  return limits;
}

std::string network_of(const std::string& address) {
  if (address.find(':') == std::string::npos) return address;
  const auto parsed = runtime::Address::parse(address);
  if (!parsed || !parsed->is_v6()) return address;
  in6_addr v6 = parsed->v6().sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    in_addr v4{};
    std::memcpy(&v4, &v6.s6_addr[12], sizeof v4);
    return runtime::Address(v4).text();
  }
  std::fill_n(&v6.s6_addr[8], 8, std::uint8_t{0});
  return runtime::Address(v6, parsed->v6().sin6_scope_id).text() + "/64";
}

}  // namespace healer::web
