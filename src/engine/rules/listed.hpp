// SPDX-License-Identifier: MIT
// The row of a list that `check row` judges.
#pragma once

#include <string>

#include "util/hash.hpp"
#include "util/time.hpp"

namespace healer::engine {

/// Which row of which list `check row` judges.
struct ListedSpec {
  Hash128 list;       ///< names the list over all reloads: config::key_of()
  std::string row;    ///< its name, as written
  Duration delay{0};  ///< it is not judged before its name was known so long, nor so long after a healing

  bool operator==(const ListedSpec&) const = default;
};

}  // namespace healer::engine
