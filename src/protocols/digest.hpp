// SPDX-License-Identifier: MIT
// Checksums of what servers send, and Base64. A thin layer over OpenSSL's libcrypto, which touches nothing but memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace healer::protocols {

/// A checksum that can be made. It is known by its length.
struct ChecksumType {
  std::string_view name;
  std::size_t digits;  ///< hexadecimal ones
};
inline constexpr std::array kChecksumTypes{ChecksumType{"MD5", 32}, ChecksumType{"SHA1", 40},
                                           ChecksumType{"SHA256", 64}, ChecksumType{"SHA512", 128}};

/// The checksum of bytes that come in pieces.
class Digest {
 public:
  /// By the number of digits of the checksum that is wanted. Requires: it is one of kChecksumTypes.
  explicit Digest(std::size_t digits);
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

/// Whether it is all hexadecimal digits.
[[nodiscard]] bool is_hex(std::string_view text);
/// Whether it is one that Digest can make: hexadecimal, and of a known length.
[[nodiscard]] bool is_checksum(std::string_view text);
/// What a checksum of so many digits is, or one of that name, without regard to case; null: there is none.
[[nodiscard]] const ChecksumType* find_checksum(std::size_t digits);
[[nodiscard]] const ChecksumType* find_checksum(std::string_view name);

/// What passwords and keys are proven with, as bytes; empty: this machine does not make such (as MD5 in FIPS mode).
enum class Hash : std::uint8_t { Md5, Sha1, Sha256 };
[[nodiscard]] std::string hash_bytes(Hash hash, std::string_view bytes);
[[nodiscard]] std::string hmac_bytes(Hash hash, std::string_view key, std::string_view bytes);

/// `bytes` in Base64, on one line.
[[nodiscard]] std::string base64(std::string_view bytes);

/// The password in each of the ways in which a mail server is told it: none is for people, should it repeat them.
[[nodiscard]] std::vector<std::string> mail_secrets(const std::string& username, const std::string& password);

}  // namespace healer::protocols
