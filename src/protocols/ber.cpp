// SPDX-License-Identifier: MIT
#include "protocols/ber.hpp"

namespace healer::protocols {

std::string ber(char tag, std::string_view content) {
  constexpr std::size_t kLong = 0x80;
  std::string length;
  if (content.size() < kLong) {
    length = big(content.size(), 1);
  } else {
    length = big(content.size(), kMostBerLength);
    length.erase(0, length.find_first_not_of('\0'));
    length.insert(0, big(kLong | length.size(), 1));
  }
  return tag + length + std::string(content);
}

std::string_view ber_content(ByteReader& in, char tag) {
  const std::size_t too_many = in.rest().size() + 1;
  if (in.take(1) != std::string_view(&tag, 1)) return in.take(too_many);
  std::size_t size = in.byte();
  if (size >= 0x80) {
    const std::size_t bytes = size & 0x7fU;
    // Without bytes the length is told by the end of the content, which neither protocol has.
    size = in.big(bytes > 0 && bytes <= kMostBerLength ? bytes : too_many);
  }
  return in.take(size);
}

}  // namespace healer::protocols
