// SPDX-License-Identifier: MIT
#include "protocols/packet_talk.hpp"

#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "protocols/quote.hpp"

namespace healer::protocols {

std::string_view ByteReader::take(std::size_t size) {
  if (size > left_.size()) {
    good_ = false;
    left_ = {};
    return {};
  }
  const std::string_view taken = left_.substr(0, size);
  left_.remove_prefix(size);
  return taken;
}

std::string_view ByteReader::text() {
  const std::size_t end = left_.find('\0');
  const std::string_view taken = take(end == std::string_view::npos ? left_.size() + 1 : end);
  take(1);
  return good_ ? taken : std::string_view{};
}

std::uint64_t ByteReader::big(std::size_t size) {
  std::uint64_t value = 0;
  for (const char c : take(size)) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

std::uint64_t ByteReader::little(std::size_t size) {
  std::uint64_t value = 0;
  const std::string_view bytes = take(size);
  for (std::size_t i = bytes.size(); i > 0; --i) value = value << 8U | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

std::string little(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (; size > 0; --size, value >>= 8U) bytes += static_cast<char>(value & 0xffU);
  return bytes;
}

std::string big(std::uint64_t value, std::size_t size) {
  std::string bytes = little(value, size);
  std::ranges::reverse(bytes);
  return bytes;
}

Want PacketTalk::receive(std::string_view bytes) {
  if (in_datagrams()) return packets_left_-- > 0 ? datagram(bytes) : Want::fail("it does not come to an end");
  std::string send;
  while (!bytes.empty()) {
    if (wanted_ == 0) {
      begun_ += bytes.front();
      bytes.remove_prefix(1);
      const Size size = size_of(begun_);
      if (size.kind == Size::Kind::Unknown) continue;
      if (size.kind == Size::Kind::Wrong || size.bytes < begun_.size()) return unexpected(begun_);
      if (size.bytes > most_) return unexpected(begun_);
      wanted_ = size.bytes;
    }
    const std::string_view part = bytes.substr(0, wanted_ - begun_.size());
    begun_ += part;
    bytes.remove_prefix(part.size());
    if (begun_.size() < wanted_) continue;
    if (packets_left_-- == 0) return Want::fail("it does not come to an end");
    wanted_ = 0;
    Want want = packet(begun_);
    begun_.clear();
    // What was sent in clear must not count as said within TLS.
    if (want.kind == Want::Kind::StartTls && !bytes.empty())
      return Want::fail("it sent more after it had agreed to begin TLS");
    send += want.send;
    if (want.kind == Want::Kind::Receive) continue;
    want.send = std::move(send);
    return want;
  }
  return Want::receive(std::move(send));
}

Want PacketTalk::closed() { return broken_off(); }

Want PacketTalk::unexpected(std::string_view received) const {
  return Want::fail(fmt::format("this is not {}: it said {}", server_, quote(received)));
}

Want PacketTalk::broken_off() const {
  return Want::fail(fmt::format("the server closed the connection before its {}", awaited()));
}

}  // namespace healer::protocols
