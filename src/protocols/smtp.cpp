// SPDX-License-Identifier: MIT
// smtp, smtps: greeting, EHLO (HELO where that is refused), STARTTLS and a login where they are asked for, QUIT. Every
// answer counts, that to QUIT included, as in Monit.
#include <algorithm>
#include <charconv>

#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/line_reader.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/strike_out.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& smtp();
const Protocol& smtps();

namespace {

constexpr std::size_t kLongestLine = 1000;  // RFC 5321 has 512 for a reply
constexpr int kMostLines = 200;             // of one reply

class Smtp final : public Conversation {
 public:
  explicit Smtp(const Order& order)
      : wants_tls_(order.find("starttls") != nullptr),
        username_(order.text("username")),
        password_(order.text("password")) {}

  Want begin() override { return Want::receive(); }

  Want receive(std::string_view bytes) override {
    while (!bytes.empty()) {
      const auto line = line_.next(bytes);
      if (!line) {
        if (line_.length() > kLongestLine) return Want::fail("it sends an endless line");
        break;
      }
      if (++lines_ > kMostLines) return Want::fail("it sends an endless reply");
      const int code = code_of(*line);
      if (code == 0) return Want::fail("this is not a mail server: it said " + told(*line));
      note_extension(*line);
      if (line->size() > 3 && (*line)[3] == '-') continue;  // more lines of this reply follow
      lines_ = 0;
      Want want = reply(code, *line);
      if (want.kind != Want::Kind::Receive) {
        // What was sent in clear must not count as said within TLS.
        if (want.kind == Want::Kind::StartTls && !bytes.empty())
          return Want::fail("it sent more after it had agreed to begin TLS");
        return want;
      }
      if (!want.send.empty() && !bytes.empty()) return Want::fail("it answers before it is asked");
      if (!want.send.empty()) return want;
    }
    return Want::receive();
  }

  Want closed() override {
    return Want::fail(fmt::format("the server closed the connection before its {}", awaited()));
  }

  Want secured() override {
    plain_ = login_ = false;
    return say("EHLO localhost", Step::Ehlo);
  }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Greeting: return "greeting";
      case Step::Ehlo: return "answer to EHLO";
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

 private:
  enum class Step : std::uint8_t { Greeting, Ehlo, Helo, StartTls, Plain, Login, User, Password, Quit };

  static int code_of(std::string_view line) {
    int code = 0;
    const std::string_view three = line.substr(0, 3);
    const auto [rest, error] = std::from_chars(three.data(), three.data() + three.size(), code);
    return error == std::errc{} && rest == three.data() + 3 && code >= 100 ? code : 0;
  }

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
  [[nodiscard]] std::string told(std::string_view line) const {
    return quote(strike_out(line, mail_secrets(username_, password_)));
  }

  Want refused(std::string_view line) {
    return Want::fail(fmt::format("its {} is {}", awaited(), told(line)), step_ == Step::Quit ? "" : "QUIT\r\n");
  }

  Want reply(int code, std::string_view line) {
    switch (step_) {
      case Step::Greeting: return code == 220 ? say("EHLO localhost", Step::Ehlo) : refused(line);
      case Step::Ehlo:
        if (code / 100 != 2) return wants_tls_ || tls_ ? refused(line) : say("HELO localhost", Step::Helo);
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
        return code == 221 ? Want::pass(tls_ ? "it is a mail server with TLS" : "it is a mail server") : refused(line);
    }
    return refused(line);
  }

  Want greeted() {
    if (wants_tls_ && !tls_) {
      if (!offers_tls_) return Want::fail("it does not offer STARTTLS", "QUIT\r\n");
      return say("STARTTLS", Step::StartTls);
    }
    if (username_.empty()) return say("QUIT", Step::Quit);
    if (plain_) return say("AUTH PLAIN " + base64('\0' + username_ + '\0' + password_), Step::Plain);
    if (login_) return say("AUTH LOGIN", Step::Login);
    return Want::fail("it offers no login that healer knows (PLAIN, LOGIN)", "QUIT\r\n");
  }

  LineReader line_{kLongestLine};
  int lines_ = 0;  // of the reply so far
  Step step_ = Step::Greeting;
  bool wants_tls_;
  bool tls_ = false;  // begun here
  bool offers_tls_ = false;
  bool plain_ = false;
  bool login_ = false;
  std::string username_;
  std::string password_;
};

// In Monit TLS begins before the first word, also with `using tls`; `starttls` is healer's own.
constexpr Option kOptions[] = {{.word = "username"},
                               {.word = "password", .type = OptionType::Secret},
                               {.word = "starttls", .type = OptionType::Flag}};

std::string fault(std::span<const Setting> settings) {
  const auto given = [&](std::string_view word) {
    return std::ranges::find(settings, word, &Setting::word) != settings.end();
  };
  if (given("password") != given("username")) return "'username' and 'password' need each other";
  return {};
}

bool upgrades(std::span<const Setting> settings) {
  return std::ranges::find(settings, std::string_view("starttls"), &Setting::word) != settings.end();
}

std::unique_ptr<Conversation> make(const Order& order) { return std::make_unique<Smtp>(order); }

}  // namespace

const Protocol& smtp() {
  static constexpr Protocol it{.name = "smtp",
                               .title = "SMTP",
                               .port = 25,
                               .options = kOptions,
                               .fault = fault,
                               .upgrades = upgrades,
                               .make = make};
  return it;
}

const Protocol& smtps() {
  // Without `starttls`: its TLS stands already.
  static constexpr Protocol it{.name = "smtps",
                               .title = "SMTPS",
                               .port = 465,
                               .tls = TlsStart::Always,
                               .options = std::span(kOptions).first<2>(),
                               .fault = fault,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
