// SPDX-License-Identifier: MIT
// How many of several: of a composite's members, of a group's targets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace healer::engine {

/// `any`, `all`, `2`, `more than 40%`.
struct Quota {
  enum class Kind : std::uint8_t {
    Any,
    All,
    AtLeast,   ///< `number` of them
    MoreThan,  ///< strictly more than `number` percent of them
  } kind = Kind::Any;
  double number = 0;

  bool operator==(const Quota&) const = default;
  /// Whether `count` of `whole` meet it. Of nothing, nothing does.
  [[nodiscard]] bool met(std::size_t count, std::size_t whole) const {
    if (whole == 0) return false;
    switch (kind) {
      case Kind::Any: return count > 0;
      case Kind::All: return count == whole;
      case Kind::AtLeast: return static_cast<double>(count) >= number;
      case Kind::MoreThan: return static_cast<double>(count) * 100 > number * static_cast<double>(whole);
    }
    return false;
  }
};

}  // namespace healer::engine
