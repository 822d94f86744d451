// SPDX-License-Identifier: MIT
// What libcurl is told about TLS, for mail and for requests.
#pragma once

#include <optional>
#include <string>

#include "engine/rules/settings.hpp"

struct x509_store_ctx_st;

namespace healer::runtime {

/// libcurl's word for a TLS version; nothing for SSLv2, SSLv3 and what is unknown.
[[nodiscard]] std::optional<long> curl_tls_version(const std::string& word);

/// For SSL_CTX_set_verify: a certificate that is signed by itself will do.
int tolerate_self_signed(int ok, x509_store_ctx_st* context);

/// Which certificates of servers will do.
struct PinnedCertificate {
  std::string digits;        ///< the checksum of the only one: MD5, SHA1 or SHA256 in lower case; empty: any
  bool self_signed = false;  ///< one that is signed by itself, too
  bool verify = false;       ///< it must be trusted
};
/// Tells libcurl so. Requires: `pinned` outlives the transfer.
void set_trust(void* curl, bool verify, PinnedCertificate& pinned);
/// The same with all that options say, as in `set ssl`. `insecure`: no certificate is looked at, whatever they say.
void set_tls(void* curl, const engine::TlsOptions& options, bool insecure, PinnedCertificate& pinned);

}  // namespace healer::runtime
