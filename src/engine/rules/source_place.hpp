// SPDX-License-Identifier: MIT
// Where something of the rules is written.
#pragma once

#include <cstdint>

namespace healer::engine {

/// A place in a rules file, for messages: index into Graph::files, line and column counted from 1 (0: nowhere).
struct SourcePlace {
  std::uint16_t file = 0;
  std::uint16_t column = 0;
  std::uint32_t line = 0;

  bool operator==(const SourcePlace&) const = default;
};

}  // namespace healer::engine
