// SPDX-License-Identifier: MIT
// How somebody shows that he may tell a hook or a heartbeat of something: by what his request itself brings. Nobody
// logs in here, and the roles of `allow` mean nothing.
#pragma once

#include <optional>
#include <string_view>

#include "web/message.hpp"

namespace healer::web {

/// The token that is given, as `Authorization: Bearer ...` or `?token=...`; nothing: none, or an empty one.
[[nodiscard]] std::optional<std::string_view> given_token(const Request& request);

/// Whether its client has shown the certificate that rules name: "sha256:" and the hash of it, with or without colons,
/// or its common name, for which somebody must vouch whom `clientpemfile` names.
[[nodiscard]] bool shows_certificate(const Request& request, std::string_view wanted);

/// Whether it was sent by a program on this machine: by no proxy, which may stand for anybody, and by no browser, which
/// may do so for a page of anybody's, be it under a name of its own that leads here. That is enough where rules ask for
/// no secret. `host` and `url`: as of names_machine().
[[nodiscard]] bool is_from_here(const Request& request, std::string_view host, std::string_view url);

}  // namespace healer::web
