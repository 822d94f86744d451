// SPDX-License-Identifier: MIT
// The operators of tests.
#pragma once

#include <cstdint>

namespace healer::engine {

enum class Comparison : std::uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// The operator that holds where this one does not.
[[nodiscard]] constexpr Comparison opposite(Comparison comparison) {
  switch (comparison) {
    case Comparison::Equal: return Comparison::NotEqual;
    case Comparison::NotEqual: return Comparison::Equal;
    case Comparison::Less: return Comparison::GreaterEqual;
    case Comparison::LessEqual: return Comparison::Greater;
    case Comparison::Greater: return Comparison::LessEqual;
    case Comparison::GreaterEqual: return Comparison::Less;
  }
  return comparison;
}

template <typename Value>
[[nodiscard]] constexpr bool compare(Comparison comparison, Value left, Value right) {
  switch (comparison) {
    case Comparison::Equal: return left == right;
    case Comparison::NotEqual: return left != right;
    case Comparison::Less: return left < right;
    case Comparison::LessEqual: return left <= right;
    case Comparison::Greater: return left > right;
    case Comparison::GreaterEqual: return left >= right;
  }
  return false;
}

}  // namespace healer::engine
