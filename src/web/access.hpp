// SPDX-License-Identifier: MIT
// Who may ask over HTTP: the hosts, users, groups and tokens that `allow` names, with their roles. As in Monit: where
// hosts are named, only they are answered; where users are, a password is needed; where both are, both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/permissions.hpp"
#include "util/network.hpp"

namespace healer::web {

using healer::Network;

/// How a password is checked.
enum class PasswordKind : std::uint8_t {
  Clear,
  Md5,   ///< crypt's $1$, or Apache's $apr1$
  Crypt  ///< whatever the machine's crypt() knows
};

struct User {
  std::string name;
  std::string password;  ///< itself, or what was made of it
  PasswordKind kind = PasswordKind::Clear;
  engine::Role role = engine::Role::Admin;

  bool operator==(const User&) const = default;
};

/// Whoever the machine's PAM lets in and is in that group.
struct PamGroup {
  std::string name;
  engine::Role role = engine::Role::Admin;

  bool operator==(const PamGroup&) const = default;
};

struct BearerToken {
  std::string name;  ///< by which the history knows whoever sends it: "token ci"
  std::string token;
  engine::Role role = engine::Role::Admin;

  bool operator==(const BearerToken&) const = default;
};

/// Everything that `allow` says, with files read and names looked up.
struct AccessRules {
  std::vector<Network> networks;
  bool names_hosts = false;  ///< hosts are named, whether they could be looked up or not
  std::vector<User> users;
  std::vector<PamGroup> groups;
  std::vector<BearerToken> tokens;
  std::vector<Network> proxies;

  bool operator==(const AccessRules&) const = default;
  /// Rules by which nobody is let in.
  [[nodiscard]] static AccessRules nobody();
  /// Whether this address may ask at all. What comes by a unix socket has none, and `allow` says nothing about it.
  [[nodiscard]] bool allows_host(std::string_view address) const;
  /// Whether whoever asks must say who he is.
  [[nodiscard]] bool needs_login() const { return !users.empty() || !groups.empty() || !tokens.empty(); }
  /// Whether its word is taken for whom it speaks.
  [[nodiscard]] bool trusts_proxy(std::string_view address) const;
  /// Whose token that is; none: nobody's. In a time that tells nothing about the tokens.
  [[nodiscard]] std::optional<control::Asker> asker_of_token(std::string_view token) const;
};

/// The name and password of a header `Authorization: Basic ...`; nothing where it is none.
struct BasicLogin {
  std::string user;
  std::string password;
};
[[nodiscard]] std::optional<BasicLogin> basic_login(std::string_view authorization);
/// The token of `Authorization: Bearer ...`.
[[nodiscard]] std::optional<std::string_view> bearer_token(std::string_view authorization);

}  // namespace healer::web
