// SPDX-License-Identifier: MIT
#include "web/browser_address.hpp"

#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "util/text.hpp"

namespace healer::web {
namespace {

using control::Failure;

constexpr std::string_view kExample = "set httpd port 2812 allow NAME:PASSWORD";

/// What is listened on everywhere is found here.
std::string host_of(const engine::HttpdSettings& httpd) {
  const std::string address = httpd.addresses.empty() ? "" : httpd.addresses.front();
  // A certificate is made out to a name.
  if (address.empty()) return httpd.tls ? "localhost" : "127.0.0.1";
  if (address == "0.0.0.0") return "127.0.0.1";
  if (address == "::") return "[::1]";
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

}  // namespace

std::variant<std::string, Failure> browser_address(const std::optional<engine::HttpdSettings>& httpd,
                                                   const std::string& url) {
  if (!httpd)
    return Failure{"no-http", "nothing is answered over HTTP: the rules have no 'set httpd'",
                   fmt::format("write '{}' into them, and `healerctl reload`", kExample)};
  if (httpd->allow.empty())
    return Failure{"no-http", "nothing is answered over HTTP: 'set httpd' allows nobody",
                   fmt::format("say whom, as in '{}', and `healerctl reload`", kExample)};
  if (!httpd->port && httpd->unix_socket.empty())
    return Failure{
        "no-http", "nothing is answered over HTTP: 'set httpd' has neither a port nor a unix socket",
        fmt::format("give it a port, as in '{}', or 'unixsocket PATH' for a proxy, and `healerctl reload`", kExample)};
  if (!url.empty()) return url.substr(0, url.find_last_not_of('/') + 1);
  if (!httpd->port)
    return Failure{
        "no-http",
        fmt::format("a browser does not reach the unix socket {}, and 'set httpd' has no port",
                    printable(httpd->unix_socket)),
        fmt::format("give it a port, as in '{}', or tell with 'set url' by which proxy it is reached", kExample)};
  return fmt::format("{}://{}:{}", httpd->tls ? "https" : "http", host_of(*httpd), *httpd->port);
}

}  // namespace healer::web
