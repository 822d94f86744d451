// SPDX-License-Identifier: MIT
// mqtt (3.1.1): CONNECT, which the broker accepts, DISCONNECT.
#include <spdlog/fmt/fmt.h>

#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& mqtt();

namespace {

constexpr std::size_t kMostText = 65'535;
constexpr char kConnect = 0x10;
constexpr char kConnack = 0x20;
constexpr std::size_t kConnackBytes = 4;
constexpr std::uint64_t kKeepAlive = 60;

std::string text(std::string_view value) { return big(value.size(), 2) + std::string(value); }

std::string remaining(std::size_t size) {
  std::string bytes;
  do {
    const std::size_t more = size > 0x7f ? 0x80 : 0;
    bytes += static_cast<char>((size & 0x7fU) | more);
    size >>= 7U;
  } while (size > 0);
  return bytes;
}

std::string_view name_of(int code) {
  switch (code) {
    case 1: return "it does not speak MQTT 3.1.1";
    case 2: return "it does not take our name";
    case 3: return "it is not available";
    case 4: return "the user name or the password is wrong";
    case 5: return "not authorized";
    default: return "it refuses the connection";
  }
}

class Mqtt final : public PacketTalk {
 public:
  explicit Mqtt(const Order& order)
      : PacketTalk("an MQTT broker", kConnackBytes), client_(fmt::format("healer-{:016x}", order.nonce)) {
    if (const Setting* user = order.find("username")) username_ = user->text;
    if (const Setting* password = order.find("password")) password_ = password->text;
  }

  Want begin() override {
    unsigned flags = 0x02;  // a session that is forgotten
    std::string payload = text(client_);
    if (username_) flags |= 0x80U, payload += text(*username_);
    if (username_ && password_) flags |= 0x40U, payload += text(*password_);
    const std::string body = text("MQTT") + big(4, 1) + big(flags, 1) + big(kKeepAlive, 2) + payload;
    return Want::receive(kConnect + remaining(body.size()) + body);
  }
  std::string_view awaited() const override { return "answer to CONNECT"; }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun[0] != kConnack || (begun.size() > 1 && begun[1] != 2)) return Size::wrong();
    return begun.size() > 1 ? Size::of(kConnackBytes) : Size::more();
  }

  Want packet(std::string_view packet) override {
    const int code = static_cast<unsigned char>(packet[3]);
    if (code == 0) return Want::pass("it accepts the connection", std::string("\xe0\0", 2));
    return Want::fail(fmt::format("its answer to CONNECT is {} ({})", code, name_of(code)));
  }

 private:
  std::string client_;
  std::optional<std::string> username_, password_;
};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings)
    if (setting.text.size() > kMostText) return fmt::format("the {} has more than {} bytes", setting.word, kMostText);
  return {};
}

}  // namespace

const Protocol& mqtt() {
  static constexpr Protocol it{
      .name = "mqtt",
      .title = "MQTT",
      .port = 1883,
      .options = kLoginOptions,
      .fault = fault,
      .warning = lone_password,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Mqtt>(order); }};
  return it;
}

}  // namespace healer::protocols
