// SPDX-License-Identifier: MIT
// ftp (RFC 959, RFC 4217): greeting, AUTH TLS where it is asked for, QUIT.
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& ftp();

namespace {

std::unique_ptr<Conversation> make(const Order& order) {
  LineScript script{.server = "an FTP server", .steps = {}, .passed = {}, .secrets = {}};
  script.steps.push_back({.say = {}, .awaited = "greeting", .judge = replies({220})});
  if (order.find("starttls") != nullptr)
    script.steps.push_back(
        {.say = "AUTH TLS\r\n", .awaited = "answer to AUTH TLS", .judge = replies({234}), .begins_tls = true});
  script.steps.push_back({.say = "QUIT\r\n", .awaited = "answer to QUIT", .judge = replies({221})});
  return line_session(std::move(script));
}

}  // namespace

const Protocol& ftp() {
  static constexpr Protocol it{
      .name = "ftp", .title = "FTP", .port = 21, .options = kTlsOptions, .upgrades = begins_tls, .make = make};
  return it;
}

}  // namespace healer::protocols
