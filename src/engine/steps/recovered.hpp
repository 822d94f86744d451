// SPDX-License-Identifier: MIT
// `recovered within D`: a step that waits until its target is well again.
#pragma once

#include "util/time.hpp"

namespace healer::engine {

namespace step {

/// `recovered within D`, `recovered or gone within D`.
struct Recovered {
  Duration within{300'000};
  bool or_gone = false;
  bool operator==(const Recovered&) const = default;
};

}  // namespace step

}  // namespace healer::engine
