// SPDX-License-Identifier: MIT
// A number or a time that may be absent, and takes no more room than one that may not.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>

namespace healer {

/// A std::optional without room of its own: the lowest value of T stands for none, which T never is. It becomes a
/// std::optional wherever one is wanted.
template <typename T>
class Slim {
  static_assert(!std::is_arithmetic_v<T> || std::is_signed_v<T>, "0 is a value");

 public:
  using value_type = T;

  constexpr Slim() = default;
  constexpr Slim(std::nullopt_t /*none*/) {}  // NOLINT(google-explicit-constructor)
  constexpr Slim(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Slim(const std::optional<T>& value)
      : value_(value.value_or(none())) {}  // NOLINT(google-explicit-constructor)

  constexpr explicit operator bool() const { return has_value(); }
  [[nodiscard]] constexpr bool has_value() const { return value_ != none(); }
  /// Requires: it is there.
  constexpr const T& operator*() const { return value_; }
  constexpr T& operator*() { return value_; }
  constexpr const T* operator->() const { return &value_; }
  [[nodiscard]] constexpr T value() const { return value_; }
  [[nodiscard]] constexpr T value_or(T other) const { return has_value() ? value_ : other; }
  constexpr void reset() { value_ = none(); }
  constexpr operator std::optional<T>() const {  // NOLINT(google-explicit-constructor)
    return has_value() ? std::optional<T>(value_) : std::nullopt;
  }

  friend constexpr bool operator==(const Slim&, const Slim&) = default;
  friend constexpr bool operator==(const Slim& one, const T& other) { return one.has_value() && one.value_ == other; }
  /// That of std::optional would take a Slim for its value: two that are absent would not be equal.
  template <std::same_as<std::optional<T>> Other>
  friend constexpr bool operator==(const Slim& one, const Other& other) = delete;
  friend constexpr bool operator==(const Slim& one, std::nullopt_t /*none*/) { return !one.has_value(); }

 private:
  static constexpr T none() {
    if constexpr (requires { T::min(); })
      return T::min();
    else
      return std::numeric_limits<T>::lowest();
  }

  T value_ = none();
};

}  // namespace healer
