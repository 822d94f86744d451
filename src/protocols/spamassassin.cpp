// SPDX-License-Identifier: MIT
// spamassassin: PING of spamd's protocol, which is answered by PONG.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& spamassassin();

namespace {

/// "SPAMD/1.5 0 PONG"; the number is 0 where all is well.
LineVerdict judge(std::string_view line) {
  if (!line.starts_with("SPAMD/")) return LineVerdict::Unexpected;
  const std::size_t status = line.find(' ');
  if (status == std::string_view::npos) return LineVerdict::Refused;
  return line.substr(status).starts_with(" 0 PONG") ? LineVerdict::Good : LineVerdict::Refused;
}

std::unique_ptr<Conversation> make(const Order&) {
  return line_session({.server = "a SpamAssassin daemon",
                       .steps = {{.say = "PING SPAMC/1.2\r\n\r\n", .awaited = "answer to PING", .judge = judge}},
                       .passed = "it answers PING",
                       .secrets = {}});
}

}  // namespace

const Protocol& spamassassin() {
  static constexpr Protocol it{.name = "spamassassin", .title = "SpamAssassin", .port = 783, .make = make};
  return it;
}

}  // namespace healer::protocols
