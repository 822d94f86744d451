// SPDX-License-Identifier: MIT
// What libcurl is told about TLS, for mail and for requests.
#pragma once

#include <optional>
#include <string>

struct ssl_ctx_st;
struct x509_store_ctx_st;

namespace healer::runtime {

/// libcurl's word for a TLS version; nothing for SSLv2, SSLv3 and what is unknown.
[[nodiscard]] std::optional<long> curl_tls_version(const std::string& word);

/// For SSL_CTX_set_verify: a certificate that is signed by itself will do.
int tolerate_self_signed(int ok, x509_store_ctx_st* context);

/// Which certificate of a server is meant, whatever else is asked of it.
struct PinnedCertificate {
  std::string digits;   ///< its checksum in lower case: MD5, SHA1 or SHA256, by its length; empty: any
  bool verify = false;  ///< it must be trusted, too
};
/// Takes no other certificate than that. Requires: `pinned` outlives the context.
void pin_certificate(ssl_ctx_st* context, PinnedCertificate* pinned);

}  // namespace healer::runtime
