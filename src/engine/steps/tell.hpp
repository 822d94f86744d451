// SPDX-License-Identifier: MIT
// `alert "text"`: a step that tells people something.
#pragma once

#include <string>

namespace healer::engine {

namespace step {

struct Tell {
  std::string text;
  bool operator==(const Tell&) const = default;
};

}  // namespace step

}  // namespace healer::engine
