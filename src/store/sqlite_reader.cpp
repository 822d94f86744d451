// SPDX-License-Identifier: MIT
// Who reads the state file beside a daemon, or without one.
#include <utility>

#include "store/sqlite_db.hpp"
#include "store/sqlite_file.hpp"
#include "store/sqlite_store.hpp"

namespace healer::store {

using namespace engine;

SqliteReader::SqliteReader(std::unique_ptr<Database> database) : database_(std::move(database)) {}
SqliteReader::~SqliteReader() = default;

Result<std::unique_ptr<SqliteReader>> SqliteReader::open(const std::string& path) {
  auto opened = open_state_file_to_read(resolve_state_path(path));
  if (!opened) return opened.error();
  return std::unique_ptr<SqliteReader>(new SqliteReader(std::move(*opened)));
}

Result<SavedState> SqliteReader::load() {
  database_->clear_error();
  database_->execute("BEGIN");
  DamagedJournal damaged;
  SavedState state = read_state(*database_, damaged);
  if (!database_->execute("COMMIT")) {
    const Error error = database_->error();
    database_->clear_error();
    database_->execute("ROLLBACK");
    return error;
  }
  return state;
}

Result<HistoryPage> SqliteReader::page(const HistoryQuery& query) {
  database_->clear_error();
  HistoryPage page = read_page(*database_, query);
  if (!database_->ok()) return database_->error();
  return page;
}

Result<std::vector<Record>> SqliteReader::history(const HistoryQuery& query) {
  Result<HistoryPage> found = page(query);
  if (!found) return found.error();
  return std::move(found->records);
}

Result<std::vector<SavedSource>> SqliteReader::load_sources() {
  database_->clear_error();
  auto sources = read_sources(*database_);
  if (!database_->ok()) return database_->error();
  return sources;
}

}  // namespace healer::store
