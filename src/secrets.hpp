// SPDX-License-Identifier: MIT
// `${secret:NAME}`: what programs of healings are told and nobody else.
#pragma once

#include <string>
#include <string_view>

#include "util/result.hpp"

namespace healer {

/// The text with each `${secret:NAME}` replaced by what the file NAME holds, read anew, without the line feed at its
/// end. The file is one of `directory`, or where that is empty of systemd's credentials directory, or of
/// /etc/healer/secrets. Errors: it cannot be read, is larger than 64 kB, may be read by others than its owner, or the
/// name is none.
[[nodiscard]] Result<std::string> with_secrets(std::string_view text, const std::string& directory);

}  // namespace healer
