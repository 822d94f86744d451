// SPDX-License-Identifier: MIT
#include "runtime/net/curl_tls.hpp"

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::runtime {

std::optional<long> curl_tls_version(const std::string& word) {
  if (word.empty() || word == "auto" || word == "ssl" || word == "tls" || word == "sslauto" || word == "tlsauto")
    return CURL_SSLVERSION_TLSv1_2;
  if (word == "tlsv1") return static_cast<long>(CURL_SSLVERSION_TLSv1_0) | CURL_SSLVERSION_MAX_TLSv1_0;
  if (word == "tlsv11") return static_cast<long>(CURL_SSLVERSION_TLSv1_1) | CURL_SSLVERSION_MAX_TLSv1_1;
  if (word == "tlsv12") return static_cast<long>(CURL_SSLVERSION_TLSv1_2) | CURL_SSLVERSION_MAX_TLSv1_2;
  if (word == "tlsv13") return static_cast<long>(CURL_SSLVERSION_TLSv1_3) | CURL_SSLVERSION_MAX_TLSv1_3;
  return std::nullopt;
}

int tolerate_self_signed(int ok, X509_STORE_CTX* context) {
  const int error = X509_STORE_CTX_get_error(context);
  if (ok == 0 && (error == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT || error == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN)) {
    X509_STORE_CTX_set_error(context, X509_V_OK);
    return 1;
  }
  return ok;
}

namespace {

int verify_pinned(X509_STORE_CTX* context, void* data) {
  const auto& pinned = *static_cast<const PinnedCertificate*>(data);
  const EVP_MD* const kind = pinned.digits.size() == 32   ? EVP_md5()
                             : pinned.digits.size() == 40 ? EVP_sha1()
                                                          : EVP_sha256();
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  std::string digits;
  const X509* const certificate = X509_STORE_CTX_get0_cert(context);
  if (certificate != nullptr && X509_digest(certificate, kind, sum.data(), &size) == 1)
    for (unsigned i = 0; i < size; ++i) digits += fmt::format("{:02x}", sum.at(i));
  if (digits != pinned.digits) {
    X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_REJECTED);
    return 0;
  }
  if (pinned.verify) return X509_verify_cert(context);
  X509_STORE_CTX_set_error(context, X509_V_OK);
  return 1;
}

CURLcode trust(CURL*, void* context, void* data) {
  auto* const tls = static_cast<SSL_CTX*>(context);
  auto* const pinned = static_cast<PinnedCertificate*>(data);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, pinned->self_signed ? tolerate_self_signed : nullptr);
  if (!pinned->digits.empty()) SSL_CTX_set_cert_verify_callback(tls, verify_pinned, pinned);
  return CURLE_OK;
}

}  // namespace

void set_trust(void* curl, bool verify, PinnedCertificate& pinned) {
  const auto set = [curl](CURLoption option, auto value) { (void)curl_easy_setopt(curl, option, value); };
  pinned.verify = verify;
  set(CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, verify && !pinned.self_signed ? 2L : 0L);
  if (pinned.digits.empty() && !(verify && pinned.self_signed)) return;
  set(CURLOPT_SSL_CTX_FUNCTION, trust);
  set(CURLOPT_SSL_CTX_DATA, &pinned);
}

void set_tls(void* curl, const engine::TlsOptions& options, bool insecure, PinnedCertificate& pinned) {
  const auto set = [curl](CURLoption option, auto value) { (void)curl_easy_setopt(curl, option, value); };
  bool verify = !insecure, self_signed = false;
  for (const auto& [name, value] : options) {
    const std::string word = to_lower(value);
    if (name == "verify" && word == "disable") verify = false;
    if (name == "selfsigned" && word == "allow") self_signed = true;
    if (name == "checksum") pinned.digits = word;
    if (name == "version") set(CURLOPT_SSLVERSION, curl_tls_version(word).value_or(CURL_SSLVERSION_TLSv1_2));
    if (name == "ciphers") set(CURLOPT_SSL_CIPHER_LIST, value.c_str());
    if (name == "cacertificatefile") set(CURLOPT_CAINFO, value.c_str());
    if (name == "cacertificatepath") set(CURLOPT_CAPATH, value.c_str());
    if (name == "clientpemfile") {
      set(CURLOPT_SSLCERT, value.c_str());
      set(CURLOPT_SSLKEY, value.c_str());
    }
  }
  pinned.self_signed = self_signed;
  set_trust(curl, verify, pinned);
}

}  // namespace healer::runtime
