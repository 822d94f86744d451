// SPDX-License-Identifier: MIT
// websocket (RFC 6455): the handshake, a ping that is answered by a pong, a close that is answered by one.
#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/http_talk.hpp"
#include "protocols/line_reader.hpp"
#include "protocols/line_talk.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& websocket();

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kLongestLine = 8192;
constexpr int kMostLines = 200;
constexpr std::uint64_t kMostBytes = 1024 * 1024;  // of what it sends beside the answers
constexpr unsigned kPong = 0xa;
constexpr unsigned kClose = 0x8;
constexpr std::int64_t kUsualVersion = 13;

class Websocket final : public Conversation {
 public:
  explicit Websocket(const Order& order) : key_(base64(big(order.nonce, 8) + big(~order.nonce, 8))) {
    Order of_page = order;
    std::vector<Setting> settings;
    if (const std::string_view path = order.text("request"); !path.empty())
      settings.push_back({.word = "request", .text = std::string(path)});
    if (const std::string_view host = order.text("host"); !host.empty())
      settings.push_back({.word = "hostheader", .text = std::string(host)});
    of_page.settings = settings;
    const HttpRequest asked = http_request(of_page);
    const Setting* version = order.find("version");
    const std::string_view origin = order.text("origin");
    request_ = fmt::format(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\n"
        "Sec-WebSocket-Version: {}\r\nOrigin: {}\r\nPragma: no-cache\r\nCache-Control: no-cache\r\n\r\n",
        asked.path, asked.host, key_, version != nullptr ? version->number : kUsualVersion,
        origin.empty() ? "http://" + asked.host : std::string(origin));
  }

  Want begin() override { return Want::receive(std::move(request_)); }

  Want receive(std::string_view bytes) override {
    std::string send;
    while (!bytes.empty()) {
      Want want = step_ == Step::Handshake ? header(bytes) : frame(bytes);
      send += want.send;
      if (want.kind == Want::Kind::Receive) continue;
      want.send = std::move(send);
      return want;
    }
    return Want::receive(std::move(send));
  }

  Want closed() override {
    return Want::fail(fmt::format("the server closed the connection before its {}", awaited()));
  }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Handshake: return "answer to the handshake";
      case Step::Ping: return "answer to a ping";
      case Step::Close: return "answer to a close";
    }
    return "answer";
  }

 private:
  enum class Step : std::uint8_t { Handshake, Ping, Close };

  /// A frame without content. What clients send is masked: a mask of zeros leaves it as it is.
  static std::string frame(unsigned operation) {
    return big(0x80U | operation, 1) + big(0x80, 1) + std::string(4, '\0');
  }

  Want header(std::string_view& bytes) {
    const std::size_t before = line_.length();
    const std::size_t more = std::min(bytes.find('\n'), bytes.size());
    const auto line = line_.next(bytes);
    if (before + more > kLongestLine) return Want::fail("it sends an endless line");
    if (!line) return Want::receive();
    if (++lines_ > kMostLines) return Want::fail("it sends endless headers");
    if (lines_ == 1) {
      if (!line->starts_with("HTTP/1.") || line->size() < 12 || reply_code(line->substr(9)) == 0)
        return Want::fail("this is not a web server: it said " + quote(*line));
      if (reply_code(line->substr(9)) != 101)
        return Want::fail("its answer to the handshake is " + quote(line->substr(9)));
      return Want::receive();
    }
    // Without this header it passes, as in Monit: a server that does what it is asked then speaks WebSocket.
    const std::size_t colon = line->find(':');
    if (colon != std::string_view::npos && iequals(line->substr(0, colon), "sec-websocket-accept") &&
        trim(line->substr(colon + 1)) != base64(hash_bytes(Hash::Sha1, key_ + std::string(kGuid))))
      return Want::fail("its answer to the handshake is to somebody else's key");
    if (!line->empty()) return Want::receive();
    step_ = Step::Ping;
    return Want::receive(frame(0x9));
  }

  Want frame(std::string_view& bytes) {
    if (skip_ > 0) {  // what is in a frame does not matter
      const std::size_t part = std::min<std::uint64_t>(skip_, bytes.size());
      bytes.remove_prefix(part);
      skip_ -= part;
      return Want::receive();
    }
    begun_ += bytes.front();
    bytes.remove_prefix(1);
    if (begun_.size() < 2) return Want::receive();
    const auto size = static_cast<unsigned char>(begun_[1]);
    const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (begun_.size() < 2 + more) return Want::receive();
    const unsigned operation = static_cast<unsigned char>(begun_[0]) & 0xfU;
    const std::uint64_t content = more == 0 ? size : ByteReader(std::string_view(begun_).substr(2)).big(more);
    const bool is_wrong = size > 127 || (static_cast<unsigned char>(begun_[0]) & 0x70U) != 0;
    if (is_wrong) return Want::fail("it does not speak WebSocket: it said " + quote(begun_));
    begun_.clear();
    received_ = content > kMostBytes ? kMostBytes + 1 : received_ + content + 2;
    if (received_ > kMostBytes) return Want::fail("it sends without end");
    skip_ = content;
    if (operation == kClose && step_ == Step::Ping) return Want::fail("it closes the connection in place of a pong");
    if (operation == kClose) return Want::pass("it answers a ping");
    if (operation == kPong && step_ == Step::Ping) {
      step_ = Step::Close;
      return Want::receive(frame(kClose));
    }
    return Want::receive();
  }

  std::string key_;
  std::string request_;
  Step step_ = Step::Handshake;
  LineReader line_{kLongestLine};
  int lines_ = 0;
  std::string begun_;  // of a frame
  std::uint64_t skip_ = 0;
  std::uint64_t received_ = 0;
};

constexpr Option kOptions[] = {
    {.word = "host"}, {.word = "request"}, {.word = "origin"}, {.word = "version", .type = OptionType::Number}};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings)
    if (setting.word != "request" && setting.text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos)
      return fmt::format("'{}' may hold no line ends", setting.word);
  return {};
}

}  // namespace

const Protocol& websocket() {
  static constexpr Protocol it{
      .name = "websocket",
      .title = "WebSocket",
      .port = 80,
      .options = kOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Websocket>(order); }};
  return it;
}

}  // namespace healer::protocols
