// SPDX-License-Identifier: MIT
// clamav: PING, which clamd answers by PONG.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& clamav();

namespace {

LineVerdict judge(std::string_view line) { return line.starts_with("PONG") ? LineVerdict::Good : LineVerdict::Refused; }

std::unique_ptr<Conversation> make(const Order&) {
  return line_session({.server = "a ClamAV daemon",
                       .steps = {{.say = "PING\r\n", .awaited = "answer to PING", .judge = judge}},
                       .passed = "it answers PING",
                       .secrets = {}});
}

}  // namespace

const Protocol& clamav() {
  static constexpr Protocol it{.name = "clamav", .title = "ClamAV", .port = 3310, .make = make};
  return it;
}

}  // namespace healer::protocols
