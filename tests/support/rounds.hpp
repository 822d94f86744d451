// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdlib>

namespace healer::test {

/// Whether this is `./start test --long`.
inline bool is_long() { return std::getenv("HEALER_LONG") != nullptr; }

/// How often a test of many rounds goes round: `usual`, or ten times that in `./start test --long`; a tenth of it under
/// a sanitizer, which makes each round slow and looks for other faults.
inline int rounds(int usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  usual = std::max(1, usual / 10);
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  usual = std::max(1, usual / 10);
#endif
#endif
  return is_long() ? 10 * usual : usual;
}

}  // namespace healer::test
