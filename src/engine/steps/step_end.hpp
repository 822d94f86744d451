// SPDX-License-Identifier: MIT
// How a step has ended, and what follows from that, whatever it does.
#pragma once

#include <algorithm>
#include <cstdint>

namespace healer::engine {

enum class StepEnd : std::uint8_t {
  Done,
  Failed,
  InDoubt  ///< whether it was done is unknown: nobody saw its end
};

/// What is written of a step, whatever it does.
struct StepTerms {
  std::uint32_t retries = 0;  ///< attempts beyond the first
  bool repeatable = false;    ///< may be begun again where whether it was done is unknown

  bool operator==(const StepTerms&) const = default;
};
/// Of an end after which trying again would be of no use, or must not be.
inline constexpr StepTerms kNeverAgain{};
/// Of an attempt that did what it does, though what it gave is of no use.
[[nodiscard]] constexpr StepTerms once_done(StepTerms terms) { return terms.repeatable ? terms : kNeverAgain; }

/// Whether a step is tried again when its attempt, counted from 1, has ended. One in doubt that is repeatable is tried
/// once more even where nothing is written.
[[nodiscard]] constexpr bool is_tried_again(StepTerms terms, std::uint32_t attempt, StepEnd end) {
  if (end == StepEnd::Done || (end == StepEnd::InDoubt && !terms.repeatable)) return false;
  return attempt <= (end == StepEnd::InDoubt ? std::max<std::uint32_t>(terms.retries, 1) : terms.retries);
}

}  // namespace healer::engine
