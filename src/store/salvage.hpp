// SPDX-License-Identifier: MIT
// What is saved of a damaged state file.
#pragma once

#include <string>
#include <vector>

#include "engine/events/commit.hpp"
#include "store/batch.hpp"
#include "util/hash.hpp"

namespace healer::store {

struct Salvaged {
  Batch batch;                                   ///< for the new file
  std::vector<engine::DamagedHealing> healings;  ///< that were under way: see give_up_healings()
  std::vector<std::string> notes;                ///< sentences for the log
  Hash128 word{};                                ///< as SavedState has it; zero: it cannot be read
};

/// What can be read of a damaged file, table by table. What was under way is not gone on with, since it may be over.
[[nodiscard]] Salvaged salvage(const std::string& path);

}  // namespace healer::store
