// SPDX-License-Identifier: MIT
// Observed properties that are not quantities: they are compared with an expected value, or with the previous one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "util/shared.hpp"

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
  FsFlags,    ///< of a filesystem: how it is mounted
  Size,       ///< of a file, in bytes
  Md5,        ///< checksums of a file, in lower-case hexadecimal digits
  Sha1,
  Sha256,
  Sha512,
  FirstMd5,  ///< what they were when they were first told
  FirstSha1,
  FirstSha256,
  FirstSha512,
  ReadFile,  ///< up to where the lines of a file were read
  ReadOffset,
  Path,          ///< which it is that the others are remembered of
  Link,          ///< of a network interface: "up" or "down"; untold it is up
  LinkErrors,    ///< "2 upload errors detected": where it has any
  LinkMode,      ///< "full" or "half"
  LinkSpeed,     ///< in megabits a second
  ReadBegin,     ///< what a file begins with whose lines were read
  LinesLost,     ///< why lines of it may be missing in this run
  HardLinks,     ///< of a path: how many names it has
  Output,        ///< what a program has written, as output_value() has it
  UnitState,     ///< of a unit of systemd: ActiveState, "active"
  UnitSubstate,  ///< SubState, "running"
  UnitStanding,  ///< the two with what else there is to say, as standing_of() has it
  Count_
};

/// Its name in the saved state, which never changes: "status", "pid", "parent".
[[nodiscard]] std::string_view to_string(Attribute attribute);
/// The attribute of that name.
[[nodiscard]] std::optional<Attribute> attribute_named(std::string_view name);

/// Where it is remembered what a checksum was at first: FirstMd5 of Md5. Of anything else there is no such place.
[[nodiscard]] std::optional<Attribute> first_of(Attribute attribute);
/// The other way round: Md5 of FirstMd5.
[[nodiscard]] std::optional<Attribute> present_of(Attribute attribute);

/// A number, or a text: few attributes are texts, and of each service all that it has are kept.
using Value = std::variant<std::int64_t, Shared<std::string>>;
/// Null: it is a number.
[[nodiscard]] inline const std::string* text_in(const Value& value) {
  const auto* text = std::get_if<Shared<std::string>>(&value);
  return text != nullptr ? &**text : nullptr;
}

/// What is remembered of a program's output, to be compared with that of the next run: all of it or, of a long one, its
/// beginning and a hash of the whole.
[[nodiscard]] Value output_value(std::string_view output);

/// As messages write it.
[[nodiscard]] std::string format_value(const Value& value);

}  // namespace healer::engine
