// SPDX-License-Identifier: MIT
// What this process itself takes of the machine. From any thread; /proc of oneself does not hang.
#pragma once

#include <chrono>
#include <cstdint>

namespace healer::runtime {

/// 0: it is not known.
struct OwnFigures {
  std::chrono::microseconds processor{0};  ///< time that it has used of it
  std::uint64_t resident = 0;              ///< bytes of memory
  std::uint64_t reserved = 0;              ///< bytes of address space
  std::uint64_t descriptors = 0;           ///< that are open
  std::uint64_t most_descriptors = 0;      ///< that may be
};

[[nodiscard]] OwnFigures own_figures();

}  // namespace healer::runtime
