// SPDX-License-Identifier: MIT
// sip (RFC 3261), over UDP or TCP: OPTIONS, which is answered by success.
#include <charconv>

#include <spdlog/fmt/fmt.h>

#include "protocols/line_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& sip();

namespace {

constexpr std::string_view kUsualTarget = "healer@healer.invalid";
constexpr std::int64_t kUsualForwards = 70;

// Answers come back on the connection, or to where the datagram came from (RFC 3581): our own address is of no use.
std::string request(const Order& order) {
  const std::string target = [&] {
    const std::string_view given = order.text("target");
    const std::string address(given.empty() ? kUsualTarget : given);
    return address.starts_with("sip:") || address.starts_with("sips:") ? address : "sip:" + address;
  }();
  const Setting* forwards = order.find("maxforward");
  const std::string number = fmt::format("{:016x}", order.nonce);
  return fmt::format(
      "OPTIONS {0} SIP/2.0\r\nVia: SIP/2.0/{1} healer.invalid;branch=z9hG4bK{2};rport\r\nMax-Forwards: {3}\r\n"
      "To: <{0}>\r\nFrom: healer <sip:healer@healer.invalid>;tag={2}\r\nCall-ID: {2}\r\nCSeq: 1 OPTIONS\r\n"
      "Contact: <sip:healer@healer.invalid>\r\nAccept: application/sdp\r\nContent-Length: 0\r\n"
      "User-Agent: healer/" HEALER_VERSION "\r\n\r\n",
      target,
      order.datagrams ? "UDP"
      : order.tls     ? "TLS"
                      : "TCP",
      number, forwards != nullptr ? forwards->number : kUsualForwards);
}

class Sip final : public LineTalk {
 public:
  explicit Sip(const Order& order) : LineTalk({.longest = 4096}), request_(request(order)) {}

  Want begin() override { return Want::receive(std::move(request_)); }
  std::string_view awaited() const override { return "answer to OPTIONS"; }

 protected:
  Want line(std::string_view line) override {
    if (is_provisional_) {  // its headers
      is_provisional_ = !line.empty();
      return Want::receive();
    }
    if (line.empty()) return Want::receive();
    int status = 0;
    const std::string_view digits = line.size() >= 11 && line.starts_with("SIP/2.0 ") ? line.substr(8, 3) : "";
    const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), status);
    if (wrong != std::errc{} || status < 100 || end != digits.data() + digits.size())
      return Want::fail("this is not a SIP server: it said " + quote(line));
    is_provisional_ = status < 200;
    if (is_provisional_) return Want::receive();
    if (status < 300) return Want::pass(fmt::format("it answers OPTIONS with {}", status));
    return Want::fail("its answer to OPTIONS is " + quote(line.substr(8)));
  }

 private:
  std::string request_;
  bool is_provisional_ = false;  // an answer that promises another one
};

constexpr Option kOptions[] = {{.word = "target"}, {.word = "maxforward", .type = OptionType::Number}};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (setting.text.find_first_of(std::string_view("\r\n\0<> ", 6)) != std::string::npos)
      return "the target is not an address, as in \"name@example.org\"";
    if (setting.word == "maxforward" && setting.number > 255) return "'maxforward' is at most 255";
  }
  return {};
}

}  // namespace

const Protocol& sip() {
  static constexpr Protocol it{
      .name = "sip",
      .title = "SIP",
      .port = 5060,
      .datagrams = true,
      .options = kOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Sip>(order); }};
  return it;
}

}  // namespace healer::protocols
