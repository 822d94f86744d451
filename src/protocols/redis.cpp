// SPDX-License-Identifier: MIT
// redis: a login where a password is given, and PING, which is answered by PONG, or by a server that wants to know its
// clients first.
#include <spdlog/fmt/fmt.h>

#include "protocols/line_talk.hpp"
#include "protocols/options.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::protocols {

const Protocol& redis();

namespace {

std::string command(const std::vector<std::string_view>& words) {
  std::string text = fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words) text += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return text;
}

class Redis final : public LineTalk {
 public:
  explicit Redis(const Order& order)
      : LineTalk({.longest = 512}),
        username_(order.text("username")),
        password_(order.text("password")),
        logs_in_(!password_.empty()) {}

  Want begin() override {
    if (!logs_in_) return Want::receive(command({"PING"}));
    return Want::receive(username_.empty() ? command({"AUTH", password_}) : command({"AUTH", username_, password_}));
  }

  std::string_view awaited() const override { return logs_in_ ? "answer to the login" : "answer to PING"; }

 protected:
  Want line(std::string_view line) override {
    if (logs_in_) {
      if (line != "+OK") return refused(line);
      logs_in_ = false;
      return Want::receive(command({"PING"}));
    }
    if (line == "+PONG") return Want::pass("it answers PING", command({"QUIT"}));
    if (line.starts_with("-NOAUTH"))
      return Want::pass("it answers PING, but requires a password for more", command({"QUIT"}));
    return refused(line);
  }

 private:
  [[nodiscard]] Want refused(std::string_view line) const {
    return Want::fail(fmt::format("its {} is {}", awaited(), quote(strike_out(line, {password_}))));
  }

  std::string username_;
  std::string password_;
  bool logs_in_;
};

std::string fault(std::span<const Setting> settings) {
  if (given(settings, "username") && !given(settings, "password")) return "'username' needs 'password'";
  return {};
}

}  // namespace

const Protocol& redis() {
  static constexpr Protocol it{
      .name = "redis",
      .title = "Redis",
      .port = 6379,
      .options = kLoginOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Redis>(order); }};
  return it;
}

}  // namespace healer::protocols
