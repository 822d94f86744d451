// SPDX-License-Identifier: MIT
#include "runtime/net/curl_tls.hpp"

#include <curl/curl.h>
#include <openssl/x509.h>

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

}  // namespace healer::runtime
