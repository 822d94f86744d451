// SPDX-License-Identifier: MIT
// Private to the compiler: what many services have alike is there once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "util/shared.hpp"

namespace healer::config {

/// Gives values that are equal to be shared, as long as there are not too many that differ.
template <typename T>
class Pool {
 public:
  Shared<T> shared(Shared<T> value) {
    const auto known = std::ranges::find(known_, value);
    if (known != known_.end()) return *known;
    if (known_.size() < kMost) known_.push_back(value);
    return value;
  }

 private:
  static constexpr std::size_t kMost = 64;
  std::vector<Shared<T>> known_;
};

}  // namespace healer::config
