// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

namespace healer::test {

/// How often a test of many rounds goes round: `usual`, or ten times that in `./start test --long`.
inline int rounds(int usual) { return std::getenv("HEALER_LONG") != nullptr ? 10 * usual : usual; }

}  // namespace healer::test
