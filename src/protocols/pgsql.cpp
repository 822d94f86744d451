// SPDX-License-Identifier: MIT
// pgsql (protocol 3.0): a connection as pg_isready makes it; with a user name a login, with `query` a row of its
// result. Any answer but that it takes nobody now will do where no login is asked for.
#include <spdlog/fmt/fmt.h>

#include "protocols/digest.hpp"
#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "protocols/scram.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::protocols {

const Protocol& pgsql();

namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::size_t kMostPackets = 1000;
constexpr std::uint64_t kVersion = 0x00030000;
constexpr std::uint64_t kTlsRequest = 80877103;
constexpr std::size_t kHeader = 5;
constexpr std::string_view kAnybody = "root";  // who asks where nobody is named, as with Monit

std::string text(std::string_view value) { return std::string(value) + '\0'; }

std::string message(std::string_view type, std::string_view body) {
  return std::string(type) + big(body.size() + 4, 4) + std::string(body);
}

std::string md5(std::string_view bytes) {
  Digest digest(32);
  digest.add(bytes);
  return digest.finish();
}

class Pgsql final : public PacketTalk {
 public:
  explicit Pgsql(const Order& order)
      : PacketTalk("a PostgreSQL server", kMostBytes, kMostPackets),
        tls_(order.tls),
        logs_in_(order.find("username") != nullptr),
        username_(logs_in_ ? order.text("username") : kAnybody),
        password_(order.text("password")),
        database_(order.find("database") != nullptr ? order.text("database") : username_),
        query_(order.text("query")),
        scram_(password_, order.nonce) {}

  Want begin() override {
    if (!tls_) return start();
    step_ = Step::Tls;
    return Want::receive(big(8, 4) + big(kTlsRequest, 4));
  }
  Want secured() override { return start(); }

  std::string_view awaited() const override {
    switch (step_) {
      case Step::Tls: return "answer to the request for TLS";
      case Step::Start: return "answer";
      case Step::Login: return "answer to the login";
      case Step::Query: return "answer to the query";
    }
    return "answer";
  }

 protected:
  Size size_of(std::string_view begun) const override {
    if (step_ == Step::Tls && (begun[0] == 'S' || begun[0] == 'N')) return Size::of(1);
    if (std::string_view("RESKNvZTDCI").find(begun[0]) == std::string_view::npos) return Size::wrong();
    if (begun.size() < kHeader) return Size::more();
    const std::size_t size = ByteReader(begun.substr(1)).big(4);
    return size < 4 ? Size::wrong() : Size::of(size + 1);
  }

  Want packet(std::string_view packet) override {
    if (step_ == Step::Tls) {
      if (packet == "S") return Want::start_tls();
      if (packet == "N") return Want::fail("it does not offer TLS");
      if (packet[0] != 'E') return unexpected(packet.substr(0, kHeader));  // nothing else is said before TLS
    }
    ByteReader in(packet.substr(kHeader));
    switch (packet[0]) {
      case 'R': return authentication(in);
      case 'E': return error(in);
      case 'Z': return ready();
      case 'D': return Want::pass("it answers the query", message("X", ""));
      case 'C':
        if (step_ == Step::Query) return Want::fail("its answer to the query has no rows", message("X", ""));
        return Want::receive();
      default: return Want::receive();
    }
  }

 private:
  enum class Step : std::uint8_t { Tls, Start, Login, Query };

  Want start() {
    step_ = Step::Start;
    const std::string body =
        big(kVersion, 4) + text("user") + text(username_) + text("database") + text(database_) + '\0';
    return Want::receive(big(body.size() + 4, 4) + body);
  }

  Want ready() {
    if (step_ == Step::Query) return Want::receive();
    if (query_.empty()) return Want::pass(logs_in_ ? "it accepts the login" : "it takes connections", message("X", ""));
    step_ = Step::Query;
    return Want::receive(message("Q", text(query_)));
  }

  Want authentication(ByteReader& in) {
    const std::uint64_t kind = in.big(4);
    if (!in.good()) return unexpected(in.rest());
    if (kind == 0) {  // come in
      step_ = Step::Login;
      return Want::receive();
    }
    if (!logs_in_ || password_.empty()) {
      if (!query_.empty()) return Want::fail("it wants a password before it answers a query");
      return Want::pass("it takes connections, and wants a password");
    }
    step_ = Step::Login;
    if (kind == 3) return Want::receive(message("p", text(password_)));
    if (kind == 5) {
      const std::string_view salt = in.take(4);
      const std::string digest = md5(password_ + username_);
      if (digest.empty()) return Want::unknown("this machine makes no MD5 checksums, which the login needs");
      return Want::receive(message("p", text("md5" + md5(digest + std::string(salt)))));
    }
    if (kind == 10) {
      constexpr std::string_view kMechanism = "SCRAM-SHA-256";
      while (in.good() && !in.rest().empty())
        if (in.text() == kMechanism)
          return Want::receive(message("p", text(kMechanism) + big(scram_.first().size(), 4) + scram_.first()));
    }
    if (kind == 11) {
      const auto final = scram_.final(in.rest());
      return final ? Want::receive(message("p", *final)) : unexpected(in.rest());
    }
    if (kind == 12)
      return scram_.proves(in.rest()) ? Want::receive() : Want::fail("it does not know the password itself");
    return Want::fail(fmt::format("it wants a login that healer does not know ({})", kind));
  }

  Want error(ByteReader& in) {
    std::string_view code;
    std::string_view why;
    while (in.good() && !in.rest().empty() && in.rest()[0] != '\0') {
      const std::string_view field = in.take(1);
      const std::string_view value = in.text();
      if (field == "C") code = value;
      if (field == "M") why = value;
    }
    // 57P03: it starts or ends; 53300: too many clients. What else it says to somebody whom it does not know is fine.
    const bool serves = !code.starts_with("57P") && !code.starts_with("53") && !code.starts_with("58");
    if (step_ == Step::Start && !logs_in_ && query_.empty() && serves && !code.empty())
      return Want::pass("it takes connections");
    return Want::fail(fmt::format("its {} is {} ({})", awaited(), quote(strike_out(why, {password_})), quote(code)));
  }

  Step step_ = Step::Start;
  bool tls_;
  bool logs_in_;
  std::string username_;
  std::string password_;
  std::string database_;
  std::string query_;
  Scram scram_;
};

constexpr Option kOptions[] = {kUsername, kPassword, {.word = "database"}, {.word = "query"}};

std::string fault(std::span<const Setting> settings) {
  for (const Setting& setting : settings)
    if (setting.text.find('\0') != std::string::npos)
      return fmt::format("the {} has a zero byte, which cannot be sent", setting.word);
  return {};
}

}  // namespace

const Protocol& pgsql() {
  static constexpr Protocol it{
      .name = "pgsql",
      .title = "PostgreSQL",
      .port = 5432,
      .within = true,
      .options = kOptions,
      .fault = fault,
      .warning = lone_password,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Pgsql>(order); }};
  return it;
}

}  // namespace healer::protocols
