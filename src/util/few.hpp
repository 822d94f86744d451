// SPDX-License-Identifier: MIT
// A list that is mostly empty, and takes only a pointer then.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "util/rare.hpp"

namespace healer {

/// Reads like a std::vector, and becomes one wherever one is wanted; edit() is for writing. For members that are empty
/// in most of many objects. Copies are deep. A reference into it ends where it is written.
template <typename T>
class Few {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  Few() = default;
  Few(std::vector<T> all) {  // NOLINT(google-explicit-constructor)
    if (!all.empty()) all_ = std::move(all);
  }
  Few(std::initializer_list<T> all) : Few(std::vector<T>(all)) {}  // NOLINT(google-explicit-constructor)

  operator const std::vector<T>&() const { return all(); }  // NOLINT(google-explicit-constructor)
  T* begin() { return all_ ? all_->data() : nullptr; }
  T* end() { return all_ ? all_->data() + all_->size() : nullptr; }
  [[nodiscard]] const_iterator begin() const { return all().begin(); }
  [[nodiscard]] const_iterator end() const { return all().end(); }
  [[nodiscard]] bool empty() const { return all().empty(); }
  [[nodiscard]] std::size_t size() const { return all().size(); }
  const T& operator[](std::size_t place) const { return all()[place]; }
  [[nodiscard]] const T& at(std::size_t place) const { return all().at(place); }
  [[nodiscard]] const T& front() const { return all().front(); }
  [[nodiscard]] const T& back() const { return all().back(); }

  /// The list, to be changed.
  std::vector<T>& edit() { return all_ ? *all_ : all_.emplace(); }
  void push_back(T one) { edit().push_back(std::move(one)); }
  void clear() { all_.reset(); }

  friend bool operator==(const Few& one, const Few& other) { return one.all() == other.all(); }
  friend bool operator==(const Few& one, const std::vector<T>& other) { return one.all() == other; }

 private:
  [[nodiscard]] const std::vector<T>& all() const {
    static const std::vector<T> kNone{};
    return all_ ? *all_ : kNone;
  }

  Rare<std::vector<T>> all_;
};

}  // namespace healer
