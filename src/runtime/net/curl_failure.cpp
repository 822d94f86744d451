// SPDX-License-Identifier: MIT
#include "runtime/net/curl_failure.hpp"

#include <curl/curl.h>

#include <cstring>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::runtime {
namespace {

constexpr std::size_t kMostOfWords = 200;  // of libcurl's, which may hold a server's

std::string in_lower(std::string text) {
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') text[0] = static_cast<char>(to_lower(text.substr(0, 1))[0]);
  return printable(text.substr(0, kMostOfWords));
}

bool is_tls(CURLcode code) {
  return code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
         code == CURLE_SSL_CIPHER || code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_ISSUER_ERROR ||
         code == CURLE_SSL_PINNEDPUBKEYNOTMATCH || code == CURLE_SSL_INVALIDCERTSTATUS;
}

}  // namespace

bool may_have_left(void* easy) {
  long bytes = 0;
  curl_off_t uploaded = 0;
  (void)curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &bytes);
  (void)curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
  return bytes > 0 || uploaded > 0;
}

std::string describe_failure(int code, void* easy, const std::string& place, const char* words) {
  const std::string reason = in_lower(*words != '\0' ? words : curl_easy_strerror(static_cast<CURLcode>(code)));
  if (code == CURLE_COULDNT_CONNECT) {
    long error = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &error);
    return fmt::format("could not connect to {}: {}", place,
                       error != 0 ? in_lower(std::strerror(static_cast<int>(error))) : reason);
  }
  if (is_tls(static_cast<CURLcode>(code))) return fmt::format("TLS with {} failed: {}", place, reason);
  if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR)
    return fmt::format("{} closed the connection without an answer", place);
  if (code == CURLE_PARTIAL_FILE) return fmt::format("the answer of {} broke off", place);
  return fmt::format("{}: {}", place, reason);
}

}  // namespace healer::runtime
