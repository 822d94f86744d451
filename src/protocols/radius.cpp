// SPDX-License-Identifier: MIT
// radius: Status-Server (RFC 5997), signed with the secret; the answer must be signed, too.
#include <spdlog/fmt/fmt.h>

#include "protocols/datagram_talk.hpp"
#include "protocols/digest.hpp"
#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& radius();

namespace {

constexpr std::uint8_t kStatusServer = 12;
constexpr std::uint8_t kAccessAccept = 2;
constexpr std::uint8_t kAccountingResponse = 5;
constexpr std::uint8_t kMessageAuthenticator = 80;
constexpr std::size_t kHeader = 20;
constexpr std::size_t kSum = 16;
constexpr std::string_view kUsualSecret = "testing123";

class Radius final : public DatagramTalk {
 public:
  explicit Radius(const Order& order)
      : secret_(order.find("secret") != nullptr ? order.text("secret") : kUsualSecret),
        number_(static_cast<std::uint8_t>(order.nonce)),
        authenticator_(hash_bytes(Hash::Md5, big(order.nonce, 8) + secret_)) {}

  Want begin() override {
    if (authenticator_.empty() || hmac_bytes(Hash::Md5, secret_, {}).empty())
      return Want::unknown("this machine makes no MD5 checksums, which RADIUS needs");
    return DatagramTalk::begin();
  }
  std::string_view awaited() const override { return "answer"; }

 protected:
  std::string question() override {
    const std::string start = big(kStatusServer, 1) + big(number_, 1) + big(kHeader + 2 + kSum, 2) + authenticator_ +
                              big(kMessageAuthenticator, 1) + big(2 + kSum, 1);
    return start + hmac_bytes(Hash::Md5, secret_, start + std::string(kSum, '\0'));
  }

  Want answer(std::string_view datagram) override {
    ByteReader in(datagram);
    const std::uint8_t code = in.byte();
    const std::uint8_t number = in.byte();
    const std::size_t size = in.big(2);
    const std::string_view signature = in.take(kSum);
    if (!in.good() || size < kHeader || size > datagram.size())
      return Want::fail("this is not a RADIUS server: it said " + quote(datagram));
    if (number != number_) return Want::receive();  // to somebody else's question
    const std::string_view attributes = datagram.substr(kHeader, size - kHeader);
    if (hash_bytes(Hash::Md5, std::string(datagram.substr(0, 4)) + authenticator_ + std::string(attributes) +
                                  secret_) != signature)
      return Want::fail("its answer is not signed with this secret");
    if (code != kAccessAccept && code != kAccountingResponse)
      return Want::fail(fmt::format("its answer has the code {}, not 2 or 5", code));
    return Want::pass("it answers Status-Server");
  }

 private:
  std::string secret_;
  std::uint8_t number_;
  std::string authenticator_;
};

constexpr Option kOptions[] = {{.word = "secret", .type = OptionType::Secret}};

}  // namespace

const Protocol& radius() {
  static constexpr Protocol it{
      .name = "radius",
      .title = "RADIUS",
      .port = 1812,
      .datagrams = true,
      .only_datagrams = true,
      .options = kOptions,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Radius>(order); }};
  return it;
}

}  // namespace healer::protocols
