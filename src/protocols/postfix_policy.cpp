// SPDX-License-Identifier: MIT
// postfix-policy: asks a policy server what to do with a mail that is none; any action is an answer.
#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& postfix_policy();

namespace {

// The addresses are those that RFC 2606 and RFC 5737 keep for examples: no greylist has anything of it.
constexpr std::string_view kRequest =
    "request=smtpd_access_policy\nprotocol_state=RCPT\nprotocol_name=SMTP\nhelo_name=healer.example\n"
    "sender=healer@healer.example\nrecipient=healer@healer.example\nclient_address=192.0.2.1\n"
    "client_name=healer.example\n\n";

LineVerdict judge(std::string_view line) {
  return line.starts_with("action=") ? LineVerdict::Good : LineVerdict::Unexpected;
}

std::unique_ptr<Conversation> make(const Order&) {
  return line_session({.server = "a policy server of Postfix",
                       .steps = {{.say = std::string(kRequest), .awaited = "answer to the request", .judge = judge}},
                       .passed = "it says what to do",
                       .secrets = {}});
}

}  // namespace

const Protocol& postfix_policy() {
  static constexpr Protocol it{.name = "postfix-policy", .title = "Postfix policy", .port = 10023, .make = make};
  return it;
}

}  // namespace healer::protocols
