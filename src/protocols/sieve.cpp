// SPDX-License-Identifier: MIT
// sieve (ManageSieve, RFC 5804): the greeting, which is a list of capabilities, STARTTLS where it is asked for, LOGOUT.
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& sieve();

namespace {

LineVerdict judge(std::string_view line) {
  const auto is = [&](std::string_view word) {
    return begins_with_word(line, word) ||
           (begins_with_word(line.substr(0, word.size()), word) && line[word.size()] == '(');
  };
  if (is("OK")) return LineVerdict::Good;
  if (is("NO") || is("BYE")) return LineVerdict::Refused;
  return line.starts_with('"') ? LineVerdict::More : LineVerdict::Unexpected;
}

std::unique_ptr<Conversation> make(const Order& order) {
  LineScript script{.server = "a Sieve server", .steps = {}, .passed = {}, .secrets = {}, .limits = {.longest = 8192}};
  const auto add = [&](std::string say, std::string_view awaited, bool begins_tls = false) {
    script.steps.push_back({.say = std::move(say), .awaited = awaited, .judge = judge, .begins_tls = begins_tls});
  };
  add({}, "greeting");
  if (order.find("starttls") != nullptr) {
    add("STARTTLS\r\n", "answer to STARTTLS", true);
    add({}, "capabilities within TLS");
  }
  add("LOGOUT\r\n", "answer to LOGOUT");
  return line_session(std::move(script));
}

}  // namespace

const Protocol& sieve() {
  static constexpr Protocol it{
      .name = "sieve", .title = "Sieve", .port = 4190, .options = kTlsOptions, .upgrades = begins_tls, .make = make};
  return it;
}

}  // namespace healer::protocols
