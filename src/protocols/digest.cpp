// SPDX-License-Identifier: MIT
#include "protocols/digest.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::protocols {
namespace {

const EVP_MD* algorithm_of(std::size_t digits) {
  switch (digits) {
    case 32: return EVP_md5();
    case 40: return EVP_sha1();
    case 64: return EVP_sha256();
    case 128: return EVP_sha512();
    default: return nullptr;
  }
}

const EVP_MD* algorithm_of(Hash hash) {
  switch (hash) {
    case Hash::Md5: return EVP_md5();
    case Hash::Sha1: return EVP_sha1();
    case Hash::Sha256: return EVP_sha256();
  }
  return nullptr;
}

}  // namespace

struct Digest::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  bool works = false;
  ~State() { EVP_MD_CTX_free(context); }
};

Digest::Digest(std::size_t digits) : state_(std::make_unique<State>()) {
  state_->works = state_->context != nullptr && EVP_DigestInit_ex(state_->context, algorithm_of(digits), nullptr) == 1;
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

bool Digest::works() const { return state_->works; }

void Digest::add(std::string_view bytes) {
  if (state_->works) EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
}

std::string Digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  if (!state_->works) return {};
  EVP_DigestFinal_ex(state_->context, bytes.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_checksum(std::string_view text) { return find_checksum(text.size()) != nullptr && is_hex(text); }

const ChecksumType* find_checksum(std::size_t digits) {
  const auto* found = std::ranges::find(kChecksumTypes, digits, &ChecksumType::digits);
  return found != kChecksumTypes.end() ? found : nullptr;
}

const ChecksumType* find_checksum(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kChecksumTypes, [&](const ChecksumType& type) { return iequals(type.name, name); });
  return found != kChecksumTypes.end() ? found : nullptr;
}

std::string hash_bytes(Hash hash, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, algorithm_of(hash), nullptr) != 1) return {};
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string hmac_bytes(Hash hash, std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  if (HMAC(algorithm_of(hash), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size) == nullptr)
    return {};
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // it writes a zero byte, too
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::vector<std::string> mail_secrets(const std::string& username, const std::string& password) {
  if (password.empty()) return {};
  return {base64('\0' + username + '\0' + password), base64(password), password};
}

}  // namespace healer::protocols
