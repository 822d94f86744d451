// SPDX-License-Identifier: MIT
// Several mails to one person as one: the digest of a cycle, and the words of what a limit held back and of what was
// dropped. Pure.
//
// They are for somebody who is woken at night by the subject on a telephone: what has failed comes first in it, by
// name. Below that, a line for each alert in the order in which they came; in a digest then each alert in full.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "delivery/contacts/mail.hpp"

namespace healer::delivery {

/// Alerts that a digest has in full, and in lines; it says how many there were beyond that.
inline constexpr std::size_t kMaxFull = 100;
inline constexpr std::size_t kMaxFullBytes = 192U * 1024;
inline constexpr std::size_t kMaxLines = 500;

/// All of `mails` in one, by the sender of the first. Requires: at least one, to one person, in order.
[[nodiscard]] Mail compose_digest(std::span<const Mail> mails, const MailWriter& writer, WallTime now);

/// What was held back by `limit`, where that is still known. Requires: as above.
[[nodiscard]] Mail compose_held_back(std::span<const Mail> mails, const std::optional<engine::MailLimit>& limit,
                                     const MailWriter& writer, WallTime now);

/// What was dropped of a person's mails, given as one mail: with the key and the sender of the first, and all items,
/// of which there is one at least; it has no text. It takes no other mail's place.
[[nodiscard]] Mail compose_dropped(const Mail& dropped, const MailWriter& writer, WallTime now);

/// "20 mails within 1 h".
[[nodiscard]] std::string describe(const engine::MailLimit& limit);

}  // namespace healer::delivery
