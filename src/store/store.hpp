// SPDX-License-Identifier: MIT
// Where state and history live. One writer, the daemon; readers beside it (healerctl without a daemon) open read-only.
//
// Threads: everything is called on the loop thread; an implementation may write on a thread of its own and calls back
// through the functions given to open(), which must be safe to call from that thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/events/commit.hpp"
#include "engine/events/record.hpp"
#include "util/result.hpp"

namespace healer::store {

/// Told when commits are durable (in order of sequence), and when writing fails or works again.
///
/// A store that is sick does not stop supervision: from sick() until well() whoever owns the store releases commits
/// unjournalled, those already submitted and each further one as it submits it. The store keeps in memory what is not
/// written yet (the newest state of every service, open acts, the newest records), tries again, and calls committed()
/// and then well() once all of it is on disk.
struct Callbacks {
  std::function<void(engine::Sequence up_to)> committed;
  std::function<void(std::string reason)> sick;
  std::function<void()> well;
  std::function<void()> noted{};  ///< of a file: something happened to it that the log should tell (SqliteStore::notes)
};

/// Which records are asked for. Newest last.
struct HistoryQuery {
  std::string service;  ///< in any case; empty: all
  std::optional<WallTime> since;
  engine::RecordNumber after = 0;         ///< only those with a higher number; 0: whichever
  std::vector<engine::RecordKind> kinds;  ///< empty: all
  std::uint32_t limit = 1000;             ///< the newest that many
  bool own = false;                       ///< only what concerns the daemon itself; then `service` is empty
  std::vector<std::string> others{};      ///< of these services, too, where `service` is not empty
  bool oldest = false;                    ///< the oldest that many, to go on with those after the last of them
  engine::RecordNumber before = 0;        ///< only those with a lower number; 0: whichever
};

/// A part of the history.
struct HistoryPage {
  std::vector<engine::Record> records;
  engine::RecordNumber up_to = 0;  ///< looked through up to this number: where the next page goes on
  /// How many records between `after` and `up_to`, asked for or not, there are no more: pruned, or lost. Only where the
  /// oldest are asked for.
  std::uint64_t missing = 0;
  /// No record has ever had the number `after`, as far as this store knows: numbers have begun anew, and this is the
  /// history from its beginning.
  bool anew = false;
};

/// Whether `query`, its limit apart, asks for `record`.
[[nodiscard]] bool matches(const HistoryQuery& query, const engine::Record& record);
/// Drops of `records` that match, newest last, those beyond the limit.
void cut(std::vector<engine::Record>& records, const HistoryQuery& query);

/// A rules file as it was when it was last loaded without an error.
struct SavedSource {
  std::string path;
  std::string text;

  bool operator==(const SavedSource&) const = default;
};

class Store {
 public:
  virtual ~Store() = default;

  /// What earlier daemons left. Called once, before the first submit.
  [[nodiscard]] virtual Result<engine::SavedState> load() = 0;
  /// Queues a commit; never blocks. Commits become durable in the order of their sequence.
  virtual void submit(engine::effect::Commit commit) = 0;
  /// Reads history. May be called from any thread; may block on a slow disk.
  [[nodiscard]] virtual Result<HistoryPage> page(const HistoryQuery& query) const = 0;
  /// The records of that page.
  [[nodiscard]] Result<std::vector<engine::Record>> history(const HistoryQuery& query) const;
  /// Remembers the rules files of the last good load, with the path that they were loaded from first.
  virtual void save_sources(std::vector<SavedSource> sources) = 0;
  [[nodiscard]] virtual Result<std::vector<SavedSource>> load_sources() = 0;
  /// Waits until everything submitted is durable or given up.
  virtual void flush() = 0;
};

}  // namespace healer::store
