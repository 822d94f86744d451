// SPDX-License-Identifier: MIT
// The tables of healings: the journal that outlives the machine's failure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/events/commit.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"

namespace healer::store {

/// Writes what a batch has of healings, within the transaction of the batch.
class HealingWriter {
 public:
  HealingWriter() = default;
  explicit HealingWriter(Database& database);
  void write(const Batch& batch);

 private:
  Statement save_healing_, end_healing_;
  Statement save_target_, forget_target_;
  Statement save_workflow_;
  Statement clear_brakes_, save_brake_;
};

/// Rows that cannot be read.
struct DamagedJournal {
  std::vector<std::pair<engine::HealingId, std::string>> healings;  ///< and their targets
  std::vector<std::pair<std::string, bool>> targets;                ///< as in Commit::forgotten_targets
  std::vector<std::string> notes;                                   ///< a sentence of each, for the log
};

/// What cannot be read is left out, and is in `damaged`; of healings, in SavedState::damaged_healings, too.
void read_healings(Database& database, engine::SavedState& state, DamagedJournal& damaged);

// The same, one table each.
void read_under_way(Database& database, engine::SavedState& state, DamagedJournal& damaged);
void read_targets(Database& database, engine::SavedState& state, DamagedJournal& damaged);
void read_workflows(Database& database, engine::SavedState& state, DamagedJournal& damaged);
void read_closed_brakes(Database& database, engine::SavedState& state, DamagedJournal& damaged);

/// Has `commit` drop the rows of what is damaged.
void drop_damaged(const DamagedJournal& damaged, engine::effect::Commit& commit);

/// Saves what is known of healings that nobody can go on with: who reads them next has them as damaged ones.
void give_up_healings(Database& database, const std::vector<engine::DamagedHealing>& healings);

}  // namespace healer::store
