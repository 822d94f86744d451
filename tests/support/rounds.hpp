// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdlib>

namespace healer::test {

/// Whether this is the build of a sanitizer that slows down all that is done.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Whether this is `./start test --long`.
inline bool is_long() { return std::getenv("HEALER_LONG") != nullptr; }

/// How often a test of many rounds goes round: `usual`, or ten times that in `./start test --long`; a tenth of it under
/// a sanitizer, which makes each round slow and looks for other faults.
inline int rounds(int usual) {
  if (kSanitized) usual = std::max(1, usual / 10);
  return is_long() ? 10 * usual : usual;
}

}  // namespace healer::test
