// SPDX-License-Identifier: MIT
// fail2ban: the command ping on the socket of its server, which is answered by pong. Both are lists of Python's pickle
// format; only what must be in the answer is looked for.
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& fail2ban();

namespace {

constexpr std::string_view kEnd = "<F2B_END_COMMAND>";
constexpr std::string_view kPing = "(lp0\nS'ping'\np1\na.";
constexpr std::size_t kMostBytes = 1024;  // of an answer

class Fail2ban final : public Conversation {
 public:
  Want begin() override { return Want::receive(std::string(kPing) + std::string(kEnd) + '\0'); }

  Want receive(std::string_view bytes) override {
    for (const char c : bytes) {
      received_ += c;
      if (received_.ends_with(kEnd)) return judge();
      if (received_.size() == 1 && c != '\x80' && c != '(') return unexpected();
      if (received_.size() > kMostBytes) return unexpected();
    }
    return Want::receive();
  }

  Want closed() override { return Want::fail("the server closed the connection before its answer to ping"); }
  std::string_view awaited() const override { return "answer to ping"; }

 private:
  [[nodiscard]] Want judge() const {
    if (received_.find("pong") == std::string::npos) return Want::fail("its answer to ping is " + quote(received_));
    return Want::pass("it answers ping", "<F2B_CLOSE_COMMAND>" + std::string(kEnd));
  }
  [[nodiscard]] Want unexpected() const {
    return Want::fail("this is not a fail2ban server: it said " + quote(received_));
  }

  std::string received_;
};

}  // namespace

const Protocol& fail2ban() {
  static constexpr Protocol it{
      .name = "fail2ban", .title = "Fail2ban", .make = [](const Order&) -> std::unique_ptr<Conversation> {
        return std::make_unique<Fail2ban>();
      }};
  return it;
}

}  // namespace healer::protocols
