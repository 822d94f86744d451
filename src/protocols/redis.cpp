// SPDX-License-Identifier: MIT
// redis: PING, which is answered by PONG, or by a server that wants to know its clients first.
#include "protocols/line_reader.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& redis();

namespace {

constexpr std::size_t kLongestLine = 512;

class Redis final : public Conversation {
 public:
  Want begin() override { return Want::receive("*1\r\n$4\r\nPING\r\n"); }

  Want receive(std::string_view bytes) override {
    if (const auto line = line_.next(bytes)) return judge(*line);
    return line_.length() > kLongestLine ? judge(line_.rest()) : Want::receive();
  }

  Want closed() override {
    if (line_.length() == 0) return Want::fail("the server closed the connection before its answer to PING");
    return judge(line_.rest());
  }

  std::string_view awaited() const override { return "answer to PING"; }

 private:
  static Want judge(std::string_view line) {
    const std::string quit = "*1\r\n$4\r\nQUIT\r\n";
    if (line == "+PONG") return Want::pass("it answers PING", quit);
    if (line.starts_with("-NOAUTH")) return Want::pass("it answers PING, but requires a password for more", quit);
    return Want::fail("its answer to PING is " + quote(line));
  }

  LineReader line_{kLongestLine};
};

}  // namespace

const Protocol& redis() {
  static constexpr Protocol it{
      .name = "redis", .title = "Redis", .port = 6379, .make = [](const Order&) -> std::unique_ptr<Conversation> {
        return std::make_unique<Redis>();
      }};
  return it;
}

}  // namespace healer::protocols
