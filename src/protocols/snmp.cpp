// SPDX-License-Identifier: MIT
// snmp (v2c: RFC 1901, RFC 3416): asks an agent for one object, whose value may be compared.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <spdlog/fmt/fmt.h>

#include "protocols/ber.hpp"
#include "protocols/datagram_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"
#include "util/jq.hpp"
#include "util/secrets/strike_out.hpp"

namespace healer::protocols {

const Protocol& snmp();

namespace {

constexpr char kInteger = 0x02;
constexpr char kOctets = 0x04;
constexpr char kNull = 0x05;
constexpr char kObject = 0x06;
constexpr char kSequence = 0x30;
constexpr char kAddress = 0x40;
constexpr char kCounter32 = 0x41;
constexpr char kGauge32 = 0x42;
constexpr char kTimeTicks = 0x43;
constexpr char kOpaque = 0x44;
constexpr char kCounter64 = 0x46;
constexpr char kNoSuchObject = '\x80';
constexpr char kNoSuchInstance = '\x81';
constexpr char kEndOfView = '\x82';
constexpr char kGetRequest = '\xa0';
constexpr char kResponse = '\xa2';

constexpr std::int64_t kVersion2c = 1;
constexpr std::size_t kMostArcs = 128;
constexpr std::uint32_t kFewArcs = 40;  // under the roots 0 and 1; the first two arcs are written as one
constexpr std::string_view kUsualCommunity = "public";

/// One arc of an object's name, seven bits a byte.
std::string arc(std::uint64_t value) {
  std::string bytes(1, static_cast<char>(value & 0x7fU));
  while ((value >>= 7U) != 0) bytes.insert(bytes.begin(), static_cast<char>(0x80U | (value & 0x7fU)));
  return bytes;
}

/// The object's name as messages have it; empty: this is none.
std::string object_name(std::string_view written) {
  if (written.starts_with('.')) written.remove_prefix(1);
  std::string name;
  std::uint64_t first = 0;
  std::size_t arcs = 0;
  for (bool more = true; more; ++arcs) {
    std::uint32_t value = 0;
    const auto [rest, wrong] = std::from_chars(written.data(), written.data() + written.size(), value);
    if (wrong != std::errc{} || arcs == kMostArcs) return {};
    written.remove_prefix(static_cast<std::size_t>(rest - written.data()));
    more = written.starts_with('.');
    if (!more && !written.empty()) return {};
    if (more) written.remove_prefix(1);
    if (arcs == 0) {
      if (value > 2) return {};
      first = value;
    } else if (arcs == 1) {
      if (first < 2 && value >= kFewArcs) return {};
      name = arc(first * kFewArcs + value);
    } else {
      name += arc(value);
    }
  }
  return arcs > 1 ? name : std::string();
}

/// The other way round; empty: this is none.
std::string dotted(std::string_view name) {
  std::string text;
  std::uint64_t value = 0;
  std::size_t arcs = 0;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    value = value << 7U | (byte & 0x7fU);
    if (value > std::numeric_limits<std::uint32_t>::max()) return {};
    if (byte >= 0x80) continue;
    if (text.empty()) {
      const std::uint64_t root = std::min<std::uint64_t>(value / kFewArcs, 2);
      text = fmt::format("{}.{}", root, value - root * kFewArcs);
    } else {
      text += fmt::format(".{}", value);
    }
    value = 0;
    if (++arcs == kMostArcs) return {};
  }
  return name.empty() || static_cast<unsigned char>(name.back()) >= 0x80 ? std::string() : text;
}

/// A number in two's complement; nothing: it is empty, or too long.
std::optional<std::int64_t> whole_number(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > sizeof(std::int64_t)) return std::nullopt;
  const bool negative = static_cast<unsigned char>(bytes[0]) >= 0x80;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

/// A counter, which is never negative: a byte of zero stands before one whose first bit is set.
std::optional<std::uint64_t> count(std::string_view bytes, std::size_t most) {
  if (bytes.size() == most + 1 && bytes[0] == '\0') bytes.remove_prefix(1);
  if (bytes.empty() || bytes.size() > most) return std::nullopt;
  return ByteReader(bytes).big(bytes.size());
}

/// A text that is nothing but a number, exactly as far as 64 bits go; nothing: it is none.
std::optional<long double> number_in(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  long double value = 0;
  const auto [rest, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = !digits.empty() && digits[0] >= '0' && digits[0] <= '9' && wrong == std::errc{} &&
                         rest == text.data() + text.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

bool compares(Operator op, long double left, long double right) {
  return holds(op, left < right ? -1 : left > right ? 1 : 0, 0);
}

std::string_view error_of(std::int64_t status) {
  constexpr std::string_view kErrors[] = {"noError",
                                          "tooBig",
                                          "noSuchName",
                                          "badValue",
                                          "readOnly",
                                          "genErr",
                                          "noAccess",
                                          "wrongType",
                                          "wrongLength",
                                          "wrongEncoding",
                                          "wrongValue",
                                          "noCreation",
                                          "inconsistentValue",
                                          "resourceUnavailable",
                                          "commitFailed",
                                          "undoFailed",
                                          "authorizationError",
                                          "notWritable",
                                          "inconsistentName"};
  return status > 0 && status < std::ssize(kErrors) ? kErrors[status] : std::string_view("unknown");
}

/// What an object is.
struct Value {
  std::string text;  ///< as it is compared; a text of the agent's may be anything
  bool is_octets = false;
};

/// Nothing: it is none.
std::optional<Value> value_of(char tag, std::string_view content) {
  const auto reported = [](const auto& number) -> std::optional<Value> {
    if (!number) return std::nullopt;
    return Value{fmt::format("{}", *number)};
  };
  switch (tag) {
    case kInteger: return reported(whole_number(content));
    case kCounter32:
    case kGauge32:
    case kTimeTicks: return reported(count(content, sizeof(std::uint32_t)));
    case kCounter64: return reported(count(content, sizeof(std::uint64_t)));
    case kOpaque:
    case kOctets: return Value{std::string(content), true};
    case kNull: return content.empty() ? std::optional(Value{}) : std::nullopt;
    case kObject:
      if (std::string name = dotted(content); !name.empty()) return Value{std::move(name)};
      return std::nullopt;
    case kAddress: {
      if (content.size() != 4) return std::nullopt;
      ByteReader in(content);
      std::string text;
      for (int i = 0; i < 4; ++i) text += fmt::format("{}{}", i == 0 ? "" : ".", in.byte());
      return Value{std::move(text)};
    }
    default: return std::nullopt;
  }
}

class Snmp final : public DatagramTalk {
 public:
  explicit Snmp(const Order& order)
      : is_secret_(order.find("community") != nullptr),
        community_(is_secret_ ? order.text("community") : kUsualCommunity),
        // Of four bytes, as many as are written, and positive.
        id_(static_cast<std::int64_t>((order.nonce & 0x3fffffffU) | 0x40000000U)) {
    if (const Setting* oid = order.find("oid")) asked_ = *oid;
    name_ = object_name(asked_.text);
  }

  std::string_view awaited() const override { return "answer"; }

 protected:
  std::string question() override {
    const std::string zero = ber(kInteger, big(0, 1));
    const std::string object = ber(kSequence, ber(kObject, name_) + ber(kNull, {}));
    const std::string request =
        ber(kInteger, big(static_cast<std::uint64_t>(id_), 4)) + zero + zero + ber(kSequence, object);
    return ber(kSequence, ber(kInteger, big(kVersion2c, 1)) + ber(kOctets, community_) + ber(kGetRequest, request));
  }

  Want answer(std::string_view datagram) override {
    ByteReader whole(datagram);
    ByteReader message(ber_content(whole, kSequence));
    const auto version = whole_number(ber_content(message, kInteger));
    (void)ber_content(message, kOctets);
    ByteReader response(ber_content(message, kResponse));
    const auto id = whole_number(ber_content(response, kInteger));
    const auto status = whole_number(ber_content(response, kInteger));
    const auto index = whole_number(ber_content(response, kInteger));
    ByteReader objects(ber_content(response, kSequence));
    const bool ends = whole.rest().empty() && message.rest().empty() && response.rest().empty();
    if (!whole.good() || !message.good() || !response.good() || !ends || version != kVersion2c || !id || !status ||
        !index)
      return unexpected(datagram);
    if (*id != id_) return Want::receive();  // to somebody else's question
    if (*status != 0) return Want::fail(fmt::format("its answer is the error {} ({})", error_of(*status), *status));
    ByteReader object(ber_content(objects, kSequence));
    const std::string_view name = ber_content(object, kObject);
    const char tag = object.rest().empty() ? '\0' : object.rest()[0];
    const std::string_view content = ber_content(object, tag);
    if (!objects.good() || !object.good() || !objects.rest().empty() || !object.rest().empty())
      return unexpected(datagram);
    if (name != name_) return Want::fail("its answer is of another object");
    return judge(tag, content);
  }

 private:
  Want judge(char tag, std::string_view content) const {
    const std::string_view oid = asked_.text;
    switch (tag) {
      case kNoSuchObject: return Want::fail(fmt::format("it has no object {} (noSuchObject)", oid));
      case kNoSuchInstance: return Want::fail(fmt::format("it has no object {} (noSuchInstance)", oid));
      case kEndOfView: return Want::fail(fmt::format("it has no object {} (endOfMibView)", oid));
      default: break;
    }
    const std::optional<Value> value = value_of(tag, content);
    if (!value) return Want::fail(fmt::format("its {} has a value that is none of SNMP's", oid));
    const std::string value_text =
        fmt::format("its {} is {}", oid, value->is_octets ? shown(value->text) : value->text);
    if (asked_.value.empty()) return Want::pass(value_text);
    const bool by_text = asked_.value.starts_with('"');
    const std::string wanted = by_text ? json_text(asked_.value) : asked_.value;
    const std::string named = fmt::format("{} {}", to_string(asked_.op), by_text ? quote(wanted) : wanted);
    if (by_text) {
      const bool same = value->text == wanted;
      if (same != (asked_.op == Operator::Equal)) return Want::fail(fmt::format("{}, not {}", value_text, named));
      return Want::pass(value_text);
    }
    const auto number = number_in(value->text);
    if (!number) return Want::fail(fmt::format("{}, which is no number", value_text));
    if (!compares(asked_.op, *number, number_in(wanted).value_or(0)))
      return Want::fail(fmt::format("{}, not {}", value_text, named));
    return Want::pass(value_text);
  }

  /// What it says repeats the community, mostly.
  [[nodiscard]] std::string shown(std::string_view received) const {
    return quote(is_secret_ ? strike_out(received, {community_}) : received);
  }
  [[nodiscard]] Want unexpected(std::string_view datagram) const {
    return Want::fail("this is not an SNMP agent: it said " + shown(datagram));
  }

  bool is_secret_;
  std::string community_;
  std::int64_t id_;
  Setting asked_;
  std::string name_;
};

constexpr Option kOptions[] = {{.word = "community", .type = OptionType::Secret},
                               {.word = "oid", .type = OptionType::Object}};

std::string fault(std::span<const Setting> settings) {
  const auto oid = std::ranges::find(settings, std::string_view("oid"), &Setting::word);
  if (oid == settings.end()) return "protocol snmp needs an 'oid', as in oid \"1.3.6.1.2.1.1.3.0\"";
  if (object_name(oid->text).empty())
    return fmt::format("{} is not the number of an object, as in \"1.3.6.1.2.1.1.3.0\"", quote(oid->text));
  const bool by_text = oid->value.starts_with('"');
  if (!by_text && !oid->value.empty() && !number_in(oid->value))
    return quote(oid->value) + " is not a number to compare with";
  if (by_text && oid->op != Operator::Equal && oid->op != Operator::NotEqual)
    return "a text is compared with '=' or '!='";
  return {};
}

}  // namespace

const Protocol& snmp() {
  static constexpr Protocol it{
      .name = "snmp",
      .title = "SNMP",
      .port = 161,
      .datagrams = true,
      .only_datagrams = true,
      .options = kOptions,
      .fault = fault,
      .make = [](const Order& order) -> std::unique_ptr<Conversation> { return std::make_unique<Snmp>(order); }};
  return it;
}

}  // namespace healer::protocols
