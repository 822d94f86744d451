// SPDX-License-Identifier: MIT
// Sockets that systemd has opened for this process, and listens on until it does: LISTEN_FDS, as of a .socket unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/descriptor.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// A stream socket that listens.
struct HandedSocket {
  Descriptor socket;
  std::string name;        ///< FileDescriptorName= of its unit
  std::string address{};   ///< of TCP, without brackets: "::1"
  std::uint16_t port = 0;  ///< 0: a unix socket
  std::string path{};      ///< of a unix socket; empty: it has none in a folder
};

struct HandedSockets {
  std::vector<HandedSocket> sockets;
  std::vector<std::string> refused;  ///< why others are not used, a sentence each; they are closed
};

/// Takes those that this process was given; no program that it starts gets them, or hears of them. Call it once, and
/// before there are threads.
[[nodiscard]] HandedSockets take_handed_sockets();

/// What there is to know of one. An error: it is no stream socket that listens.
[[nodiscard]] Result<HandedSocket> handed_socket(Descriptor socket, std::string name);

}  // namespace healer::runtime
