// SPDX-License-Identifier: MIT
// The state and history in one SQLite file, in WAL mode with synchronous=NORMAL: what was committed survives the death
// of the daemon at any moment, and a power cut but for the last moments, never half of a commit. What is journalled of
// healings survives that, too (Durability::Synced), with all before it.
//
// A writer thread of its own writes everything that is queued as one transaction. What nothing waits for is gathered
// for a moment first: a thousand services that were looked at are some transactions, not a thousand. A watchdog thread
// says so where a write hangs. Callbacks are called on these threads; they may call submit(), but not flush() or the
// destructor.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "store/sqlite_tables.hpp"
#include "store/store.hpp"

namespace healer::store {

/// The path to use where `path` is wanted: `path`.healer where the file of another program (Monit's state, a database)
/// or no file at all (a directory) is there, since that is never touched; else itself. What nobody can recognise is a
/// damaged state, and treated as one.
[[nodiscard]] std::string resolve_state_path(const std::string& path);
/// The damaged files that were moved aside from `path`, in order of time.
[[nodiscard]] std::vector<std::string> damaged_files(const std::string& path);

struct SqliteOptions {
  Retention retention;
  std::size_t keep_bytes = 32U << 20;  ///< how much is queued, or kept while sick, before old records are dropped
  Duration gather{50};                 ///< for how long what nothing waits for is gathered
  Duration stall{2000};                ///< a write without progress for that long is a sick one
  Duration busy{1000};                 ///< how long to wait for somebody else's lock
  Duration first_retry{100};           ///< doubles
  Duration last_retry{10'000};
};

class SqliteStore : public Store {
 public:
  using Options = SqliteOptions;

  /// Opens the state file, at resolve_state_path(path). Where it cannot be opened or created now, the store begins sick
  /// and goes on trying. Errors: only a file that is refused: of a newer healer,
  /// a symbolic link, or another user's.
  [[nodiscard]] static Result<std::unique_ptr<SqliteStore>> open(const std::string& path, Callbacks callbacks,
                                                                 Options options = {});
  /// Writes what is queued, if the disk lets it; a writer that hangs is left behind.
  ~SqliteStore() override;

  /// The ids that it gives are never those of an earlier daemon, even where a power cut took the last commits or the
  /// state file was removed: `last_id` is at least the wall clock in milliseconds.
  [[nodiscard]] Result<engine::SavedState> load() override;
  void submit(engine::effect::Commit commit) override;
  /// Also finds what is not written yet. Where the file is found damaged the writer repairs it, and this waits for
  /// that.
  [[nodiscard]] Result<HistoryPage> page(const HistoryQuery& query) const override;
  void save_sources(std::vector<SavedSource> sources) override;
  [[nodiscard]] Result<std::vector<SavedSource>> load_sources() override;
  void flush() override;

  /// The file in use.
  [[nodiscard]] const std::string& path() const;
  /// What happened to the file, for the log: an index rewritten, what cannot be read. Callbacks::noted tells when there
  /// is more of these or of the damages.
  [[nodiscard]] std::vector<std::string> notes() const;
  /// What people must be told, too: each damaged file that was moved aside, and what has become of it.
  [[nodiscard]] std::vector<std::string> damages() const;

 private:
  class Writer;
  explicit SqliteStore(std::shared_ptr<Writer> writer);
  std::shared_ptr<Writer> writer_;
};

/// Reads the state file of a daemon that runs or has ended; changes nothing in it. For one thread.
class SqliteReader {
 public:
  /// Opens the file at resolve_state_path(path).
  [[nodiscard]] static Result<std::unique_ptr<SqliteReader>> open(const std::string& path);
  ~SqliteReader();

  [[nodiscard]] Result<engine::SavedState> load();
  [[nodiscard]] Result<HistoryPage> page(const HistoryQuery& query);
  /// The records of that page.
  [[nodiscard]] Result<std::vector<engine::Record>> history(const HistoryQuery& query);
  [[nodiscard]] Result<std::vector<SavedSource>> load_sources();

 private:
  explicit SqliteReader(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

/// The same, under the name that the rest of healer uses.
[[nodiscard]] inline Result<std::unique_ptr<SqliteReader>> open_read_only(const std::string& path) {
  return SqliteReader::open(path);
}

}  // namespace healer::store
