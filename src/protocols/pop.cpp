// SPDX-License-Identifier: MIT
// pop, pops (RFC 1939): greeting, STLS and a login where they are asked for, QUIT.
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& pop();
const Protocol& pops();

namespace {

LineVerdict judge(std::string_view line) {
  if (begins_with_word(line, "+OK")) return LineVerdict::Good;
  return begins_with_word(line, "-ERR") ? LineVerdict::Refused : LineVerdict::Unexpected;
}

std::unique_ptr<Conversation> make(const Order& order) {
  const std::string user(order.text("username"));
  const std::string password(order.text("password"));
  LineScript script{.server = "a POP server", .steps = {}, .passed = {}, .secrets = {}};
  if (!password.empty()) script.secrets.push_back(password);
  const auto add = [&](std::string say, std::string_view awaited, bool begins_tls = false) {
    script.steps.push_back({.say = std::move(say), .awaited = awaited, .judge = judge, .begins_tls = begins_tls});
  };
  add({}, "greeting");
  if (order.find("starttls") != nullptr) add("STLS\r\n", "answer to STLS", true);
  if (!user.empty()) {
    add("USER " + user + "\r\n", "answer to the user name");
    add("PASS " + password + "\r\n", "answer to the login");
  }
  add("QUIT\r\n", "answer to QUIT");
  return line_session(std::move(script));
}

}  // namespace

const Protocol& pop() {
  static constexpr Protocol it{.name = "pop",
                               .title = "POP",
                               .port = 110,
                               .options = kLoginAndTlsOptions,
                               .fault = line_login_fault,
                               .upgrades = begins_tls,
                               .make = make};
  return it;
}

const Protocol& pops() {
  static constexpr Protocol it{.name = "pops",
                               .title = "POPS",
                               .port = 995,
                               .tls = TlsStart::Always,
                               .options = kLoginOptions,
                               .fault = line_login_fault,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
