// SPDX-License-Identifier: MIT
// The tables of the state file: every field of the engine's structs from and to them. Nothing here opens, locks or
// retries.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/events/commit.hpp"
#include "engine/events/record.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"
#include "store/sqlite_healings.hpp"
#include "store/sqlite_pauses.hpp"
#include "store/sqlite_services.hpp"
#include "store/store.hpp"
#include "util/hash.hpp"

namespace healer::store {

/// How much history is kept.
struct Retention {
  std::uint64_t records = 100'000;
  std::uint64_t bytes = 64U << 20;
};

/// Writes batches. Holds prepared statements; recreated with every connection, which is in synchronous=NORMAL.
class TableWriter {
 public:
  /// Requires: the schema is that of schema_version().
  TableWriter(Database& database, Retention retention);

  /// Writes one batch as one transaction, and prunes the history by a bounded step. What must be on the disk itself is
  /// there then. False: the error is in the database, and nothing was written.
  bool write(const Batch& batch);

 private:
  void write_records(const Batch& batch);
  void write_acts(const Batch& batch);
  void write_jobs(const Batch& batch);
  void write_sources(const std::vector<SavedSource>& sources);
  void prune();

  Database& database_;
  Retention retention_;
  std::uint64_t record_count_ = 0;
  std::uint64_t record_bytes_ = 0;
  bool full_ = false;  ///< the connection syncs each transaction
  Statement begin_, commit_, rollback_, set_meta_, put_meta_;
  Statement add_record_, oldest_records_, prune_records_;
  Statement add_exec_, add_argument_, cut_arguments_, start_exec_, end_exec_, end_arguments_;
  Statement add_alert_, add_recipient_, cut_recipients_, end_alert_, end_recipients_;
  Statement save_job_, move_job_, save_step_, cut_steps_, end_job_, end_steps_;
  Statement clear_sources_, add_source_;
  ServiceWriter services_;
  HealingWriter healings_;
  PauseWriter pauses_;
  OccurrenceWriter occurrences_;
};

/// Drops all that is open: acts, jobs and healings. False: the error is in the database.
bool forget_open(Database& database);

/// Keeps SavedState::word, in place of what it was. False: the error is in the database.
bool keep_word(Database& database, const Hash128& word);

// Reading: the error, if any, is in the database.
[[nodiscard]] engine::SavedState read_state(Database& database, DamagedJournal& damaged);
void read_numbers(Database& database, engine::SavedState& state);
/// SavedState::word; zero: there is none.
[[nodiscard]] Hash128 read_word(Database& database);
[[nodiscard]] std::vector<SavedSource> read_sources(Database& database);
/// What was read before an error is given, newest first come.
[[nodiscard]] std::vector<engine::Record> read_history(Database& database, const HistoryQuery& query);
/// The same, of which it says how far it goes.
[[nodiscard]] HistoryPage read_page(Database& database, HistoryQuery query);
/// The highest number of a record; 0: there is none.
[[nodiscard]] engine::RecordNumber newest_record(Database& database);

}  // namespace healer::store
