// SPDX-License-Identifier: MIT
// A value that its copies share, and that takes only a pointer where it is nothing but the default.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace healer {

/// Reads like a `const T*` that is never null: a fresh one is a `T{}`. Whoever reaches it as not const gets a value of
/// its own, which may be written; so copies are as independent as those of a T. For members that are mostly left at
/// their default, or that are the same in many objects. Copies may be used by several threads, as those of a T. A
/// reference to write by is done with before the next copy is made.
template <typename T>
class Shared {
 public:
  using value_type = T;

  Shared() = default;
  Shared(T value) : kept_(new Kept{std::move(value)}) {}  // NOLINT(google-explicit-constructor)
  Shared(const Shared& other) : kept_(other.kept_) {
    if (kept_ != nullptr) kept_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  Shared(Shared&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(kept_, other.kept_);
    return *this;
  }
  ~Shared() {
    if (kept_ != nullptr && kept_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete kept_;
  }

  const T& operator*() const { return kept_ != nullptr ? kept_->value : none(); }
  const T* operator->() const { return &**this; }
  T& operator*();
  T* operator->() { return &**this; }

  friend bool operator==(const Shared& one, const Shared& other) { return one.kept_ == other.kept_ || *one == *other; }

 private:
  struct Kept {
    T value;
    std::atomic<std::uint32_t> holders = 1;
  };

  static const T& none();

  Kept* kept_ = nullptr;
};

// Out of the class, so that a large T can have them compiled once, in a file of its own (`extern template`).

template <typename T>
T& Shared<T>::operator*() {
  if (kept_ == nullptr || kept_->holders.load(std::memory_order_acquire) != 1) *this = Shared(T(*std::as_const(*this)));
  return kept_->value;
}

template <typename T>
const T& Shared<T>::none() {
  static const T kNone{};
  return kNone;
}

}  // namespace healer
