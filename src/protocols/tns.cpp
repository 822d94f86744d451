// SPDX-License-Identifier: MIT
// tns: the command ping to the listener of an Oracle database, which refuses the connection and says that all is well.
#include <spdlog/fmt/fmt.h>

#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& tns();

namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kConnectBytes = 58;  // before its data
constexpr std::size_t kMostBytes = 8192;
constexpr std::uint8_t kConnect = 1;
constexpr std::uint8_t kRefuse = 4;
constexpr std::string_view kPing = "(CONNECT_DATA=(COMMAND=ping))";

/// CONNECT, version 310, which all understand from 300 on.
std::string ping() {
  const std::string fixed = big(310, 2) + big(300, 2) + big(0, 2) + big(0x0800, 2) + big(0x7fff, 2) + big(0xa30a, 2) +
                            big(0, 2) + big(0x0100, 2) + big(kPing.size(), 2) + big(kConnectBytes, 2) +
                            std::string(30, '\0');
  return big(kConnectBytes + kPing.size(), 2) + big(0, 2) + big(kConnect, 1) + big(0, 1) + big(0, 2) + fixed +
         std::string(kPing);
}

class Tns final : public PacketTalk {
 public:
  Tns() : PacketTalk("a listener of Oracle", kMostBytes) {}

  Want begin() override { return Want::receive(ping()); }
  std::string_view awaited() const override { return "answer to ping"; }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun.size() < kHeader) return Size::more();
    ByteReader in(begun);
    const std::size_t size = in.big(2);
    in.take(2);
    return in.byte() <= 19 && size >= kHeader ? Size::of(size) : Size::wrong();
  }

  Want packet(std::string_view packet) override {
    const auto type = static_cast<std::uint8_t>(packet[4]);
    if (type != kRefuse) return Want::fail(fmt::format("its answer to ping is of the type {}, not {}", type, kRefuse));
    const std::size_t data = packet.find('(', kHeader);
    const std::string_view text = packet.substr(std::min(data, packet.size()));
    const std::size_t error = text.find("(ERR=");
    if (error == std::string_view::npos || text.substr(error).starts_with("(ERR=0)"))
      return Want::pass("it answers ping");
    const std::string_view code = text.substr(error + 5);
    return Want::fail("its answer to ping is the error TNS-" + std::string(quote(code.substr(0, code.find(')')))));
  }
};

}  // namespace

const Protocol& tns() {
  static constexpr Protocol it{
      .name = "tns", .title = "TNS", .port = 1521, .make = [](const Order&) -> std::unique_ptr<Conversation> {
        return std::make_unique<Tns>();
      }};
  return it;
}

}  // namespace healer::protocols
