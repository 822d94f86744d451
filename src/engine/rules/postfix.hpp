// SPDX-License-Identifier: MIT
// How the tests of a condition are joined: operands first, then what joins them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace healer::engine {

/// What a condition is made of besides its tests.
enum class Op : std::uint8_t { Leaf, Not, And, Or };

/// The most operands that may wait for their operator: parentheses are nested no deeper.
inline constexpr std::size_t kDeepestCondition = 32;

/// Whether a postfix joins so many tests, and nothing is left over or missing, nor too deep.
[[nodiscard]] bool is_sound(std::span<const Op> postfix, std::size_t tests);

/// Reckons a condition up: `leaf(i)` gives the value of a test, and is asked in their order, `negate(value)` and
/// `join(op, left, right)` those of what is made of them. Requires is_sound().
template <typename Value, typename Leaf, typename Negate, typename Join>
[[nodiscard]] Value fold(std::span<const Op> postfix, std::size_t tests, Leaf&& leaf, Negate&& negate, Join&& join) {
  std::size_t next = 0;
  if (postfix.empty()) {
    Value value = leaf(next++);
    while (next < tests) value = join(Op::And, std::move(value), leaf(next++));
    return value;
  }
  std::array<Value, kDeepestCondition> stack{};
  std::size_t depth = 0;
  for (const Op op : postfix) {
    switch (op) {
      case Op::Leaf: stack[depth++] = leaf(next++); break;
      case Op::Not: stack[depth - 1] = negate(std::move(stack[depth - 1])); break;
      case Op::And:
      case Op::Or: --depth; stack[depth - 1] = join(op, std::move(stack[depth - 1]), std::move(stack[depth]));
    }
  }
  return std::move(stack[0]);
}

}  // namespace healer::engine
