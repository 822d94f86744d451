// SPDX-License-Identifier: MIT
// The words for versions of TLS, as Monit has them.
#pragma once

#include <cstdint>
#include <string_view>

namespace healer::protocols {

/// What a word makes of `versions`, a sum of TlsVersion, where 0 is the usual ones: "tlsv12" adds a version, "auto" the
/// usual ones, and "-tlsv12" takes one away. Words in any case; one that is none of these changes nothing.
[[nodiscard]] std::uint8_t with_tls_version(std::uint8_t versions, std::string_view word);
/// The same of several, with blanks between them, from nothing.
[[nodiscard]] std::uint8_t tls_versions_of(std::string_view words);

}  // namespace healer::protocols
