// SPDX-License-Identifier: MIT
// ntp3 (RFC 1305, RFC 5905): asks a time server, which must know the time itself; with `offset` it must be ours.
#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "protocols/datagram_talk.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& ntp3();

namespace {

constexpr std::size_t kBytes = 48;
constexpr unsigned kVersion = 3;
constexpr unsigned kClient = 3;
constexpr unsigned kServer = 4;
constexpr unsigned kUnknownLeap = 3;
constexpr unsigned kUnsynchronized = 16;
constexpr double kSince1900 = 2'208'988'800.0;
constexpr double kEra = 4294967296.0;

class Ntp final : public DatagramTalk {
 public:
  explicit Ntp(const Order& order) : cookie_(big(order.nonce, 8)), now_(order.now) {
    if (const Setting* offset = order.find("offset")) offset_ = *offset;
  }

  std::string_view awaited() const override { return got_something_else_ ? "answer to this question" : "answer"; }

 protected:
  // What would be the time here is a number that nobody can guess: the time is nobody's business.
  std::string question() override {
    sent_ = here();
    return static_cast<char>(kUnknownLeap << 6U | kVersion << 3U | kClient) + std::string(kBytes - 9, '\0') + cookie_;
  }

  Want answer(std::string_view datagram) override {
    if (datagram.size() < kBytes) return Want::fail("this is not a time server: it said " + quote(datagram));
    const double received = here();
    ByteReader in(datagram);
    const unsigned first = in.byte();
    const unsigned stratum = in.byte();
    if ((first & 7U) != kServer || ((first >> 3U) & 7U) != kVersion)
      return Want::fail(
          fmt::format("its answer is of version {} and mode {}, not 3 and 4", (first >> 3U) & 7U, first & 7U));
    // What does not repeat our number is an answer to somebody else's question, or by one who has not seen ours.
    if (datagram.substr(24, 8) != cookie_) {
      got_something_else_ = true;
      return Want::receive();
    }
    if (stratum == 0) return Want::fail("it refuses to answer: " + quote(datagram.substr(12, 4)));
    if (first >> 6U == kUnknownLeap || stratum >= kUnsynchronized)
      return Want::fail("it does not know the time itself");
    if (!offset_) return Want::pass(fmt::format("it tells the time, at stratum {}", stratum));
    if (now_ == nullptr) return Want::unknown("nobody knows what time it is here");
    in.take(30);
    const double arrived = time_of(in);
    const double left = time_of(in);
    const double offset = (wrapped(arrived - sent_) + wrapped(left - received)) / 2;
    const auto apart = static_cast<std::int64_t>(std::llround(std::abs(offset) * 1000));
    const std::string difference = fmt::format("its time is {} ms {} ours", apart, offset >= 0 ? "ahead of" : "behind");
    if (!holds(offset_->op, apart, offset_->number))
      return Want::fail(fmt::format("{}, not {} {} ms", difference, to_string(offset_->op), offset_->number));
    return Want::pass(difference);
  }

 private:
  [[nodiscard]] double here() const {
    if (now_ == nullptr) return 0;
    return static_cast<double>(now_().time_since_epoch().count()) / 1000 + kSince1900;
  }
  static double time_of(ByteReader& in) {
    const auto seconds = static_cast<double>(in.big(4));
    return seconds + static_cast<double>(in.big(4)) / kEra;
  }
  /// Seconds are counted modulo 2^32.
  static double wrapped(double apart) { return apart - std::round(apart / kEra) * kEra; }

  std::string cookie_;
  WallTime (*now_)();
  std::optional<Setting> offset_;
  double sent_ = 0;
  bool got_something_else_ = false;  // something, but no answer
};

constexpr Option kOptions[] = {{.word = "offset", .type = OptionType::Lag}};

}  // namespace

const Protocol& ntp3() {
  static constexpr Protocol it{
      .name = "ntp3",
      .title = "NTP",
      .port = 123,
      .datagrams = true,
      .only_datagrams = true,
      .options = kOptions,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Ntp>(order); }};
  return it;
}

}  // namespace healer::protocols
