// SPDX-License-Identifier: MIT
// The table of events that others told of.
#pragma once

#include <string>
#include <vector>

#include "engine/occurrence.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"

namespace healer::store {

/// Writes them within the transaction of the batch.
class OccurrenceWriter {
 public:
  OccurrenceWriter() = default;
  explicit OccurrenceWriter(Database& database);
  void write(const Batch& batch);

 private:
  Statement save_, forget_;
};

/// By number. What cannot be read is left out, and is in `notes`, a sentence each, for the log.
[[nodiscard]] std::vector<engine::Occurrence> read_occurrences(Database& database, std::vector<std::string>& notes);

}  // namespace healer::store
