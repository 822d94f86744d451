// SPDX-License-Identifier: MIT
// The kinds of events, which alert filters select by.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace healer::engine {

/// Kinds of events, in Monit's words (facts 1.7): what alert filters select by.
enum class EventKind : std::uint8_t {
  Action,
  ByteIn,
  ByteOut,
  Checksum,
  Connection,
  Content,
  Data,
  Exec,
  Exist,
  FsFlags,
  Gid,
  Icmp,
  Instance,
  Invalid,
  Link,
  NonExist,
  PacketIn,
  PacketOut,
  Permission,
  Pid,
  Ppid,
  Resource,
  Saturation,
  Size,
  Speed,
  Status,
  Timeout,
  Timestamp,
  Uid,
  Uptime,
};
inline constexpr std::size_t kEventKinds = 30;
using EventMask = std::bitset<kEventKinds>;

/// Monit's name of an event kind, as alert filters write it ("nonexist").
[[nodiscard]] std::string_view to_string(EventKind kind);

}  // namespace healer::engine
