// SPDX-License-Identifier: MIT
// mongodb: the command ping, in OP_MSG, which servers from 3.6 on understand and those from 5.1 on demand.
#include <spdlog/fmt/fmt.h>

#include "protocols/packet_talk.hpp"
#include "protocols/protocol.hpp"
#include "protocols/quote.hpp"

namespace healer::protocols {

const Protocol& mongodb();

namespace {

constexpr std::size_t kMostBytes = 64 * 1024;
constexpr std::size_t kHeader = 16;
constexpr std::uint64_t kMessage = 2013;
constexpr std::uint64_t kRequestId = 1;

std::string ping() {
  std::string document = '\x10' + std::string("ping\0", 5) + little(1, 4);
  document += '\x02' + std::string("$db\0", 4) + little(6, 4) + std::string("admin\0", 6);
  document = little(document.size() + 5, 4) + document + '\0';
  const std::string body = little(0, 4) + '\0' + document;
  return little(kHeader + body.size(), 4) + little(kRequestId, 4) + little(0, 4) + little(kMessage, 4) + body;
}

/// What a document says of itself: whether it is all right, and why not.
struct Status {
  bool good = false;  ///< it could be read
  bool ok = false;
  std::string error;
};

/// How many bytes a value of this type has, of which `in` holds the beginning; nothing: there is no such type.
std::optional<std::size_t> size_of_value(std::uint8_t type, ByteReader in) {
  switch (type) {
    case 0x01:                           // double
    case 0x09:                           // date
    case 0x11:                           // timestamp
    case 0x12: return 8;                 // 64 bits
    case 0x02: return 4 + in.little(4);  // text
    case 0x03:                           // document
    case 0x04: return in.little(4);      // array
    case 0x05: return 5 + in.little(4);  // bytes
    case 0x07: return 12;                // object id
    case 0x08: return 1;                 // boolean
    case 0x0a: return 0;                 // null
    case 0x10: return 4;                 // 32 bits
    case 0x13: return 16;                // decimal
    default: return std::nullopt;
  }
}

Status read(std::string_view document) {
  ByteReader in(document);
  Status status;
  if (in.little(4) != document.size()) return status;
  while (in.good()) {
    const std::uint8_t type = in.byte();
    if (type == 0) break;
    const std::string_view name = in.text();
    const auto size = size_of_value(type, in);
    if (!size) return status;
    const std::string_view value = in.take(*size);
    if (!in.good()) return status;
    // One is 1.0 of eight bytes, or a whole number.
    if (name == "ok") status.ok = value.find_first_not_of('\0') != std::string_view::npos;
    if (name == "errmsg" && type == 0x02 && value.size() > 4) status.error = value.substr(4, value.size() - 5);
  }
  status.good = in.good();
  return status;
}

class Mongodb final : public PacketTalk {
 public:
  Mongodb() : PacketTalk("a MongoDB server", kMostBytes) {}

  Want begin() override { return Want::receive(ping()); }
  std::string_view awaited() const override { return "answer to ping"; }

 protected:
  Size size_of(std::string_view begun) const override {
    if (begun.size() < kHeader) return Size::more();
    ByteReader in(begun);
    const std::size_t size = in.little(4);
    in.take(4);
    const bool answers = in.little(4) == kRequestId && in.little(4) == kMessage;
    return answers && size > kHeader + 5 ? Size::of(size) : Size::wrong();
  }

  Want packet(std::string_view packet) override {
    ByteReader in(packet.substr(kHeader));
    const bool has_checksum = (in.little(4) & 1U) != 0;
    const bool is_document = in.byte() == 0;
    std::string_view document = in.rest();
    if (has_checksum) document.remove_suffix(std::min<std::size_t>(4, document.size()));
    const Status status = read(document);
    if (!is_document || !status.good) return unexpected(packet);
    if (status.ok) return Want::pass("it answers ping");
    return Want::fail(fmt::format("its answer to ping is {}", quote(status.error)));
  }
};

}  // namespace

const Protocol& mongodb() {
  static constexpr Protocol it{
      .name = "mongodb", .title = "MongoDB", .port = 27017, .make = [](const Order&) -> std::unique_ptr<Conversation> {
        return std::make_unique<Mongodb>();
      }};
  return it;
}

}  // namespace healer::protocols
