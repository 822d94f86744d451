// SPDX-License-Identifier: MIT
// One callable of several, for std::visit.
#pragma once

namespace healer {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 16 does not find it by itself

}  // namespace healer
