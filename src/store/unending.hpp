// SPDX-License-Identifier: MIT
// The last exception handler of a thread that must not end early.
#pragma once

#include <chrono>
#include <exception>
#include <thread>

namespace healer::store {

/// Runs `loop` until it returns. Where it throws (for want of memory, most likely) it is started over after a rest.
template <typename Loop>
void unending(Loop loop) {
  for (;;) {
    try {
      return loop();
    } catch (const std::exception&) {
      std::this_thread::sleep_for(std::chrono::seconds{1});
    }
  }
}

}  // namespace healer::store
