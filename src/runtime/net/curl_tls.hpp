// SPDX-License-Identifier: MIT
// What libcurl is told about TLS, for mail and for requests.
#pragma once

#include <optional>
#include <string>

struct x509_store_ctx_st;

namespace healer::runtime {

/// libcurl's word for a TLS version; nothing for SSLv2, SSLv3 and what is unknown.
[[nodiscard]] std::optional<long> curl_tls_version(const std::string& word);

/// For SSL_CTX_set_verify: a certificate that is signed by itself will do.
int tolerate_self_signed(int ok, x509_store_ctx_st* context);

}  // namespace healer::runtime
