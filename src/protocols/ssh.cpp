// SPDX-License-Identifier: MIT
// ssh: the server says who it is in its first line.
#include "protocols/line_reader.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& ssh();

namespace {

constexpr std::size_t kLongestLine = 255;  // RFC 4253

class Ssh final : public Conversation {
 public:
  Want begin() override { return Want::receive(); }

  Want receive(std::string_view bytes) override {
    if (const auto line = line_.next(bytes)) return judge(*line);
    return line_.length() > kLongestLine ? judge(line_.rest()) : Want::receive();
  }

  Want closed() override {
    return line_.length() == 0 ? Want::fail("the server closed the connection without sending anything")
                               : judge(line_.rest());
  }

  std::string_view awaited() const override { return "greeting"; }

 private:
  // As in Monit whatever begins with SSH- will do, and nothing may stand before it. Our own line keeps the server's log
  // free of complaints about clients that do not say who they are.
  static Want judge(std::string_view line) {
    if (iequals(line.substr(0, 4), "ssh-")) return Want::pass("it is " + quote(line), "SSH-2.0-healer\r\n");
    return Want::fail("this is not an SSH server: it said " + quote(line));
  }

  LineReader line_{kLongestLine};
};

}  // namespace

const Protocol& ssh() {
  static constexpr Protocol it{
      .name = "ssh", .title = "SSH", .port = 22, .make = [](const Order&) -> std::unique_ptr<Conversation> {
        return std::make_unique<Ssh>();
      }};
  return it;
}

}  // namespace healer::protocols
