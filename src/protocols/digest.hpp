// SPDX-License-Identifier: MIT
// Checksums of what servers send, and Base64. A thin layer over OpenSSL's libcrypto, which touches nothing but memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace healer::protocols {

/// The checksum of bytes that come in pieces.
class Digest {
 public:
  /// By the number of hexadecimal digits of the checksum that is wanted: 32 MD5, 40 SHA-1, 64 SHA-256, 128
  /// SHA-512.
  /// Requires: is_checksum(wanted).
  explicit Digest(std::string_view wanted);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  /// False: this machine does not make such checksums (as MD5 in FIPS mode). add() does nothing then.
  [[nodiscard]] bool works() const;
  void add(std::string_view bytes);
  /// In lower-case hexadecimal digits; empty where it does not work. Once, at the end.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether it is one that Digest can make: hexadecimal digits, 32, 40, 64 or 128 of them.
[[nodiscard]] bool is_checksum(std::string_view text);
/// "MD5", "SHA1", "SHA256" or "SHA512", by its length.
[[nodiscard]] std::string_view checksum_name(std::string_view checksum);

/// `bytes` in Base64, on one line.
[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace healer::protocols
