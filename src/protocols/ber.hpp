// SPDX-License-Identifier: MIT
// Values of BER (X.690), of definite length and with tags of one byte, as LDAP and SNMP have them.
#pragma once

#include <string>
#include <string_view>

#include "protocols/packet_talk.hpp"

namespace healer::protocols {

/// The bytes of a length at most: no message is near as long as they could say.
inline constexpr std::size_t kMostBerLength = 4;

/// A value: its tag, the length of its content, its content.
[[nodiscard]] std::string ber(char tag, std::string_view content);

/// The content of the value at the front of `in`, which must have that tag; else nothing, and `in` is no longer good.
[[nodiscard]] std::string_view ber_content(ByteReader& in, char tag);

}  // namespace healer::protocols
