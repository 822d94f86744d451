// SPDX-License-Identifier: MIT
#include "runtime/net/curl_origin.hpp"

#include <curl/curl.h>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "util/text.hpp"

namespace healer::runtime {
namespace {

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return {};
  std::string copy(text);
  curl_free(text);
  return copy;
}

}  // namespace

std::string Origin::name() const { return fmt::format("{}:{}", host, port); }

Origin origin_of(CURLU* url) {
  Origin place{.scheme = part_of(url, CURLUPART_SCHEME),
               .host = to_lower(part_of(url, CURLUPART_HOST)),
               .port = part_of(url, CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (place.host.ends_with('.')) place.host.pop_back();
  return place;
}

std::string basic_credentials(CURLU* url) {
  const std::string user = part_of(url, CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part_of(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
  return user.empty() && password.empty() ? std::string() : protocols::base64(user + ':' + password);
}

std::uint64_t told_length(void* transfer) {
  curl_off_t length = 0;
  (void)curl_easy_getinfo(transfer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  return length > 0 ? static_cast<std::uint64_t>(length) : 0;
}

}  // namespace healer::runtime
