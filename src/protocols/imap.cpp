// SPDX-License-Identifier: MIT
// imap, imaps (RFC 3501): greeting, STARTTLS and a login where they are asked for, LOGOUT, which is answered by BYE.
#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& imap();
const Protocol& imaps();

namespace {

LineVerdict greeting(std::string_view line) {
  if (begins_with_word(line, "* OK") || begins_with_word(line, "* PREAUTH")) return LineVerdict::Good;
  return begins_with_word(line, "* BYE") ? LineVerdict::Refused : LineVerdict::Unexpected;
}

/// A command of one tag: untagged lines are skipped, but for a server that takes its leave.
LineStep command(std::string tag, std::string_view words, std::string_view awaited) {
  return {.say = fmt::format("{} {}\r\n", tag, words),
          .awaited = awaited,
          .judge =
              [tag](std::string_view line) {
                if (begins_with_word(line, "* BYE")) return LineVerdict::Refused;
                if (line.starts_with("* ")) return LineVerdict::More;
                return begins_with_word(line, tag + " OK") ? LineVerdict::Good : LineVerdict::Refused;
              },
          .begins_tls = words == "STARTTLS"};
}

LineVerdict leave(std::string_view line) {
  if (begins_with_word(line, "* BYE")) return LineVerdict::Good;
  return line.starts_with("* ") ? LineVerdict::More : LineVerdict::Refused;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::unique_ptr<Conversation> make(const Order& order) {
  const std::string user(order.text("username"));
  const std::string password(order.text("password"));
  LineScript script{.server = "an IMAP server",
                    .steps = {},
                    .passed = {},
                    .secrets = mail_secrets(user, password),
                    .limits = {.longest = 8192}};
  script.secrets.push_back(in_quotes(password));
  if (password.empty()) script.secrets.clear();
  script.steps.push_back({.say = {}, .awaited = "greeting", .judge = greeting});
  if (order.find("starttls") != nullptr) script.steps.push_back(command("001", "STARTTLS", "answer to STARTTLS"));
  if (!user.empty())
    script.steps.push_back(
        command("002", fmt::format("LOGIN {} {}", in_quotes(user), in_quotes(password)), "answer to the login"));
  script.steps.push_back({.say = "003 LOGOUT\r\n", .awaited = "answer to LOGOUT", .judge = leave});
  return line_session(std::move(script));
}

}  // namespace

const Protocol& imap() {
  static constexpr Protocol it{.name = "imap",
                               .title = "IMAP",
                               .port = 143,
                               .options = kLoginAndTlsOptions,
                               .fault = line_login_fault,
                               .upgrades = begins_tls,
                               .make = make};
  return it;
}

const Protocol& imaps() {
  static constexpr Protocol it{.name = "imaps",
                               .title = "IMAPS",
                               .port = 993,
                               .tls = TlsStart::Always,
                               .options = kLoginOptions,
                               .fault = line_login_fault,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
