// SPDX-License-Identifier: MIT
// Result<T>: the value of an operation that may fail at run time, or the reason why it did.
// Used by the shells (runtime, store, control). The engine has no errors; the language has diagnostics.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace healer {

/// Why an operation failed: an errno-like code (0 where there is none) and a sentence for a person.
struct Error {
  int code = 0;
  std::string what;
};

/// Builds an Error from errno: "`what`: strerror(code)".
[[nodiscard]] Error system_error(int code, std::string what);

/// Either a value or an Error. Requires: value() only after a true test, error() only after a false one.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const noexcept { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}

  explicit operator bool() const noexcept { return !failed_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace healer
