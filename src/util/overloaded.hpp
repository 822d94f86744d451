// SPDX-License-Identifier: MIT
// One callable of several, for std::visit.
#pragma once

#include <type_traits>

namespace healer {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 16 does not find it by itself

/// Whether a type is one of those.
template <typename One, typename... Others>
inline constexpr bool kIsOneOf = (std::is_same_v<One, Others> || ...);

}  // namespace healer
