// SPDX-License-Identifier: MIT
// amqp (0-9-1): a login, after which the broker tunes the connection. Without a name the login is ANONYMOUS where the
// broker offers that, else guest, as of clients that are told nothing, and nothing more is asked. With a name the
// virtual host "/" is opened, and the connection closed.
#include <spdlog/fmt/fmt.h>

#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::protocols {

const Protocol& amqp();

namespace {

constexpr std::string_view kHello("AMQP\0\0\x09\x01", 8);
constexpr std::size_t kFrameHeader = 7;
constexpr std::size_t kMostBytes = 64 * 1024;  // before it is agreed on, a frame has 4096 at most
constexpr std::size_t kMostCredential = 1000;  // so that ours has not, either
constexpr std::uint64_t kOurFrames = 4096;
constexpr std::string_view kFrameEnd = "\xce";

enum FrameType : std::uint8_t { kMethodFrame = 1, kHeartbeatFrame = 8 };
/// Of the class connection.
enum Method : std::uint16_t {
  kStart = 10,
  kStartOk = 11,
  kSecure = 20,
  kTune = 30,
  kTuneOk = 31,
  kOpen = 40,
  kOpenOk = 41,
  kClose = 50,
  kCloseOk = 51,
};
constexpr std::uint64_t kConnection = 10;

std::string short_text(std::string_view text) { return big(text.size(), 1) + std::string(text); }
std::string long_text(std::string_view text) { return big(text.size(), 4) + std::string(text); }

std::string frame(Method method, const std::string& arguments) {
  const std::string payload = big(kConnection, 2) + big(method, 2) + arguments;
  return big(kMethodFrame, 1) + big(0, 2) + long_text(payload) + std::string(kFrameEnd);
}

/// Who we are, and that we want to be told why a login is refused.
std::string client_properties() {
  const std::string abilities = short_text("authentication_failure_close") + "t\x01";
  return long_text(short_text("product") + 'S' + long_text("healer") + short_text("version") + 'S' +
                   long_text(HEALER_VERSION) + short_text("capabilities") + 'F' + long_text(abilities));
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

class Amqp final : public PacketTalk {
 public:
  explicit Amqp(const Order& order)
      : PacketTalk("an AMQP broker", kMostBytes),
        has_name_(order.find("username") != nullptr),
        username_(has_name_ ? order.text("username") : "guest"),
        password_(has_name_ ? order.text("password") : "guest") {}

  Want begin() override { return Want::receive(std::string(kHello)); }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Greeting: return "greeting";
      case Step::Login: return as_guest_ ? "answer to a login as guest" : "answer to the login";
      case Step::Opening: return "answer to the opening of \"/\"";
    }
    return "answer";
  }

 protected:
  Size size_of(std::string_view begun) const override {
    // One that speaks another version answers with the header of that.
    if (step_ == Step::Greeting && begun[0] == kHello[0]) return Size::of(kHello.size());
    if (begun[0] != kMethodFrame && begun[0] != kHeartbeatFrame) return Size::wrong();
    if (begun.size() > 2 && (begun[1] != '\0' || begun[2] != '\0')) return Size::wrong();  // no channel is open
    if (begun.size() < kFrameHeader) return Size::more();
    return Size::of(kFrameHeader + ByteReader(begun.substr(3)).big(4) + kFrameEnd.size());
  }

  Want packet(std::string_view packet) override {
    if (packet[0] == kHello[0]) return another_version(packet);
    if (!packet.ends_with(kFrameEnd)) return unexpected(packet);
    if (packet[0] == kHeartbeatFrame) return Want::receive();
    ByteReader in(packet.substr(kFrameHeader, packet.size() - kFrameHeader - kFrameEnd.size()));
    const std::uint64_t of_class = in.big(2);
    const std::uint64_t method = in.big(2);
    if (of_class != kConnection || !in.good()) return unexpected(packet);
    if (method == kClose) return refused(in, packet);
    if (step_ == Step::Greeting && method == kStart) return greeted(in, packet);
    if (step_ == Step::Login && method == kSecure)
      return Want::fail("it asks more at a login than a name and a password");
    if (step_ == Step::Login && method == kTune) return tuned(in, packet);
    if (step_ == Step::Opening && method == kOpenOk)
      return Want::pass("it accepts the login", frame(kClose, big(200, 2) + short_text("done") + big(0, 4)));
    return unexpected(packet);
  }

 private:
  enum class Step : std::uint8_t { Greeting, Login, Opening };

  Want another_version(std::string_view header) const {
    if (!header.starts_with(kHello.substr(0, 4)) || header == kHello) return unexpected(header);
    const auto part = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(header[at])); };
    if (part(5) == 1 && part(6) == 0 && part(7) == 0) return Want::fail("it speaks AMQP 1.0, not 0-9-1");
    return Want::fail(fmt::format("it speaks AMQP {}-{}-{}, not 0-9-1", part(5), part(6), part(7)));
  }

  Want greeted(ByteReader& in, std::string_view packet) {
    const std::uint64_t major = in.big(1);
    const std::uint64_t minor = in.big(1);
    in.take(in.big(4));  // what it says of itself
    const std::string_view mechanisms = in.take(in.big(4));
    in.take(in.big(4));  // languages
    if (!in.good()) return unexpected(packet);
    if (major != 0 || minor != 9) return Want::fail(fmt::format("it speaks AMQP {}-{}, not 0-9-1", major, minor));
    const bool is_anonymous = !has_name_ && has_word(mechanisms, "ANONYMOUS");
    if (!is_anonymous && !has_word(mechanisms, "PLAIN"))
      return Want::fail(fmt::format("it offers no login that healer knows ({})", quote(mechanisms)));
    step_ = Step::Login;
    as_guest_ = !has_name_ && !is_anonymous;
    const std::string response = is_anonymous ? std::string{} : '\0' + username_ + '\0' + password_;
    return Want::receive(frame(kStartOk, client_properties() + short_text(is_anonymous ? "ANONYMOUS" : "PLAIN") +
                                             long_text(response) + short_text("en_US")));
  }

  Want tuned(ByteReader& in, std::string_view packet) {
    const std::uint64_t channels = in.big(2);
    const std::uint64_t frames = in.big(4);
    in.big(2);  // how often it wants to see a heartbeat: never, to us
    if (!in.good()) return unexpected(packet);
    if (!has_name_) return Want::pass("it accepts the connection");
    step_ = Step::Opening;
    const std::uint64_t size = frames == 0 ? kOurFrames : std::min(frames, kOurFrames);
    return Want::receive(frame(kTuneOk, big(channels, 2) + big(size, 4) + big(0, 2)) +
                         frame(kOpen, short_text("/") + short_text("") + big(0, 1)));
  }

  /// What it says may repeat the password; that of guest is no secret.
  [[nodiscard]] std::string without_password(std::string_view received) const {
    return has_name_ ? strike_out(received, {password_}) : std::string(received);
  }
  [[nodiscard]] Want unexpected(std::string_view packet) const {
    return PacketTalk::unexpected(without_password(packet));
  }

  Want refused(ByteReader& in, std::string_view packet) const {
    const std::uint64_t code = in.big(2);
    const std::string_view why = in.take(in.byte());
    if (!in.good()) return unexpected(packet);
    return Want::fail(fmt::format("its {} is {}: {}", awaited(), code, quote(without_password(why))),
                      frame(kCloseOk, ""));
  }

  bool has_name_;
  std::string username_;
  std::string password_;
  Step step_ = Step::Greeting;
  bool as_guest_ = false;
};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (setting.text.find('\0') != std::string::npos)
      return fmt::format("the {} has a zero byte, which cannot be sent", setting.word);
    if (setting.text.size() > kMostCredential)
      return fmt::format("the {} has more than {} bytes", setting.word, kMostCredential);
  }
  return login_fault(settings);
}

}  // namespace

const Protocol& amqp() {
  static constexpr Protocol it{
      .name = "amqp",
      .title = "AMQP",
      .port = 5672,
      .options = kLoginOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Amqp>(order); }};
  return it;
}

}  // namespace healer::protocols
