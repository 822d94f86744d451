// SPDX-License-Identifier: MIT
// Making the control socket in the file system, and judging who is at its other end. Blocking system calls on local
// files only; used by control/server.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "control/socket/server.hpp"
#include "util/result.hpp"

namespace healer::control {

/// A bound, non-blocking, close-on-exec socket (not listening yet); see Server::open for the rules.
[[nodiscard]] Result<int> bind_socket(const std::string& path, const SocketAccess& access);

/// Gives the socket the group and mode that go with `access`.
[[nodiscard]] Result<void> protect_socket(const std::string& path, const SocketAccess& access);

/// The peer of a connected socket; an Error where the kernel does not say, or where it is a stranger whom `access` does
/// not let in.
[[nodiscard]] Result<Peer> admit(int descriptor, const SocketAccess& access);

}  // namespace healer::control
