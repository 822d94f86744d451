// SPDX-License-Identifier: MIT
// The tables of the state file: their schema, and every field of the engine's structs from and to them.
//
// All fields are columns with readable values (kinds by name, hashes in hexadecimal, times in milliseconds), so that
// `sqlite3 FILE` shows what healer knows. Nothing here opens, locks or retries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/effect.hpp"
#include "engine/record.hpp"
#include "store/batch.hpp"
#include "store/sqlite_db.hpp"
#include "store/store.hpp"

namespace healer::store {

/// Marks a database as healer's state ("heal").
inline constexpr std::int32_t kApplicationId = 0x6865616c;
/// The version of the schema that this healer writes.
[[nodiscard]] std::int32_t schema_version();

/// Brings the schema from whatever earlier version to schema_version(), in one transaction. Requires: the version of
/// the file is not newer.
bool migrate(Database& database);

/// Whether everything that schema_version() has is there, to the letter: a damaged schema may read like another one.
bool has_schema(Database& database);

/// How much history is kept.
struct Retention {
  std::uint64_t records = 100'000;
  std::uint64_t bytes = 64U << 20;
};

/// Writes batches. Holds prepared statements; made anew with every connection.
class TableWriter {
 public:
  /// Requires: the schema is that of schema_version().
  TableWriter(Database& database, Retention retention);

  /// Writes one batch as one transaction, and prunes the history by a bounded step. False: the error is in the
  /// database, and nothing was written.
  bool write(const Batch& batch);

 private:
  void write_records(const Batch& batch);
  void write_services(const Batch& batch);
  void write_acts(const Batch& batch);
  void write_sources(const std::vector<SavedSource>& sources);
  void prune();

  Database& database_;
  Retention retention_;
  std::uint64_t record_count_ = 0;
  std::uint64_t record_bytes_ = 0;
  Statement begin_, commit_, rollback_, set_meta_;
  Statement add_record_, oldest_records_, prune_records_;
  Statement save_service_, save_rule_, cut_rules_, forget_service_, forget_rules_;
  Statement add_exec_, add_argument_, cut_arguments_, start_exec_, end_exec_, end_arguments_;
  Statement add_alert_, add_recipient_, cut_recipients_, end_alert_, end_recipients_;
  Statement clear_sources_, add_source_;
};

// Reading: the error, if any, is in the database.
[[nodiscard]] engine::SavedState read_state(Database& database);
void read_numbers(Database& database, engine::SavedState& state);
void read_services(Database& database, engine::SavedState& state);
[[nodiscard]] std::vector<SavedSource> read_sources(Database& database);
/// What was read before an error is given, newest first come.
[[nodiscard]] std::vector<engine::Record> read_history(Database& database, const HistoryQuery& query);

}  // namespace healer::store
