// SPDX-License-Identifier: MIT
// memcache: the command "no operation" of its binary protocol, which is answered by as little.
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"

#include <spdlog/fmt/fmt.h>

namespace healer::protocols {

const Protocol& memcache();

namespace {

constexpr std::size_t kHeader = 24;
constexpr std::size_t kMostBytes = 4096;
constexpr std::uint8_t kRequest = 0x80;
constexpr std::uint8_t kResponse = 0x81;
constexpr std::uint8_t kNoOperation = 0x0a;
constexpr std::uint8_t kQuietQuit = 0x17;

std::string command(std::uint8_t code) { return big(kRequest, 1) + big(code, 1) + std::string(kHeader - 2, '\0'); }

class Memcache final : public PacketTalk {
 public:
  Memcache() : PacketTalk("a memcache server", kMostBytes) {}

  Want begin() override { return Want::receive(command(kNoOperation)); }
  std::string_view awaited() const override { return "answer to the command noop"; }

 protected:
  Size size_of(std::string_view begun) const override {
    if (static_cast<std::uint8_t>(begun[0]) != kResponse) return Size::wrong();
    if (begun.size() < kHeader) return Size::more();
    return Size::of(kHeader + ByteReader(begun.substr(8)).big(4));
  }

  Want packet(std::string_view packet) override {
    const auto status = ByteReader(packet.substr(6)).big(2);
    if (status != 0) return Want::fail(fmt::format("it answers the command noop with the error {:#06x}", status));
    return Want::pass("it answers the command noop", command(kQuietQuit));
  }
};

}  // namespace

const Protocol& memcache() {
  static constexpr Protocol it{
      .name = "memcache",
      .title = "Memcache",
      .port = 11211,
      .make = [](const Order&) -> std::unique_ptr<Conversation> { return std::make_unique<Memcache>(); }};
  return it;
}

}  // namespace healer::protocols
