// SPDX-License-Identifier: MIT
// Making the control socket in the file system, and judging who is at its other end. Blocking system calls on local
// files only; used by control/server.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "control/server.hpp"
#include "util/result.hpp"

namespace healer::control {

/// A bound, non-blocking, close-on-exec socket (not listening yet); see Server::open for the rules.
[[nodiscard]] Result<int> bind_socket(const std::string& path, std::optional<gid_t> group);

/// The peer of a connected socket; an Error where the kernel does not say, or where the peer is neither root, nor the
/// daemon's own user, nor a member of `group` (by its primary or any supplementary group).
[[nodiscard]] Result<Peer> admit(int descriptor, std::optional<gid_t> group);

}  // namespace healer::control
