// SPDX-License-Identifier: MIT
// The table of the pauses of groups and of everything.
#pragma once

#include <vector>

#include "engine/state.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"

namespace healer::store {

/// Writes them within the transaction of the batch.
class PauseWriter {
 public:
  PauseWriter() = default;
  explicit PauseWriter(Database& database);
  void write(const Batch& batch);

 private:
  Statement clear_, save_;
};

[[nodiscard]] std::vector<engine::WidePause> read_pauses(Database& database);

}  // namespace healer::store
