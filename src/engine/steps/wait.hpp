// SPDX-License-Identifier: MIT
// `wait D`: a step in which nothing is done.
#pragma once

#include "util/time.hpp"

namespace healer::engine {

namespace step {

struct Wait {
  Duration length{0};
  bool operator==(const Wait&) const = default;
};

}  // namespace step

}  // namespace healer::engine
