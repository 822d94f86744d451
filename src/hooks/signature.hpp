// SPDX-License-Identifier: MIT
// Signatures as Standard Webhooks has them: `webhook-signature: v1,BASE64 ...` is the HMAC of SHA-256, by a secret that
// both sides know, of `ID.TIMESTAMP.BODY`, where id and timestamp are headers too. Pure; in a time that tells nothing
// about the secrets.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "hooks/read.hpp"
#include "util/result.hpp"
#include "util/time.hpp"

namespace healer::hooks {

/// A message older or newer than that is not believed, whoever has signed it: it may be one that was overheard.
inline constexpr Duration kTolerance = minutes{5};

/// The bytes of a secret as it is handed out: "whsec_" and base64. Errors: it is something else, or too short.
[[nodiscard]] Result<std::string> signing_key(std::string_view secret);
/// "v1,..." of a message, by the bytes of a secret.
[[nodiscard]] std::string sign(std::string_view key, std::string_view id, std::string_view timestamp,
                               std::string_view body);
/// Why a message is not believed, as a sentence; empty: one of those secrets has signed it. A secret that is none is
/// not one that has signed it.
[[nodiscard]] std::string distrust(const Message& message, std::span<const std::string> secrets, WallTime now);

}  // namespace healer::hooks
