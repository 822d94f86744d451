// SPDX-License-Identifier: MIT
#include "protocols/mysql_login.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <memory>

#include "protocols/digest.hpp"

namespace healer::protocols {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;

std::string both(std::string left, std::string_view right) {
  for (std::size_t i = 0; i < left.size() && !right.empty(); ++i)
    left[i] = static_cast<char>(left[i] ^ right[i % right.size()]);
  return left;
}

Key read_key(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                     BIO_free);
  return {in ? PEM_read_bio_PUBKEY(in.get(), nullptr, nullptr, nullptr) : nullptr, EVP_PKEY_free};
}

}  // namespace

std::string native_proof(std::string_view password, std::string_view salt) {
  if (password.empty()) return {};
  const std::string once = hash_bytes(Hash::Sha1, password);
  return both(once, hash_bytes(Hash::Sha1, std::string(salt) + hash_bytes(Hash::Sha1, once)));
}

std::string sha2_proof(std::string_view password, std::string_view salt) {
  if (password.empty()) return {};
  const std::string once = hash_bytes(Hash::Sha256, password);
  return both(once, hash_bytes(Hash::Sha256, hash_bytes(Hash::Sha256, once) + std::string(salt)));
}

std::optional<std::string> sealed(std::string_view password, std::string_view salt, std::string_view pem) {
  const Key key = read_key(pem);
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA) return std::nullopt;
  const Context context(EVP_PKEY_CTX_new(key.get(), nullptr), EVP_PKEY_CTX_free);
  if (!context || EVP_PKEY_encrypt_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) != 1)
    return std::nullopt;
  const std::string plain = both(std::string(password) + '\0', salt);
  const auto* bytes = reinterpret_cast<const unsigned char*>(plain.data());
  std::size_t size = 0;
  if (EVP_PKEY_encrypt(context.get(), nullptr, &size, bytes, plain.size()) != 1) return std::nullopt;
  std::string out(size, '\0');
  if (EVP_PKEY_encrypt(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size, bytes, plain.size()) != 1)
    return std::nullopt;
  out.resize(size);
  return out;
}

std::optional<std::string> key_checksum(std::string_view pem, std::size_t digits) {
  const Key key = read_key(pem);
  if (!key) return std::nullopt;
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size <= 0) return std::nullopt;
  Digest sum(digits);
  sum.add({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return sum.finish();
}

}  // namespace healer::protocols
