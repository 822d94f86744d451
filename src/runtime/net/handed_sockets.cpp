// SPDX-License-Identifier: MIT
#include "runtime/net/handed_sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "runtime/net/address.hpp"

namespace healer::runtime {
namespace {

std::optional<int> socket_option(int socket, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<HandedSocket> handed_socket(Descriptor socket, std::string name) {
  const int number = socket.get();
  if (socket_option(number, SO_TYPE) != SOCK_STREAM) return Error{0, "it is no stream socket"};
  if (socket_option(number, SO_ACCEPTCONN) != 1) return Error{0, "it does not listen (its unit must say Accept=no)"};
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  if (getsockname(number, reinterpret_cast<sockaddr*>(&place), &size) != 0) return Error{0, "it has no address"};
  HandedSocket found{.socket = std::move(socket), .name = std::move(name)};
  if (place.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(place);
    found.address = Address(v4.sin_addr).text();
    found.port = ntohs(v4.sin_port);
  } else if (place.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(place);
    found.address = Address(v6.sin6_addr, v6.sin6_scope_id).text();
    found.port = ntohs(v6.sin6_port);
  } else if (place.ss_family == AF_UNIX) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(place);
    const std::size_t room = size > offsetof(sockaddr_un, sun_path) ? size - offsetof(sockaddr_un, sun_path) : 0;
    found.path.assign(local.sun_path, room);
    found.path.erase(std::min(found.path.find('\0'), found.path.size()));
  } else {
    return Error{0, "it is neither TCP nor a unix socket"};
  }
  (void)fcntl(number, F_SETFD, FD_CLOEXEC);
  (void)fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK);
  return found;
}

HandedSockets take_handed_sockets() {
  HandedSockets taken;
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    const std::string name = names[i];
    std::free(names[i]);  // NOLINT: systemd's manual says so
    auto socket = handed_socket(Descriptor(SD_LISTEN_FDS_START + i), name);
    if (socket)
      taken.sockets.push_back(std::move(*socket));
    else
      taken.refused.push_back(
          fmt::format("the socket '{}' that systemd has handed over is not used: {}", name, socket.error().what));
  }
  std::free(names);  // NOLINT
  return taken;
}

}  // namespace healer::runtime
