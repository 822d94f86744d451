// SPDX-License-Identifier: MIT
// dwp: HEAD, which a database behind a web protocol answers by 200.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& dwp();

namespace {

/// "DWP/1.0 200 OK"; as in Monit the name before the version does not matter.
LineVerdict judge(std::string_view line) {
  const std::size_t slash = line.find('/');
  const std::size_t blank = line.find(' ');
  if (slash == std::string_view::npos || blank == std::string_view::npos || slash > blank)
    return LineVerdict::Unexpected;
  const int status = reply_code(trim(line.substr(blank)));
  if (status == 0) return LineVerdict::Unexpected;
  return status == 200 ? LineVerdict::Good : LineVerdict::Refused;
}

std::unique_ptr<Conversation> make(const Order& order) {
  const std::string host = order.host.empty() ? "localhost" : order.host;
  return line_session({.server = "a DWP server",
                       .steps = {{.say = "HEAD / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n",
                                  .awaited = "answer to HEAD",
                                  .judge = judge}},
                       .passed = "it answers HEAD",
                       .secrets = {}});
}

}  // namespace

const Protocol& dwp() {
  static constexpr Protocol it{.name = "dwp", .title = "DWP", .port = 80, .make = make};
  return it;
}

}  // namespace healer::protocols
