// SPDX-License-Identifier: MIT
// ldap2, ldap3 (RFC 4511): STARTTLS where it is asked for, an anonymous bind, unbind.
#include <spdlog/fmt/fmt.h>

#include "protocols/ber.hpp"
#include "protocols/options.hpp"
#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& ldap2();
const Protocol& ldap3();

namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr char kSequence = 0x30;
constexpr char kInteger = 0x02;
constexpr char kEnumerated = 0x0a;
constexpr char kOctets = 0x04;
constexpr char kBindRequest = 0x60;
constexpr char kBindResponse = 0x61;
constexpr char kUnbindRequest = 0x42;
constexpr char kExtendedRequest = 0x77;
constexpr char kExtendedResponse = 0x78;
constexpr std::string_view kStartTlsName = "1.3.6.1.4.1.1466.20037";

std::string message(int id, std::string_view operation) {
  return ber(kSequence, ber(kInteger, big(static_cast<std::uint64_t>(id), 1)) + std::string(operation));
}

std::string_view name_of(std::uint64_t code) {
  switch (code) {
    case 1: return "operations error";
    case 2: return "protocol error";
    case 8: return "stronger authentication required";
    case 13: return "confidentiality required";
    case 48: return "inappropriate authentication";
    case 49: return "invalid credentials";
    case 50: return "insufficient access rights";
    case 51: return "busy";
    case 52: return "unavailable";
    case 53: return "unwilling to perform";
    default: return "error";
  }
}

class Ldap final : public PacketTalk {
 public:
  Ldap(int version, bool starts_tls)
      : PacketTalk("an LDAP server", kMostBytes), version_(version), starts_tls_(starts_tls) {}

  Want begin() override {
    if (!starts_tls_) return bind();
    return Want::receive(message(++id_, ber(kExtendedRequest, ber('\x80', kStartTlsName))));
  }
  Want secured() override {
    starts_tls_ = false;
    return bind();
  }
  std::string_view awaited() const override {
    return starts_tls_ ? "answer to STARTTLS" : "answer to an anonymous bind";
  }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun[0] != kSequence) return Size::wrong();
    if (begun.size() < 2) return Size::more();
    const auto first = static_cast<unsigned char>(begun[1]);
    if (first < 0x80) return Size::of(2U + first);
    const std::size_t bytes = first & 0x7fU;
    if (bytes == 0 || bytes > kMostBerLength) return Size::wrong();
    if (begun.size() < 2 + bytes) return Size::more();
    return Size::of(2 + bytes + ByteReader(begun.substr(2)).big(bytes));
  }

  Want packet(std::string_view packet) override {
    ByteReader whole(packet);
    ByteReader in(ber_content(whole, kSequence));
    ByteReader number(ber_content(in, kInteger));
    const std::uint64_t id = number.big(std::min<std::size_t>(number.rest().size(), 8));
    const char tag = in.rest().empty() ? '\0' : in.rest()[0];
    ByteReader answer(ber_content(in, tag));
    const std::string_view code_bytes = ber_content(answer, kEnumerated);
    const std::uint64_t code = ByteReader(code_bytes).big(std::min<std::size_t>(code_bytes.size(), 8));
    (void)ber_content(answer, kOctets);
    const std::string_view why = ber_content(answer, kOctets);
    if (!in.good() || !answer.good() || code_bytes.empty() || (tag != kBindResponse && tag != kExtendedResponse))
      return unexpected(packet);
    // A notice of disconnection has no number.
    const bool is_answer = id == static_cast<std::uint64_t>(id_) && (tag == kExtendedResponse) == starts_tls_;
    if (!is_answer || code != 0) {
      const std::string reason = why.empty() ? std::string{} : ": " + quote(why);
      return Want::fail(
          fmt::format("its {} is {} ({}){}", is_answer ? awaited() : "notice", name_of(code), code, reason));
    }
    if (starts_tls_) return Want::start_tls();
    return Want::pass("it lets anybody bind", message(++id_, ber(kUnbindRequest, "")));
  }

 private:
  Want bind() {
    const std::string version = ber(kInteger, big(static_cast<std::uint64_t>(version_), 1));
    return Want::receive(message(++id_, ber(kBindRequest, version + ber(kOctets, "") + ber('\x80', ""))));
  }

  int version_;
  bool starts_tls_;
  int id_ = 0;
};

template <int version>
std::unique_ptr<Conversation> make(const Order& order) {
  return std::make_unique<Ldap>(version, order.find("starttls") != nullptr);
}

}  // namespace

const Protocol& ldap2() {
  static constexpr Protocol it{.name = "ldap2", .title = "LDAP 2", .port = 389, .make = make<2>};
  return it;
}

const Protocol& ldap3() {
  static constexpr Protocol it{
      .name = "ldap3", .title = "LDAP 3", .port = 389, .options = kTlsOptions, .upgrades = begins_tls, .make = make<3>};
  return it;
}

}  // namespace healer::protocols
