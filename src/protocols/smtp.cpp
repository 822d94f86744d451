// SPDX-License-Identifier: MIT
// smtp, smtps, and lmtp, which differs in its first word (RFC 2033): greeting, EHLO (HELO where that is refused),
// STARTTLS and a login where they are asked for, QUIT. Every answer counts, that to QUIT included, as in Monit.
#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/secrets/strike_out.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& lmtp();
const Protocol& smtp();
const Protocol& smtps();

namespace {

class Smtp final : public LineTalk {
 public:
  Smtp(const Order& order, bool is_local)
      : LineTalk({}, true),
        hello_(is_local ? "LHLO" : "EHLO"),
        server_(is_local ? "a mail server for local deliveries (LMTP)" : "a mail server"),
        wants_tls_(order.find("starttls") != nullptr),
        username_(order.text("username")),
        password_(order.text("password")),
        logs_in_(order.find("username") != nullptr && order.find("password") != nullptr) {}

  Want begin() override { return Want::receive(); }

  Want secured() override {
    plain_ = login_ = false;
    return say(hello_ + " localhost", Step::Ehlo);
  }

  // What is not whole is no reply.
  Want closed() override { return broken_off(); }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Greeting: return "greeting";
      case Step::Ehlo: return hello_ == "LHLO" ? "answer to LHLO" : "answer to EHLO";
      case Step::Helo: return "answer to HELO";
      case Step::StartTls: return "answer to STARTTLS";
      case Step::Plain:
      case Step::Login:
      case Step::User:
      case Step::Password: return "answer to the login";
      case Step::Quit: return "answer to QUIT";
    }
    return "answer";
  }

 protected:
  Want line(std::string_view line) override {
    const int code = reply_code(line);
    if (code == 0) return Want::fail(fmt::format("this is not {}: it said {}", server_, quoted(line)));
    note_extension(line);
    if (line.size() > 3 && line[3] == '-') return Want::receive();  // more lines of this reply follow
    return reply(code, line);
  }

 private:
  enum class Step : std::uint8_t { Greeting, Ehlo, Helo, StartTls, Plain, Login, User, Password, Quit };

  void note_extension(std::string_view line) {
    if (step_ != Step::Ehlo || line.size() < 5) return;
    const std::string words = to_lower(trim(line.substr(4)));
    if (words == "starttls") offers_tls_ = true;
    if (!words.starts_with("auth ") && !words.starts_with("auth=")) return;
    plain_ = plain_ || (words + ' ').find("plain ") != std::string::npos;
    login_ = login_ || (words + ' ').find("login ") != std::string::npos;
  }

  Want say(const std::string& line, Step next) {
    step_ = next;
    return Want::receive(line + "\r\n");
  }

  /// A server may repeat what it was told: a password is in no message.
  [[nodiscard]] std::string quoted(std::string_view line) const {
    return quote(strike_out(line, mail_secrets(username_, password_)));
  }

  Want refused(std::string_view line) {
    return Want::fail(fmt::format("its {} is {}", awaited(), quoted(line)), step_ == Step::Quit ? "" : "QUIT\r\n");
  }

  Want reply(int code, std::string_view line) {
    switch (step_) {
      case Step::Greeting: return code == 220 ? say(hello_ + " localhost", Step::Ehlo) : refused(line);
      case Step::Ehlo:
        if (code / 100 != 2)
          return wants_tls_ || tls_ || hello_ == "LHLO" ? refused(line) : say("HELO localhost", Step::Helo);
        return greeted();
      case Step::Helo: return code / 100 == 2 ? greeted() : refused(line);
      case Step::StartTls:
        if (code != 220) return refused(line);
        tls_ = true;
        return Want::start_tls();
      case Step::Plain:
      case Step::Password: return code == 235 ? say("QUIT", Step::Quit) : refused(line);
      case Step::Login: return code == 334 ? say(base64(username_), Step::User) : refused(line);
      case Step::User: return code == 334 ? say(base64(password_), Step::Password) : refused(line);
      case Step::Quit:
        return code == 221 ? Want::pass(fmt::format("it is {}{}", server_, tls_ ? " with TLS" : "")) : refused(line);
    }
    return refused(line);
  }

  Want greeted() {
    if (wants_tls_ && !tls_) {
      if (!offers_tls_) return Want::fail("it does not offer STARTTLS", "QUIT\r\n");
      return say("STARTTLS", Step::StartTls);
    }
    if (!logs_in_) return say("QUIT", Step::Quit);
    if (plain_) return say("AUTH PLAIN " + base64('\0' + username_ + '\0' + password_), Step::Plain);
    if (login_) return say("AUTH LOGIN", Step::Login);
    return Want::fail("it offers no login that healer knows (PLAIN, LOGIN)", "QUIT\r\n");
  }

  std::string hello_;
  std::string_view server_;
  Step step_ = Step::Greeting;
  bool wants_tls_;
  bool tls_ = false;  // begun here
  bool offers_tls_ = false;
  bool plain_ = false;
  bool login_ = false;
  std::string username_;
  std::string password_;
  bool logs_in_;  // with half a login nobody does, as in Monit
};

// In Monit TLS begins before the first word, also with `using tls`; `starttls` is healer's own.
std::unique_ptr<Conversation> make(const Order& order) { return std::make_unique<Smtp>(order, false); }
std::unique_ptr<Conversation> make_local(const Order& order) { return std::make_unique<Smtp>(order, true); }

}  // namespace

const Protocol& lmtp() {
  static constexpr Protocol it{
      .name = "lmtp", .title = "LMTP", .port = 24, .options = kTlsOptions, .upgrades = begins_tls, .make = make_local};
  return it;
}

const Protocol& smtp() {
  static constexpr Protocol it{.name = "smtp",
                               .title = "SMTP",
                               .port = 25,
                               .options = kLoginAndTlsOptions,
                               .warning = half_login,
                               .upgrades = begins_tls,
                               .make = make};
  return it;
}

const Protocol& smtps() {
  // Without `starttls`: its TLS stands already.
  static constexpr Protocol it{.name = "smtps",
                               .title = "SMTPS",
                               .port = 465,
                               .tls = TlsStart::Always,
                               .options = kLoginOptions,
                               .warning = half_login,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
