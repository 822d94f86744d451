// SPDX-License-Identifier: MIT
// Who may do what: a table of verbs and the role that each takes, and the role of whoever asks over the control socket.
// Authority is decided here and nowhere else. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/wire.hpp"
#include "engine/events/origin.hpp"

namespace healer::control {

/// What somebody must at least be. Whoever may more may all that those before him may.
enum class Least : std::uint8_t { Anybody, ReadOnly, Operator, Admin };

/// What a verb takes.
[[nodiscard]] Least least_for(Verb verb);
/// The same of a request, which may ask for more than its verb.
[[nodiscard]] Least least_for(const Request& request);

/// One of `set operators`.
struct NamedOperator {
  uid_t uid = 0;
  std::string name;

  bool operator==(const NamedOperator&) const = default;
};

/// Who may use the control socket, beside root and the daemon's own user.
struct SocketAccess {
  std::optional<gid_t> group;  ///< its members are admins
  std::vector<NamedOperator> operators;
  bool has_tokens = false;  ///< a heartbeat has one: whoever gives it may beat

  bool operator==(const SocketAccess&) const = default;
  /// Whether everybody may connect, and it depends on who it is what he may do.
  [[nodiscard]] bool is_open() const { return !operators.empty() || has_tokens; }
};

/// A process that connects, as the kernel vouches for it.
struct Credentials {
  uid_t uid = 0;
  std::vector<gid_t> groups;  ///< the primary one and all others
};

/// Whoever asks.
struct Asker {
  std::string name;                  ///< whom the history names: "root", "john", "uid 1000"
  std::optional<engine::Role> role;  ///< none: a stranger
};

/// `own`: the daemon's user.
[[nodiscard]] Asker asker_of(const Credentials& who, const SocketAccess& access, uid_t own);

/// Whether he is that, or more.
[[nodiscard]] bool is_at_least(const Asker& who, Least least);

/// Why he may not; none: he may. Who gives a token with `beat` may ask: whether it is that of the heartbeat decides.
[[nodiscard]] std::optional<Failure> forbidden(const Request& request, const Asker& who);

/// "read-only", "operator", "admin".
[[nodiscard]] std::string_view to_string(engine::Role role);

}  // namespace healer::control
