// SPDX-License-Identifier: MIT
// Numbers and texts as bytes; small ones take few. Input is never trusted: past the end, or after something invalid,
// every further step returns nothing, and ok() is false.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace healer::readings {

/// Of numbers of which nothing is known: beyond the largest it goes on from the smallest, as `difference` does.
[[nodiscard]] constexpr std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
[[nodiscard]] constexpr std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void number(std::uint64_t value) {
    constexpr std::size_t kMost = 10;
    std::array<char, kMost> bytes;
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    out_.append(bytes.data(), size);
  }
  /// Small ones, below and above zero, in few bytes. Differences of any two numbers come back as they were.
  void difference(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    out_.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  void text(std::string_view value) {
    number(value.size());
    out_.append(value);
  }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return rest_.empty() || !ok_; }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::uint8_t byte() {
    if (rest_.empty()) fail();
    if (!ok_) return 0;
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t part = byte();
      value |= static_cast<std::uint64_t>(part & 0x7f) << shift;
      if ((part & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  std::int64_t difference() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  double real() {
    std::uint64_t bits = 0;
    if (rest_.size() < sizeof bits) fail();
    if (!ok_) return 0;
    std::memcpy(&bits, rest_.data(), sizeof bits);
    rest_.remove_prefix(sizeof bits);
    return std::bit_cast<double>(bits);
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > rest_.size()) fail();
    if (!ok_) return {};
    std::string value(rest_.substr(0, static_cast<std::size_t>(size)));
    rest_.remove_prefix(static_cast<std::size_t>(size));
    return value;
  }
  /// How many of something follow, each of at least a byte.
  std::size_t count() {
    const std::uint64_t value = number();
    if (value > rest_.size()) fail();
    return ok_ ? static_cast<std::size_t>(value) : 0;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace healer::readings
