// SPDX-License-Identifier: MIT
// Conversations in packets whose size stands at their beginning: what they share, and numbers in bytes. Keeps one
// packet at most, and none that is larger than a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/conversation.hpp"

namespace healer::protocols {

/// Reads numbers and texts from the front of some bytes; once there are too few, everything is zero or empty, and
/// good() is false.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::string_view rest() const { return left_; }
  /// That many bytes.
  std::string_view take(std::size_t size);
  /// To the next zero byte, which is taken, too.
  std::string_view text();
  /// Unsigned numbers of `size` bytes (at most 8), the most or the least significant byte first.
  std::uint64_t big(std::size_t size);
  std::uint64_t little(std::size_t size);
  std::uint8_t byte() { return static_cast<std::uint8_t>(big(1)); }

 private:
  std::string_view left_;
  bool good_ = true;
};

/// `value` in `size` bytes, the most or the least significant byte first.
[[nodiscard]] std::string big(std::uint64_t value, std::size_t size);
[[nodiscard]] std::string little(std::uint64_t value, std::size_t size);

/// Cuts what comes into packets.
class PacketTalk : public Conversation {
 public:
  Want receive(std::string_view bytes) final;
  Want closed() override;

 protected:
  /// What the beginning of a packet says of its size.
  struct Size {
    enum class Kind : std::uint8_t { Unknown, Known, Wrong };
    Kind kind = Kind::Unknown;  ///< Unknown: more of it is needed
    std::size_t bytes = 0;      ///< of the whole packet, what was looked at included

    [[nodiscard]] static Size more() { return {}; }
    [[nodiscard]] static Size wrong() { return {Kind::Wrong, 0}; }
    [[nodiscard]] static Size of(std::size_t bytes) { return {Kind::Known, bytes}; }
  };

  /// `server`: what it is, "a MySQL server". `most`: no packet is larger, `packets`: nor are there more.
  PacketTalk(std::string_view server, std::size_t most, std::size_t packets = 100)
      : server_(server), most_(most), packets_left_(packets) {}

  /// Looks at the beginning of a packet, one byte more each time, never at none.
  [[nodiscard]] virtual Size size_of(std::string_view begun) const = 0;
  /// What a packet means. Receive: the next one.
  [[nodiscard]] virtual Want packet(std::string_view packet) = 0;
  /// Over UDP, where no sizes are told: what a datagram means.
  [[nodiscard]] virtual bool in_datagrams() const { return false; }
  [[nodiscard]] virtual Want datagram(std::string_view bytes) { return unexpected(bytes); }

  /// "this is not a MySQL server: it said ..."
  [[nodiscard]] Want unexpected(std::string_view received) const;
  /// "the server closed the connection before its greeting".
  [[nodiscard]] Want broken_off() const;

 private:
  std::string_view server_;
  std::size_t most_;
  std::size_t packets_left_;
  std::string begun_;
  std::size_t wanted_ = 0;  // bytes of the packet; 0: not known yet
};

}  // namespace healer::protocols
