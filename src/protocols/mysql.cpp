// SPDX-License-Identifier: MIT
// mysql, mysqls (MySQL, MariaDB): the server's greeting; with TLS that begins after it; with a user name a login, and
// with `query` a row of its result.
#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/mysql_login.hpp"
#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::protocols {

const Protocol& mysql();
const Protocol& mysqls();

namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::size_t kMostPackets = 1000;
constexpr std::size_t kHeader = 4;
constexpr std::uint8_t kVersion = 10;
constexpr std::uint64_t kMostText = 16 * 1024 * 1024 - 1;
constexpr std::uint64_t kUtf8 = 33;
constexpr std::string_view kNative = "mysql_native_password";
constexpr std::string_view kSha2 = "caching_sha2_password";
constexpr std::size_t kSaltBytes = 20;

enum Capability : std::uint64_t {
  kLongPassword = 0x1,
  kProtocol41 = 0x200,
  kTls = 0x800,
  kSecureConnection = 0x8000,
  kPluginAuth = 0x80000,
};

class Mysql final : public PacketTalk {
 public:
  explicit Mysql(const Order& order)
      : PacketTalk("a MySQL server", kMostBytes, kMostPackets),
        tls_(order.tls),
        is_local_(order.host.empty()),
        logs_in_(order.find("username") != nullptr),
        username_(order.text("username")),
        password_(order.text("password")),
        key_checksum_(order.text("rsakey checksum")),
        query_(order.text("query")) {}

  Want begin() override { return Want::receive(); }
  Want secured() override {
    secure_ = true;
    if (!logs_in_) return Want::pass("it is a MySQL server with TLS");
    return log_in();
  }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Greeting: return "greeting";
      case Step::Login: return "answer to the login";
      case Step::Columns:
      case Step::Rows: return "answer to the query";
    }
    return "answer";
  }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun.size() < kHeader) return Size::more();
    ByteReader in(begun);
    const std::size_t size = in.little(3);
    if (size == 0 || (step_ == Step::Greeting && in.byte() != 0)) return Size::wrong();
    return Size::of(kHeader + size);
  }

  Want packet(std::string_view packet) override {
    number_ = static_cast<std::uint8_t>(packet[3]);
    ByteReader in(packet.substr(kHeader));
    const std::uint8_t kind = in.byte();
    if (kind == 0xff) return error(in);
    switch (step_) {
      case Step::Greeting: return greeting(kind, in, packet);
      case Step::Login: return login(kind, in);
      case Step::Columns:
        if (kind == 0xfe) step_ = Step::Rows;
        if (kind == 0x00) return Want::fail("its answer to the query has no rows", quit());
        return Want::receive();
      case Step::Rows:
        if (kind == 0xfe && in.rest().size() < 8) return Want::fail("its answer to the query has no rows", quit());
        return Want::pass("it answers the query", quit());
    }
    return unexpected(packet);
  }

 private:
  enum class Step : std::uint8_t { Greeting, Login, Columns, Rows };

  std::string message(std::string_view body) {
    return little(body.size(), 3) + static_cast<char>(++number_) + std::string(body);
  }
  std::string command(std::string_view body) {
    number_ = 0xff;  // each command begins at 0
    return message(body);
  }
  std::string quit() { return command("\x01"); }

  Want error(ByteReader& in) {
    const std::uint64_t code = in.little(2);
    std::string_view why = in.rest();
    if (why.starts_with('#')) why.remove_prefix(std::min<std::size_t>(6, why.size()));
    return Want::fail(fmt::format("its {} is error {}: {}", awaited(), code, quote(strike_out(why, secrets()))));
  }
  std::vector<std::string> secrets() const {
    return password_.empty() ? std::vector<std::string>{} : std::vector{password_};
  }

  Want greeting(std::uint8_t version, ByteReader& in, std::string_view packet) {
    (void)in.text();
    in.take(4);  // the number of the connection
    salt_ = in.take(8);
    in.take(1);
    std::uint64_t capabilities = in.little(2);
    if (!in.good()) return unexpected(packet.substr(0, kHeader + 1));
    if (version != kVersion) return Want::fail(fmt::format("it speaks version {} of the protocol, not 10", version));
    if (!in.rest().empty()) {
      in.take(3);  // its character set and status
      capabilities |= in.little(2) << 16U;
      in.take(11);
      salt_ += in.take(std::min<std::size_t>(kSaltBytes - salt_.size(), in.rest().size()));
      in.take(std::min<std::size_t>(1, in.rest().size()));
      plugin_ = in.rest().substr(0, in.rest().find('\0'));
    }
    if (!tls_ && !logs_in_) return Want::pass("it is a MySQL server");
    if (tls_ && (capabilities & kTls) == 0) return Want::fail("it does not offer TLS");
    if ((capabilities & kProtocol41) == 0) return Want::fail("it is too old for a login (before 4.1)");
    step_ = Step::Login;
    if (!tls_) return log_in();
    Want want = Want::start_tls();
    want.send = message(about_us());
    return want;
  }

  std::string about_us() const {
    const std::uint64_t flags =
        kLongPassword | kProtocol41 | kSecureConnection | kPluginAuth | (tls_ ? kTls : std::uint64_t{0});
    return little(flags, 4) + little(kMostText, 4) + little(kUtf8, 1) + std::string(23, '\0');
  }

  Want log_in() {
    // What a server does not name, or we do not know, it switches from.
    if (plugin_ != kSha2) plugin_ = kNative;
    const std::string proof = plugin_ == kSha2 ? sha2_proof(password_, salt_) : native_proof(password_, salt_);
    return Want::receive(
        message(about_us() + username_ + '\0' + little(proof.size(), 1) + proof + std::string(plugin_) + '\0'));
  }

  Want login(std::uint8_t kind, ByteReader& in) {
    if (kind == 0x00) {
      if (query_.empty()) return Want::pass(tls_ ? "it accepts the login, with TLS" : "it accepts the login", quit());
      step_ = Step::Columns;
      return Want::receive(command('\x03' + query_));
    }
    if (kind == 0xfe) {
      plugin_ = in.text();
      salt_ = in.rest().substr(0, kSaltBytes);
      if (plugin_ == kNative) return Want::receive(message(native_proof(password_, salt_)));
      if (plugin_ == kSha2) return Want::receive(message(sha2_proof(password_, salt_)));
      if (plugin_ == "mysql_clear_password" && secure_) return Want::receive(message(password_ + '\0'));
      return Want::fail(fmt::format("it wants a login that healer does not know ({})", quote(plugin_)));
    }
    if (kind == 0x01 && plugin_ == kSha2) {
      if (in.rest() == "\x03") return Want::receive();  // it knows the password
      if (in.rest() != "\x04") return with_key(in.rest());
      const bool in_clear = secure_ || is_local_;  // the server takes a unix socket for secure
      asked_for_key_ = !in_clear;
      return Want::receive(message(in_clear ? password_ + '\0' : "\x02"));
    }
    return unexpected(std::string(1, static_cast<char>(kind)) + std::string(in.rest()));
  }

  Want with_key(std::string_view pem) {
    if (!std::exchange(asked_for_key_, false)) return unexpected(pem);  // once: it is much work
    if (!key_checksum_.empty() && key_checksum(pem, key_checksum_.size()) != key_checksum_)
      return Want::fail("the checksum of its key is another one");
    const auto password = sealed(password_, salt_, pem);
    return password ? Want::receive(message(*password)) : unexpected(pem);
  }

  Step step_ = Step::Greeting;
  bool tls_;
  bool is_local_;        // over a unix socket
  bool secure_ = false;  // TLS stands
  bool asked_for_key_ = false;
  bool logs_in_;
  std::string username_;
  std::string password_;
  std::string key_checksum_;
  std::string query_;
  std::string salt_;
  std::string plugin_;
  std::uint8_t number_ = 0;  // of the last packet
};

constexpr Option kOptions[] = {
    kUsername, kPassword, {.word = "rsakey checksum", .type = OptionType::Checksum}, {.word = "query"}};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings)
    if (setting.word != "query" && setting.text.find('\0') != std::string::npos)
      return fmt::format("the {} has a zero byte, which cannot be sent", setting.word);
  if (given(settings, "query") && !given(settings, "username")) return "'query' needs 'username'";
  return {};
}

std::unique_ptr<Conversation> make(const Order& order) { return std::make_unique<Mysql>(order); }

}  // namespace

const Protocol& mysql() {
  static constexpr Protocol it{.name = "mysql",
                               .title = "MySQL",
                               .port = 3306,
                               .within = true,
                               .options = kOptions,
                               .fault = fault,
                               .warning = lone_password,
                               .make = make};
  return it;
}

const Protocol& mysqls() {
  static constexpr Protocol it{.name = "mysqls",
                               .title = "MySQL with TLS",
                               .port = 3306,
                               .tls = TlsStart::Always,
                               .within = true,
                               .options = kOptions,
                               .fault = fault,
                               .warning = lone_password,
                               .make = make};
  return it;
}

}  // namespace healer::protocols
