// SPDX-License-Identifier: MIT
#include "protocols/scram.hpp"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"

namespace healer::protocols {
namespace {

constexpr int kMostRounds = 100'000;  // of the derivation: it is done on the loop. PostgreSQL makes 4096
constexpr std::size_t kKeyBytes = SHA256_DIGEST_LENGTH;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string out(text.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text), static_cast<int>(text.size()));
  if (size < 0) return {};
  out.resize(static_cast<std::size_t>(size) - (text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U));
  return out;
}

/// The value of `r=...` at the front of `text`, which is taken with its comma.
std::string_view attribute(std::string_view& text, char name) {
  if (text.size() < 2 || text[0] != name || text[1] != '=') return {};
  const std::size_t end = std::min(text.find(','), text.size());
  const std::string_view value = text.substr(2, end - 2);
  text.remove_prefix(std::min(end + 1, text.size()));
  return value;
}

/// A password with a server's salt (RFC 5802, 2.2). That is nearly all the work of a login, and the same at the next
/// one: what was made last is kept, so that a server is probed at the price of others.
std::string salted_password(std::string_view password, std::string_view salt, int rounds) {
  constexpr std::size_t kKept = 256;
  struct Known {
    std::string made_of;
    std::string salted;
  };
  static std::mutex mutex;
  static std::array<Known, kKept> known;  // guarded by mutex, as `next`
  static std::size_t next = 0;
  const std::string made_of =
      hash_bytes(Hash::Sha256, fmt::format("{} {} {}{}", rounds, password.size(), password, salt));
  const std::scoped_lock lock(mutex);
  const auto found = std::ranges::find(known, made_of, &Known::made_of);
  if (found != known.end() && !made_of.empty()) return found->salted;
  std::string salted(kKeyBytes, '\0');
  const bool is_made =
      PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()), bytes_of(salt),
                        static_cast<int>(salt.size()), rounds, EVP_sha256(), static_cast<int>(salted.size()),
                        reinterpret_cast<unsigned char*>(salted.data())) == 1;
  if (!is_made) return {};
  known[next++ % kKept] = {made_of, salted};
  return salted;
}

}  // namespace

Scram::Scram(std::string password, std::uint64_t nonce)
    : password_(std::move(password)), first_bare_(fmt::format("n=,r={:016x}", nonce)) {}

std::string Scram::first() const { return "n,," + first_bare_; }

std::optional<std::string> Scram::final(std::string_view server_first) {
  if (!server_signature_.empty()) return std::nullopt;  // once: it is much work
  std::string_view rest = server_first;
  const std::string_view nonce = attribute(rest, 'r');
  const std::string salt = from_base64(attribute(rest, 's'));
  const std::string_view count = attribute(rest, 'i');
  int rounds = 0;
  const auto [end, wrong] = std::from_chars(count.data(), count.data() + count.size(), rounds);
  const std::string_view own = std::string_view(first_bare_).substr(first_bare_.find("r=") + 2);
  if (wrong != std::errc{} || end != count.data() + count.size() || rounds < 1 || rounds > kMostRounds ||
      salt.empty() || !nonce.starts_with(own) || nonce.size() == own.size())
    return std::nullopt;
  const std::string salted = salted_password(password_, salt, rounds);
  if (salted.empty()) return std::nullopt;  // for want of memory: another time
  const std::string last = fmt::format("c=biws,r={}", nonce);
  const std::string all = fmt::format("{},{},{}", first_bare_, server_first, last);
  const std::string client_key = hmac_bytes(Hash::Sha256, salted, "Client Key");
  std::string proof = hmac_bytes(Hash::Sha256, hash_bytes(Hash::Sha256, client_key), all);
  for (std::size_t i = 0; i < proof.size(); ++i) proof[i] = static_cast<char>(proof[i] ^ client_key[i]);
  server_signature_ = base64(hmac_bytes(Hash::Sha256, hmac_bytes(Hash::Sha256, salted, "Server Key"), all));
  return fmt::format("{},p={}", last, base64(proof));
}

bool Scram::proves(std::string_view server_final) const {
  return !server_signature_.empty() && attribute(server_final, 'v') == server_signature_;
}

}  // namespace healer::protocols
