// SPDX-License-Identifier: MIT
// How MySQL and MariaDB are told a password: by proofs of it, and within TLS or under the server's key by itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace healer::protocols {

/// The proof of mysql_native_password (SHA-1) and of caching_sha2_password (SHA-256); empty of an empty password.
[[nodiscard]] std::string native_proof(std::string_view password, std::string_view salt);
[[nodiscard]] std::string sha2_proof(std::string_view password, std::string_view salt);

/// The password under the server's key (PEM), for it alone to read; nothing: that is no RSA key.
[[nodiscard]] std::optional<std::string> sealed(std::string_view password, std::string_view salt, std::string_view pem);

/// The checksum, of so many hexadecimal digits, of a key's DER form; nothing: that is no key.
[[nodiscard]] std::optional<std::string> key_checksum(std::string_view pem, std::size_t digits);

}  // namespace healer::protocols
