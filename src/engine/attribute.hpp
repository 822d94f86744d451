// SPDX-License-Identifier: MIT
// What a look tells of a thing that is no quantity: it is compared with what is wanted, or with what it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace healer::engine {

enum class Attribute : std::uint8_t {
  Status,  ///< of a program: its exit value
  Pid,
  Parent,
  Uid,
  Euid,
  Gid,
  Security,    ///< the security attribute of a process
  Permission,  ///< of a path: its mode, without its type
  AccessTime,  ///< these are seconds since the epoch
  ModificationTime,
  ChangeTime,
  Timestamp,  ///< the later of the two before
  Count_
};

/// Its name in the saved state, which never changes: "status", "pid", "parent".
[[nodiscard]] std::string_view to_string(Attribute attribute);
/// The attribute of that name.
[[nodiscard]] std::optional<Attribute> attribute_named(std::string_view name);

using Value = std::variant<std::int64_t, std::string>;

/// As messages write it.
[[nodiscard]] std::string format_value(const Value& value);

}  // namespace healer::engine
