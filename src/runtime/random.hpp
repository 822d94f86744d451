// SPDX-License-Identifier: MIT
// Numbers that nobody can guess.
#pragma once

#include <sys/random.h>

#include <chrono>
#include <cstdint>

namespace healer::runtime {

[[nodiscard]] inline std::uint64_t random64() {
  std::uint64_t number = 0;
  [[maybe_unused]] const auto got = ::getrandom(&number, sizeof number, GRND_NONBLOCK);
  return number ^ static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace healer::runtime
