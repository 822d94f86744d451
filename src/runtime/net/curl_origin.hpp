// SPDX-License-Identifier: MIT
// Which server a URL is of.
#pragma once

#include <cstdint>
#include <string>

struct Curl_URL;  ///< of libcurl: CURLU

namespace healer::runtime {

/// Two URLs of one origin lead to the same server, with the same protocol.
struct Origin {
  std::string scheme;
  std::string host;  ///< in lower case, without a dot at its end
  std::string port;  ///< also where the URL leaves it to the scheme
  /// "heat.example:443"
  [[nodiscard]] std::string name() const;
  bool operator==(const Origin&) const = default;
};
[[nodiscard]] Origin origin_of(Curl_URL* url);

/// What an HTTP server is told of the credentials in a URL; empty: there are none.
[[nodiscard]] std::string basic_credentials(Curl_URL* url);

/// How long a server says that its answer is; 0: it does not.
[[nodiscard]] std::uint64_t told_length(void* transfer);

}  // namespace healer::runtime
