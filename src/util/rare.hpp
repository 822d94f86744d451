// SPDX-License-Identifier: MIT
// A value that is rarely present, and takes only a pointer when it is absent.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace healer {

/// A std::optional whose value lies elsewhere: for members that most of many objects do not have. Copies are deep.
template <typename T>
class Rare {
 public:
  using value_type = T;

  Rare() = default;
  Rare(std::nullopt_t /*none*/) {}                                  // NOLINT(google-explicit-constructor)
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  template <typename Other>
  requires(std::convertible_to<Other, T> && !std::same_as<std::remove_cvref_t<Other>, Rare> &&
           !std::same_as<std::remove_cvref_t<Other>, T>) Rare(Other&& value)  // NOLINT(google-explicit-constructor)
      : value_(std::make_unique<T>(std::forward<Other>(value))) {}
  Rare(std::optional<T> value) {  // NOLINT(google-explicit-constructor)
    if (value) value_ = std::make_unique<T>(*std::move(value));
  }
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  template <typename... Parts>
  T& emplace(Parts&&... parts) {
    value_ = std::make_unique<T>(std::forward<Parts>(parts)...);
    return *value_;
  }
  void reset() { value_.reset(); }

  explicit operator bool() const { return value_ != nullptr; }
  [[nodiscard]] bool has_value() const { return value_ != nullptr; }
  /// Requires: it is there.
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  [[nodiscard]] const T& value() const { return *value_; }
  template <typename Other>
  [[nodiscard]] T value_or(Other&& other) const {
    return value_ ? *value_ : static_cast<T>(std::forward<Other>(other));
  }
  friend bool operator==(const Rare& one, const Rare& other) {
    return one.has_value() == other.has_value() && (!one || *one == *other);
  }
  /// That of std::optional would take a Rare for its value: two that are absent would not be equal.
  template <std::same_as<std::optional<T>> Other>
  friend bool operator==(const Rare& one, const Other& other) = delete;
  friend bool operator==(const Rare& one, const T& other) { return one && *one == other; }
  friend bool operator==(const Rare& one, std::nullopt_t /*none*/) { return !one.has_value(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace healer
