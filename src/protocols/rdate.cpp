// SPDX-License-Identifier: MIT
// rdate (RFC 868): the server tells the time, which must be ours.
#include <cstdlib>

#include <spdlog/fmt/fmt.h>

#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"

namespace healer::protocols {

const Protocol& rdate();

namespace {

constexpr std::int64_t kSince1900 = 2'208'988'800;  // seconds from 1900 to 1970
constexpr std::int64_t kMostApart = 3;              // seconds; Monit allows as much
constexpr std::int64_t kEra = std::int64_t{1} << 32U;

class Rdate final : public PacketTalk {
 public:
  explicit Rdate(WallTime (*now)()) : PacketTalk("a time server", 4), now_(now) {}

  Want begin() override { return Want::receive(); }
  std::string_view awaited() const override { return "time"; }

 protected:
  Size size_of(std::string_view) const override { return Size::of(4); }

  Want packet(std::string_view packet) override {
    if (now_ == nullptr) return Want::unknown("nobody knows what time it is here");
    const auto server_time = static_cast<std::int64_t>(ByteReader(packet).big(4));
    const std::int64_t here = std::chrono::floor<std::chrono::seconds>(now_()).time_since_epoch().count() + kSince1900;
    // It counts modulo 2^32, which ends in 2036.
    std::int64_t apart = (server_time - here) % kEra;
    if (apart > kEra / 2) apart -= kEra;
    if (apart < -kEra / 2) apart += kEra;
    if (std::abs(apart) > kMostApart)
      return Want::fail(fmt::format("its time is {} s {} ours", std::abs(apart), apart > 0 ? "ahead of" : "behind"));
    return Want::pass("it tells the right time");
  }

 private:
  WallTime (*now_)();
};

}  // namespace

const Protocol& rdate() {
  static constexpr Protocol it{
      .name = "rdate", .title = "RDATE", .port = 37, .make = [](const Order& order) -> std::unique_ptr<Conversation> {
        return std::make_unique<Rdate>(order.now);
      }};
  return it;
}

}  // namespace healer::protocols
