// SPDX-License-Identifier: MIT
// The files that hold what `${secret:NAME}` stands for.
#pragma once

#include <string>
#include <string_view>

#include "config/environment.hpp"
#include "util/result.hpp"

namespace healer::runtime {

/// What the file of that name holds, without the line feed at its end; of `NAME[2]` the second of the parts that commas
/// separate in it. It is one of `directory`, or where that is empty
/// of systemd's credentials directory, or of /etc/healer/secrets. Errors: it cannot be read, is larger than 64 kB, may
/// be read by others than its owner, has no such part, or the name is none.
[[nodiscard]] Result<std::string> read_secret(const std::string& name, const std::string& directory);
/// How a secret begins in a text: `${secret:NAME}`.
inline constexpr std::string_view kSecretBegin = "${secret:";
/// A text with the secrets that it names. Reads files.
[[nodiscard]] Result<std::string> with_secrets(const std::string& text, const std::string& directory);
/// Whether it could be read.
[[nodiscard]] Result<void> check_secret(const std::string& name, const std::string& directory);
/// The same for whoever checks rules, perhaps not as the daemon does: where the directory is a default, and there is
/// none, the daemon may be given another one.
[[nodiscard]] std::optional<config::SecretFault> secret_fault(const std::string& name, const std::string& directory);

}  // namespace healer::runtime
