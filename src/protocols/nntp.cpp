// SPDX-License-Identifier: MIT
// nntp (RFC 3977, RFC 4642): greeting, STARTTLS where it is asked for, QUIT. A server that is for reading only (201) is
// as good as one that takes articles, which Monit does not see so.
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& nntp();

namespace {

std::unique_ptr<Conversation> make(const Order& order) {
  LineScript script{.server = "a news server", .steps = {}, .passed = {}, .secrets = {}};
  script.steps.push_back({.say = {}, .awaited = "greeting", .judge = replies({200, 201})});
  if (order.find("starttls") != nullptr)
    script.steps.push_back(
        {.say = "STARTTLS\r\n", .awaited = "answer to STARTTLS", .judge = replies({382}), .begins_tls = true});
  script.steps.push_back({.say = "QUIT\r\n", .awaited = "answer to QUIT", .judge = replies({205})});
  return line_session(std::move(script));
}

}  // namespace

const Protocol& nntp() {
  static constexpr Protocol it{
      .name = "nntp", .title = "NNTP", .port = 119, .options = kTlsOptions, .upgrades = begins_tls, .make = make};
  return it;
}

}  // namespace healer::protocols
