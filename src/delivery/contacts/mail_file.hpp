// SPDX-License-Identifier: MIT
// A mail as it waits on disk, and how its file is called. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "delivery/contacts/mail.hpp"

namespace healer::delivery {

/// The mail as a file, which proves itself whole; and back, where its name is that of `key`. Nothing: it is damaged, or
/// none.
[[nodiscard]] std::string serialise(const Mail& mail);
[[nodiscard]] std::optional<Mail> parse_mail(std::string_view file, const MailKey& key);

/// "00000000000000000042-000000-0000019c8d2f1a3b": how its file is called, without a suffix; and back.
[[nodiscard]] std::string file_name(const MailKey& key);
[[nodiscard]] std::optional<MailKey> parse_mail_name(std::string_view name);

}  // namespace healer::delivery
