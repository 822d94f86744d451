// SPDX-License-Identifier: MIT
// dns (RFC 1035), over UDP or TCP: asks for the name servers of the root, which a server answers or refuses; with
// `query` for a name, which it must answer.
#include <arpa/inet.h>

#include <array>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/text.hpp"

namespace healer::protocols {

const Protocol& dns();

namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kMostMessage = 65'535;
constexpr std::size_t kMostLabel = 63;
constexpr std::size_t kMostName = 253;
constexpr int kMostJumps = 64;  // of one name
constexpr std::size_t kMostMessages = 10;
constexpr std::uint64_t kRecursionDesired = 0x0100;
constexpr std::uint64_t kInternet = 1;
constexpr std::uint64_t kNameServer = 2;
constexpr unsigned kRefused = 5;

constexpr std::array<std::pair<std::string_view, std::uint16_t>, 9> kTypes{
    {{"a", 1}, {"aaaa", 28}, {"cname", 5}, {"mx", 15}, {"ns", 2}, {"ptr", 12}, {"soa", 6}, {"srv", 33}, {"txt", 16}}};

std::uint16_t type_of(std::string_view name) {
  for (const auto& [word, number] : kTypes)
    if (iequals(word, name)) return number;
  return 0;
}

std::string_view error_of(unsigned code) {
  constexpr std::array<std::string_view, 6> kErrors{"no error",     "format error",    "server failure",
                                                    "no such name", "not implemented", "refused"};
  return code < kErrors.size() ? kErrors[code] : std::string_view("an error");
}

/// The name in the form of messages; empty: it is none.
std::string labels(std::string_view name) {
  std::string out;
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.size() > kMostName) return {};
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    if (label.empty() || label.size() > kMostLabel) return {};
    out += static_cast<char>(label.size());
    out += label;
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return out + '\0';
}

/// The name at the front of `in`, in text. `whole`: the message, into which names may point.
std::string name(ByteReader& in, std::string_view whole) {
  std::string text;
  ByteReader far({});
  ByteReader* at = &in;
  for (int jumps = 0; jumps < kMostJumps;) {
    const std::uint8_t size = at->byte();
    if (!at->good()) break;
    if (size == 0) return text.empty() ? "." : text;
    if (size >= 0xc0) {
      const std::size_t offset = (size & 0x3fU) << 8U | at->byte();
      if (!at->good()) break;
      far = ByteReader(whole.substr(std::min(offset, whole.size())));
      at = &far;
      ++jumps;
      continue;
    }
    text += text.empty() ? "" : ".";
    text += at->take(size);
    if (size > kMostLabel || text.size() > kMostName) break;
  }
  in.take(in.rest().size() + 1);  // it is none
  return {};
}

/// What a record says, as `dig +short` has it.
std::string data(std::uint16_t type, std::string_view bytes, std::string_view whole) {
  std::array<char, INET6_ADDRSTRLEN> address{};
  if (type == 1 && bytes.size() == 4 && inet_ntop(AF_INET, bytes.data(), address.data(), address.size()) != nullptr)
    return address.data();
  if (type == 28 && bytes.size() == 16 && inet_ntop(AF_INET6, bytes.data(), address.data(), address.size()) != nullptr)
    return address.data();
  // Names may point to what stands before them.
  const auto offset = static_cast<std::size_t>(bytes.data() - whole.data());
  ByteReader in(whole.substr(offset, bytes.size()));
  std::string text;
  switch (type) {
    case 2:
    case 5:
    case 6:
    case 12: return name(in, whole);
    case 15: in.take(2); return name(in, whole);
    case 33: in.take(6); return name(in, whole);
    case 16:
      while (in.good() && !in.rest().empty()) text += in.take(in.byte());
      return text;
    default: return text;
  }
}

class Dns final : public PacketTalk {
 public:
  explicit Dns(const Order& order)
      : PacketTalk("a DNS server", kMostMessage + 2, kMostMessages),
        datagrams_(order.datagrams),
        id_(static_cast<std::uint16_t>(order.nonce)),
        name_(order.text("query")),
        type_(order.find("query") == nullptr  ? static_cast<std::uint16_t>(kNameServer)
              : order.find("type") == nullptr ? std::uint16_t{1}
                                              : type_of(order.text("type"))),
        expected_(order.text("expect")) {}

  Want begin() override {
    const std::string question = big(id_, 2) + big(kRecursionDesired, 2) + big(1, 2) + std::string(6, '\0') +
                                 labels(name_) + big(type_, 2) + big(kInternet, 2);
    return Want::receive((datagrams_ ? "" : big(question.size(), 2)) + question);
  }
  std::string_view awaited() const override { return "answer"; }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun.size() < 2) return Size::more();
    const std::size_t size = ByteReader(begun).big(2);
    return size < kHeader ? Size::wrong() : Size::of(size + 2);
  }
  Want packet(std::string_view packet) override { return message(packet.substr(2)); }
  Want datagram(std::string_view bytes) override { return bytes.size() < kHeader ? unexpected(bytes) : message(bytes); }
  bool in_datagrams() const override { return datagrams_; }

 private:
  Want message(std::string_view whole) {
    ByteReader in(whole);
    const std::uint64_t id = in.big(2);
    const std::uint64_t flags = in.big(2);
    const std::uint64_t questions = in.big(2);
    const std::uint64_t answers = in.big(2);
    const std::uint64_t authorities = in.big(2);
    in.take(2);
    if ((flags & 0x8000U) == 0) return unexpected(whole);
    if (id != id_) return Want::receive();  // to somebody else's question
    const auto code = static_cast<unsigned>(flags & 0xfU);
    if (name_.empty()) {
      if (code == kRefused) return Want::pass("it answers, and refuses the question");
      if (code == 0 && answers + authorities > 0) return Want::pass("it answers");
      if (code == 0) return Want::fail("its answer has no records");
    }
    if (code != 0) return Want::fail(fmt::format("its answer is {} ({})", error_of(code), code));
    for (std::uint64_t i = 0; i < questions && in.good(); ++i) {
      (void)name(in, whole);
      in.take(4);
    }
    Want want = judge(in, whole, answers);
    constexpr std::uint64_t kCut = 0x200;
    if (datagrams_ && (flags & kCut) != 0 && want.kind == Want::Kind::Fail)
      return Want::unknown("its answer does not fit into a datagram: test it without 'type udp'");
    return want;
  }

  Want judge(ByteReader in, std::string_view whole, std::uint64_t answers) const {
    std::string first;
    for (std::uint64_t i = 0; i < answers && in.good(); ++i) {
      (void)name(in, whole);
      const auto type = static_cast<std::uint16_t>(in.big(2));
      in.take(6);
      const std::string_view bytes = in.take(in.big(2));
      if (!in.good()) break;
      if (type != type_) continue;
      const std::string record = data(type, bytes, whole);
      if (record.empty()) continue;  // it is none of that type
      if (first.empty()) first = record;
      std::string_view wanted = expected_;
      if (wanted.size() > 1 && wanted.ends_with('.')) wanted.remove_suffix(1);
      if (wanted.empty() || iequals(record, wanted)) return Want::pass("it answers " + quote(record));
    }
    if (!in.good()) return Want::fail("its answer is cut off");
    if (first.empty()) return Want::fail("its answer has no such record");
    return Want::fail(fmt::format("its answer is {}, not {}", quote(first), quote(expected_)));
  }

  bool datagrams_;
  std::uint16_t id_;
  std::string name_;
  std::uint16_t type_;
  std::string expected_;
};

constexpr Option kOptions[] = {
    {.word = "query"},
    {.word = "type", .type = OptionType::Choice, .choices = "a|aaaa|cname|mx|ns|ptr|soa|srv|txt"},
    {.word = "expect"}};

std::string fault(std::span<const Setting> settings) {
  bool has_query = false;
  for (const Setting& setting : settings) {
    has_query = has_query || setting.word == "query";
    if (setting.word == "query" && (setting.text.empty() || labels(setting.text).empty()))
      return fmt::format("{} is not a name to ask for", quote(setting.text));
  }
  if (!settings.empty() && !has_query) return "'type' and 'expect' need 'query'";
  return {};
}

}  // namespace

const Protocol& dns() {
  static constexpr Protocol it{
      .name = "dns",
      .title = "DNS",
      .port = 53,
      .datagrams = true,
      .options = kOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Dns>(order); }};
  return it;
}

}  // namespace healer::protocols
