// SPDX-License-Identifier: MIT
// A value that is mostly the default, and takes only a pointer then.
#pragma once

#include <type_traits>
#include <utility>

#include "util/rare.hpp"

namespace healer {

/// Reads like a `const T*` that is never null; edit() is for writing. For members that have something to say in few of
/// many objects. Copies are deep. A reference into it ends where it is assigned to.
template <typename T>
class Sparse {
 public:
  using value_type = T;

  Sparse() = default;
  Sparse(T value) { *this = std::move(value); }  // NOLINT(google-explicit-constructor)
  Sparse& operator=(T value) {
    if (value == none())
      value_.reset();
    else
      value_ = std::move(value);
    return *this;
  }

  const T& operator*() const { return value_ ? *value_ : none(); }
  const T* operator->() const { return &**this; }
  /// One member of it is to be that; where all is the default again, it takes no place.
  template <typename Member>
  void set(Member T::*member, std::type_identity_t<Member> value) {
    if ((**this).*member == value) return;
    edit().*member = std::move(value);
    if (*value_ == none()) value_.reset();
  }
  /// The value, to be changed. Whoever makes it the default again should rather assign that, set() or reset().
  T& edit() { return value_ ? *value_ : value_.emplace(); }
  void reset() { value_.reset(); }

  friend bool operator==(const Sparse& one, const Sparse& other) { return *one == *other; }
  friend bool operator==(const Sparse& one, const T& other) { return *one == other; }

 private:
  static const T& none() {
    static const T kNone{};
    return kNone;
  }

  Rare<T> value_;
};

}  // namespace healer
