// SPDX-License-Identifier: MIT
// A login by SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding: the password is never sent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace healer::protocols {

class Scram {
 public:
  /// `nonce` must be another one each time. No user name: the protocol has told it already.
  Scram(std::string password, std::uint64_t nonce);

  /// What the client says first.
  [[nodiscard]] std::string first() const;
  /// What it says to the server's first message; nothing: that makes no sense, or asks for too much work.
  [[nodiscard]] std::optional<std::string> final(std::string_view server_first);
  /// Whether the server knows the password, too, as its last message proves. After final().
  [[nodiscard]] bool proves(std::string_view server_final) const;

 private:
  std::string password_;
  std::string first_bare_;
  std::string server_signature_;  // in Base64
};

}  // namespace healer::protocols
